/* A guest that hangs */
const int hangs = 1;
