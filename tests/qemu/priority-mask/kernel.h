/* What the tasks and the two kinds of critical section share */

typedef unsigned int u32;
typedef unsigned long u64;

#define READ(name) ({ u64 value; __asm__ volatile("mrs %0, " name : "=r"(value) : : "memory"); value; })
#define WRITE(name, value) __asm__ volatile("msr " name ", %0\n dsb sy\n isb" : : "r"((u64)(value)) : "memory")

/* Of 32 priorities: interrupts of 18 and below are masked in a critical section. */
#define MASKED (18 << 3)
#define UNMASKED 0xff

void enter_critical(void);
void exit_critical(void);
