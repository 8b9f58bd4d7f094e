#include <slite.h>

int slite_main(void)
{
    printf("started\n");
    return 0;
}
