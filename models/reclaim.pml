/*
 * A component is given up while other cores invoke it
 *
 * CORES cores run a thread each. A thread that is outside reads the slot of its capability, goes in if
 * there was one, translates addresses of the component while it is inside (its core's TLB then holds
 * some), and comes out again. No path of a kernel is interrupted, but what another core does comes
 * between any two of its steps: a path is several steps here. Each core becomes quiet now and then,
 * never in the middle of a path: it forgets its translations and has seen everything before.
 *
 * One more core empties the slot, waits for quiet, looks whether anybody is inside, waits for quiet
 * again, and gives page and identity to somebody else. From then on nobody may execute there and no
 * TLB may hold its identity. A period of quiet is a round in which each core has been quiet once.
 *
 * Mutations (-DM_...) leave out one thing each; each must be found (models/check.sh).
 */

#ifndef CORES
#define CORES 2
#endif

mtype = { OUTSIDE, READ, COUNTED, INSIDE };

bool slot = true;            /* there is a capability */
bool gone = false;           /* page and identity are somebody else's */
mtype at[CORES];
byte inside[CORES];          /* each written by its core alone */
bool tlb[CORES];             /* holds translations of the identity */
bool quiet[CORES];           /* since the round began */

proctype core(byte me) {
    do
    /* a path: from the slot to the count and into the component */
    :: atomic { at[me] == OUTSIDE && slot -> at[me] = READ }
    :: atomic { at[me] == READ ->
        assert(!gone);                      /* the page it refers to is still a component */
#ifndef M_NO_COUNT
        inside[me]++;
#endif
        at[me] = COUNTED }
    :: atomic { at[me] == COUNTED -> assert(!gone); at[me] = INSIDE }
    /* user mode inside: fetches, loads */
    :: atomic { at[me] == INSIDE -> assert(!gone); tlb[me] = true }
    /* and out; the translations stay */
    :: atomic { at[me] == INSIDE ->
#ifndef M_NO_COUNT
        inside[me]--;
#endif
        at[me] = OUTSIDE }
    /* quiet, at the beginning of a path: never between READ and INSIDE */
#ifdef M_QUIET_ANYWHERE
    :: atomic { !quiet[me] -> tlb[me] = false; quiet[me] = true }
#else
    :: atomic { !quiet[me] && (at[me] == OUTSIDE || at[me] == INSIDE) ->
#ifndef M_KEEPS_TRANSLATIONS
        tlb[me] = false;
#endif
        quiet[me] = true }
#endif
    :: atomic { gone -> assert(!tlb[me]); break }
    od
}

inline wait_for_quiet() {
    atomic { i = 0; do :: i < CORES -> quiet[i] = false; i++ :: else -> break od; i = 0 }
    do
    :: i < CORES -> quiet[i]; i++
    :: else -> break
    od
}

inline wait_until_deserted() {
    i = 0;
    do
    :: i < CORES -> inside[i] == 0; i++
    :: else -> break
    od
}

proctype reclaimer() {
    byte i;
    slot = false;
#ifndef M_NOT_CLOSED
    wait_for_quiet();
#endif
    wait_until_deserted();
#ifndef M_NOT_RESTED
    wait_for_quiet();
#endif
    gone = true
}

init {
    atomic {
        byte i = 0;
        do :: i < CORES -> at[i] = OUTSIDE; run core(i); i++ :: else -> break od;
        run reclaimer()
    }
}
