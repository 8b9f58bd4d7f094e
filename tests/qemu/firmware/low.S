// Enters a core at EL1.
#define VERSION_ANSWER 0x10001
#define START_ANSWER 0
#define START_LEVEL EL1
#define FREQUENCY 62500000
#include "firmware.S"
