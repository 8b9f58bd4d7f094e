/* FreeRTOS includes it, and takes nothing from it without dynamic memory */
#include <stddef.h>
