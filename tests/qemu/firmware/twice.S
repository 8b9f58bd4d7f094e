// Enters core 1 for each call: also in place of another core, when it runs already.
#define VERSION_ANSWER 0x10001
#define START_ANSWER 0
#define START_LEVEL EL2
#define ONLY_CORE 1
#define FREQUENCY 62500000
#include "firmware.S"
