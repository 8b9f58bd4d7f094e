// Keeps the performance monitor to itself: an access comes to EL3 and does not come back.
#define VERSION_ANSWER 0x10001
#define START_ANSWER 0
#define START_LEVEL EL2
#define FREQUENCY 62500000
#define DEBUG_TRAPS (1 << 6)
#define MUTE
#include "firmware.S"
