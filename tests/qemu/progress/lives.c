/* A guest that never hangs */
const int hangs = 0;
