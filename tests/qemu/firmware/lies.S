// Reports that a core is started, and does not start it.
#define VERSION_ANSWER 0x10001
#define START_ANSWER 0
#define START_LEVEL 0
#define FREQUENCY 62500000
#include "firmware.S"
