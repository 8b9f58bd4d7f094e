// Offers no PSCI.
#define VERSION_ANSWER -1
#define START_ANSWER -1
#define START_LEVEL 0
#define FREQUENCY 62500000
#include "firmware.S"
