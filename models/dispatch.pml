/*
 * User-level dispatch: user switch x kernel entry, at every instruction
 *
 * One core, N threads of one scheduler. The register file is explicit: `pc`, `stack` (whose stack
 * sp points into), `self` and `next` (which control blocks the switch holds in registers), `tmp`.
 * A user step executes one instruction; between any two the kernel may be entered and may activate
 * any thread. Steps S1-S7, R1, R2 are the instructions of the switch in arch/; the invariants are
 * numbered as in abi/src/dispatch.rs (paper 004, section IV).
 *
 * With -DHOSTILE the scheduler does not keep the discipline at all: it writes anything into the
 * shared blocks and jumps anywhere. What must hold then is only that a thread executing in another
 * component is resumed exactly where it was.
 *
 * Mutations (-DM_..., -DH_... under HOSTILE) break one rule each; each must be found
 * (models/check.sh).
 */

#ifndef N
#define N 3
#endif

#define FREE 255

mtype = { RUN, S1, S2, S3, S4, S5, S6, S7, R1, R2, SLOW, SLOW_RETURN, REMOTE };

/* shared between scheduler and kernel */
bool dcb_ip[N];              /* a valid resume address is stored */
bool dcb_sp[N];              /* sp is non-zero */
byte current = 0;            /* SCB */
byte kernel_current = 0;     /* the kernel's own */
bit  epoch = 0;              /* SCB, modulo 2: staleness is all that matters */

/* the register file */
mtype pc = RUN;
byte stack = 0;
byte self = 0;
byte next = 0;
bool tmp = false;
bit  seen = 0;

/* kernel's record of a thread: the whole register file, if it was preempted or is elsewhere */
bool saved[N];
mtype saved_pc[N];
byte saved_stack[N];
byte saved_self[N];
byte saved_next[N];
bool saved_tmp[N];
bit  saved_seen[N];
bool elsewhere[N];           /* executing in another component (thread migration) */

/* ghost: registers are pushed on the thread's stack, waiting for exactly one resume */
bool pushed[N];

inline invariants() {
#ifndef HOSTILE
    d_step {
        i = 0;
        do
        :: i < N ->
            /* 2: a non-zero sp implies a valid ip */
            assert(!dcb_sp[i] || dcb_ip[i]);
            /* 5: what would be resumed from is really there, once */
            assert(!dcb_sp[i] || pushed[i]);
            i++
        :: else -> break
        od;
        /* 1 and 6: who executes ordinary code is current, on its own stack, with sp zero */
        assert(pc != RUN || (current == stack && !dcb_sp[stack] && !elsewhere[stack]));
        assert(current < N);
    }
#endif
    assert(pc != REMOTE || (kernel_current == stack && elsewhere[stack]))
}

/*
 * Kernel entry. Coherence first: while a thread executes in the scheduler's component, the kernel
 * takes the thread that the scheduler names, unless that one is elsewhere. The interrupted
 * registers then belong to it.
 */
inline save_current() {
#ifndef M_NO_COHERENCE
    if
#ifdef H_TRUST_CURRENT
    :: !elsewhere[kernel_current] && current < N -> kernel_current = current
#else
    :: !elsewhere[kernel_current] && current < N && !elsewhere[current] -> kernel_current = current
#endif
    :: else -> skip
    fi;
#endif
    assert(!elsewhere[kernel_current] || (pc == REMOTE && stack == kernel_current));
    saved[kernel_current] = true;
    saved_pc[kernel_current] = pc; saved_stack[kernel_current] = stack;
    saved_self[kernel_current] = self; saved_next[kernel_current] = next;
    saved_tmp[kernel_current] = tmp; saved_seen[kernel_current] = seen
}

inline restore(t) {
    kernel_current = t;
    current = t;
    if
#ifdef H_TRUST_BLOCK
    :: dcb_sp[t] ->
#else
    :: dcb_sp[t] && !elsewhere[t] ->
#endif
        assert(!elsewhere[t]);          /* never control over a thread elsewhere */
#ifndef HOSTILE
        assert(pushed[t]);
#endif
#ifdef HOSTILE
        pc = RUN;                       /* wherever it said: its own component */
#else
        pc = R2;
#endif
        stack = t; self = 0; next = 0; tmp = false; seen = 0;
#ifndef M_KERNEL_KEEPS_SP
        dcb_sp[t] = false               /* 4 */
#endif
    :: else ->
#ifndef HOSTILE
        assert(saved[t]);               /* 6: it can be activated */
#endif
        assert(!elsewhere[t] || saved_pc[t] == REMOTE);
        pc = saved_pc[t]; stack = saved_stack[t];
        self = saved_self[t]; next = saved_next[t];
        tmp = saved_tmp[t]; seen = saved_seen[t]
    fi;
    /* forget the record: what is not needed must not tell states apart */
    saved[t] = false; saved_pc[t] = RUN; saved_stack[t] = 0;
    saved_self[t] = 0; saved_next[t] = 0; saved_tmp[t] = false; saved_seen[t] = 0
}

active proctype core() {
    byte t;
    byte i;
    d_step {
        t = 1;
        do
        :: t < N ->                     /* the others were created: they resume at R2 */
            dcb_ip[t] = true; dcb_sp[t] = true; pushed[t] = true; t++
        :: else -> break
        od
    }
step:
    invariants();
    if
    /* an interrupt, anywhere: the kernel activates some thread */
    :: atomic {
        save_current();
        select(t : 0 .. (N - 1));
        epoch = 1 - epoch;
        restore(t)
       }
    /* ordinary code calls into another component, and returns */
    :: atomic { pc == RUN ->
        save_current();
        saved[kernel_current] = false; saved_pc[kernel_current] = RUN;
        saved_stack[kernel_current] = 0; elsewhere[kernel_current] = true;
        stack = kernel_current; current = kernel_current; pc = REMOTE
       }
    :: atomic { pc == REMOTE -> elsewhere[kernel_current] = false; current = kernel_current; pc = RUN }
#ifndef HOSTILE
    /* ordinary code decides to switch */
    :: atomic { pc == RUN ->
        select(t : 0 .. (N - 1));
        if :: t != stack -> self = stack; next = t; seen = epoch; pushed[stack] = true; pc = S1
           :: else -> skip fi
       }
    /* the switch, one instruction at a time */
#ifdef M_SP_BEFORE_IP
    :: atomic { pc == S1 -> dcb_ip[self] = false; dcb_sp[self] = true; pc = S2 }
    :: atomic { pc == S2 -> dcb_ip[self] = true; pc = S3 }
#else
    :: atomic { pc == S1 -> dcb_ip[self] = true; pc = S2 }
    :: atomic { pc == S2 -> dcb_sp[self] = true; pc = S3 }
#endif
#ifdef M_CURRENT_FIRST
    :: atomic { pc == S3 -> current = next; tmp = dcb_sp[next]; pc = S4 }
#else
    :: atomic { pc == S3 -> tmp = dcb_sp[next]; pc = S4 }
#endif
    :: atomic { pc == S4 -> if :: tmp -> tmp = false; pc = S5 :: else -> pc = SLOW fi }
    :: atomic { pc == S5 -> current = next; pc = S6 }
    :: atomic { pc == S6 -> stack = next; pc = S7 }
    :: atomic { pc == S7 -> assert(dcb_ip[next]); self = next; next = 0; pc = R1 }
#ifdef M_USER_KEEPS_SP
    :: atomic { pc == R1 -> pc = R2 }
#else
    :: atomic { pc == R1 -> dcb_sp[self] = false; self = 0; pc = R2 }
#endif
    /* registers are popped: the frame is used up; a stale epoch only means to decide again */
    :: atomic { pc == R2 ->
        assert(pushed[stack]); pushed[stack] = false;
        self = 0; next = 0; tmp = false; seen = 0; pc = RUN
       }
    /* preempted threads are resumed by the kernel, unless the decision is stale */
    :: atomic { pc == SLOW ->
        if
        :: seen == epoch && (saved[next] || dcb_sp[next]) -> t = next; save_current(); restore(t)
        :: else -> pc = SLOW_RETURN
        fi
       }
    :: atomic { pc == SLOW_RETURN -> dcb_sp[self] = false; self = 0; next = 0; seen = 0; pc = R2 }
#else
    /* a hostile scheduler: any value in the shared blocks, any thread asked for */
    :: atomic { pc == RUN ->
        if
        :: select(current : 0 .. N)
        :: select(t : 0 .. (N - 1)); dcb_sp[t] = !dcb_sp[t]
        :: select(t : 0 .. (N - 1)); epoch = 1 - epoch; save_current(); restore(t)
        fi
       }
#endif
    fi;
    goto step
}
