/* An RTOS with two tasks; critical sections mask interrupts by ICC_PMR_EL1 */
#include "kernel.h"

/* Critical sections of each task. */
#define SECTIONS 10000

#define UART 0x09000000ul
#define DISTRIBUTOR 0x08000000ul
#define REDISTRIBUTOR 0x080a0000ul
#define PRIVATE (REDISTRIBUTOR + 0x10000)
#define SYSTEM_OFF 0x84000008ul
#define EL1T 4ul

/* The tick may switch tasks and is masked in a critical section; the urgent interrupt is above the mask. */
#define TICK 27
#define URGENT 30
/* The lowest but one of the 16 that two security states leave: at the lowest nothing is signalled. */
#define TICK_PRIORITY 0xe0u
#define URGENT_PRIORITY 0x18u
#define TICKS_PER_SECOND 20000
#define URGENT_PER_SECOND 27000

static volatile u64 counter, inside, broken, ticks, urgent, urgent_inside, tick_priority;
static volatile u64 done[2];
static u64 stacks[2][512] __attribute__((aligned(16)));
static u64 saved[2];
static u64 current;

void begin(u64 stack_pointer);

static u32 load(u64 address)
{
        u32 value;
        __asm__ volatile("ldr %w0, [%1]" : "=r"(value) : "r"(address) : "memory");
        return value;
}

static void store(u64 address, u32 value)
{
        __asm__ volatile("str %w0, [%1]" : : "r"(value), "r"(address) : "memory");
}

static void print(const char *text)
{
        for (; *text; text++) {
                while (load(UART + 0x18) & 1 << 5)
                        ;
                store(UART, *text);
        }
}

static void print_number(const char *name, u64 value)
{
        char digits[24];
        int at = sizeof digits - 1;
        digits[at] = 0;
        do
                digits[--at] = '0' + value % 10;
        while (value /= 10);
        print(name);
        print(digits + at);
}

void unexpected(void)
{
        print_number("mask: unexpected exception of class ", READ("esr_el1") >> 26);
        print("\n");
        for (;;)
                __asm__ volatile("wfi");
}

static void arm_tick(void)
{
        WRITE("cntv_tval_el0", READ("cntfrq_el0") / TICKS_PER_SECOND);
        WRITE("cntv_ctl_el0", 1);
}

static void arm_urgent(void)
{
        /* Not in step with the sections. */
        WRITE("cntp_tval_el0", READ("cntfrq_el0") / URGENT_PER_SECOND + urgent * 37 % 509);
        WRITE("cntp_ctl_el0", 1);
}

/* Interrupts above the mask nest in it. */
static void tick(void)
{
        tick_priority = READ("S3_0_C12_C11_3");
        WRITE("S3_0_C4_C6_0", MASKED);
        __asm__ volatile("msr daifclr, #2");
        ticks++;
        broken += inside;
        arm_tick();
        current ^= 1;
        __asm__ volatile("msr daifset, #2");
        WRITE("S3_0_C4_C6_0", UNMASKED);
}

/* Returns the stack pointer of the task that continues. */
u64 interrupt(u64 stack_pointer)
{
        u64 id = READ("S3_0_C12_C12_0");
        u64 interrupted = current;
        if (id == TICK) {
                saved[interrupted] = stack_pointer;
                tick();
                stack_pointer = saved[current];
        } else if (id == URGENT) {
                urgent++;
                urgent_inside += inside;
                arm_urgent();
        }
        WRITE("S3_0_C12_C12_1", id);
        return stack_pointer;
}

static void work(void)
{
        for (volatile int i = 0; i < 20; i++)
                ;
}

static void task(u64 number)
{
        for (int section = 0; section < SECTIONS; section++) {
                enter_critical();
                broken += inside;
                inside = 1;
                u64 value = counter;
                work();
                counter = value + 1;
                inside = 0;
                exit_critical();
        }
        done[number] = 1;
        while (number || !done[1])
                __asm__ volatile("wfi");
        print_number("mask: sections=", 2 * SECTIONS);
        print_number(" counter=", counter);
        print_number(" broken=", broken);
        print_number(" ticks=", ticks);
        print_number(" tick-priority=", tick_priority);
        print_number(" urgent=", urgent);
        print_number(" urgent-inside=", urgent_inside);
        print("\n");
        register u64 function __asm__("x0") = SYSTEM_OFF;
        __asm__ volatile("hvc #0" : "+r"(function) : : "x1", "x2", "x3", "memory");
}

static void prepare(u64 number)
{
        u64 *frame = stacks[number] + 512 - 34;
        frame[0] = number;
        frame[31] = (u64)task;
        frame[32] = EL1T;
        saved[number] = (u64)frame;
}

static void start_interrupts(void)
{
        store(DISTRIBUTOR, 0x12);
        store(REDISTRIBUTOR + 0x14, load(REDISTRIBUTOR + 0x14) & ~2u);
        while (load(REDISTRIBUTOR + 0x14) & 4)
                ;
        store(PRIVATE + 0x80, ~0u);
        store(PRIVATE + 0x400 + 24, TICK_PRIORITY << 24);
        store(PRIVATE + 0x400 + 28, URGENT_PRIORITY << 16);
        store(PRIVATE + 0x100, 1u << TICK | 1u << URGENT);
        WRITE("S3_0_C12_C12_5", 7);
        WRITE("S3_0_C12_C12_3", 0);
        WRITE("S3_0_C4_C6_0", UNMASKED);
        WRITE("S3_0_C12_C12_7", 1);
}

void kernel(void)
{
        prepare(0);
        prepare(1);
        start_interrupts();
        arm_tick();
        arm_urgent();
        begin(saved[0]);
}
