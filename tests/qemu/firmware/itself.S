// Enters the core that calls, in place of the one of the call.
#define VERSION_ANSWER 0x10001
#define START_ANSWER 0
#define START_LEVEL EL2
#define OWN_CORE
#define FREQUENCY 62500000
#include "firmware.S"
