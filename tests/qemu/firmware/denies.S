// Refuses to start a core.
#define VERSION_ANSWER 0x10001
#define START_ANSWER -3
#define START_LEVEL 0
#define FREQUENCY 62500000
#include "firmware.S"
