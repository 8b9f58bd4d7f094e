// Does not come back from a call.
#define VERSION_ANSWER 0
#define START_ANSWER 0
#define START_LEVEL 0
#define FREQUENCY 62500000
#define MUTE
#include "firmware.S"
