// Keeps its word, and enters core 1 once more 0.2 s later, when a guest runs on it.
#define VERSION_ANSWER 0x10001
#define START_ANSWER 0
#define START_LEVEL EL2
#define LATE 12500000
#define FREQUENCY 62500000
#include "firmware.S"
