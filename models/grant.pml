/*
 * A decision and its grant: a note in user memory x one call of the kernel, at every instruction
 *
 * One core, the threads of one scheduler, 0 its own. A thread that decides takes the lock, learns whether the
 * grant that was noted last was made (lib/threads, `Accounts::resolve`), notes the next one, releases the lock and
 * calls the kernel. An interrupt may activate the scheduler's own thread between any two steps; it finds the lock
 * taken, or decides itself. The kernel refuses a call as stale if an activation came since its decision.
 *
 * What must hold: a thread that has the lock knows which capability has time, so that each call takes back from that
 * one, and no other capability ever has any.
 *
 * Mutations (-DM_...) break one rule each; each must be found (models/check.sh).
 */

#ifndef N
#define N 3
#endif

#define FREE 255
#define SERVERS 2            /* 0 stands for no budget */

/* the kernel's */
byte running = 0;
byte filled = 0;             /* the capability that has time */
bit grants = 0;              /* SCB, modulo 2: one note is open at most */
bool stale[N];               /* an activation came since the thread's decision */

/* under the lock */
byte lock = FREE;
byte granted = 0;
bool noted = false;
bit note_made = 0;
byte note_server = 0;

inline dispatch(t) {
    running = t
}

proctype thread(byte id) {
    byte next;
    byte server;
    byte former;
again:
    /* takes the lock, or runs its owner */
    atomic { running == id ->
        if
        :: lock == FREE -> lock = id
        :: else -> dispatch(lock); goto again
        fi
    }
    atomic { running == id ->
        if
#ifdef M_BELIEVES_NOTE
        :: noted -> granted = note_server
#else
        :: noted && note_made != grants -> granted = note_server
#endif
        :: else -> skip
        fi;
        noted = false;
        assert(granted == filled)
    }
    atomic { running == id -> stale[id] = false; select(server : 0 .. SERVERS); former = granted }
    atomic { running == id -> note_made = grants; note_server = server; noted = true }
    atomic { running == id -> lock = FREE }
    atomic { running == id ->
        if
#ifdef M_SERVES_STALE
        :: true ->
#else
        :: stale[id] -> skip
        :: else ->
#endif
            assert(former == filled);
            filled = server;
#ifndef M_COUNTS_NOTHING
            grants = 1 - grants;
#endif
            select(next : 0 .. (N - 1));
            dispatch(next)
        fi
    }
    goto again
}

active proctype interrupts() {
    byte i;
    do
    :: atomic { running != 0 ->
        i = 0;
        do
        :: i < N -> stale[i] = true; i++
        :: else -> break
        od;
        dispatch(0)
       }
    od
}

init {
    byte i = 0;
    atomic {
        do
        :: i < N -> run thread(i); i++
        :: else -> break
        od
    }
}
