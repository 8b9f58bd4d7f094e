/* The partition's hardware: UART, interrupt controller, two timers */
#include "board.h"
#include "FreeRTOS.h"
#include "task.h"
#include <string.h>

#define UART 0x09000000ul
#define DISTRIBUTOR 0x08000000ul
#define REDISTRIBUTOR 0x080a0000ul
#define PRIVATE (REDISTRIBUTOR + 0x10000)
#define SYSTEM_OFF 0x84000008ul

#define PROBE 0
#define TICK 27
#define URGENT 30
/* Above the mask of critical sections: its handler must not call FreeRTOS. */
#define URGENT_PRIORITY 0x18u
#define URGENT_PER_SECOND 27000

volatile uint64_t urgent, urgent_inside;

static uint32_t load(uint64_t address)
{
        uint32_t value;
        __asm__ volatile("ldr %w0, [%1]" : "=r"(value) : "r"(address) : "memory");
        return value;
}

static void store(uint64_t address, uint32_t value)
{
        __asm__ volatile("str %w0, [%1]" : : "r"(value), "r"(address) : "memory");
}

void print(const char *text)
{
        for (; *text; text++) {
                while (load(UART + 0x18) & 1 << 5)
                        ;
                store(UART, *text);
        }
}

void print_number(const char *name, uint64_t value)
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

static void stay(void)
{
        for (;;)
                __asm__ volatile("wfi");
}

void fail(const char *file, int line)
{
        print("freertos: assertion in ");
        print(file);
        print_number(" line ", line);
        print("\n");
        stay();
}

void unexpected(void)
{
        print_number("freertos: unexpected exception of class ", READ("esr_el1") >> 26);
        print("\n");
        stay();
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
        (void)task;
        print("freertos: unexpected overflow of the stack of ");
        print(name);
        print("\n");
        stay();
}

void turn_off(void)
{
        register uint64_t function __asm__("x0") = SYSTEM_OFF;
        __asm__ volatile("hvc #0" : "+r"(function) : : "x1", "x2", "x3", "memory");
}

void arm_tick(void)
{
        WRITE("cntv_tval_el0", READ("cntfrq_el0") / configTICK_RATE_HZ);
        WRITE("cntv_ctl_el0", 1);
}

static void arm_urgent(void)
{
        /* Not in step with the sections. */
        WRITE("cntp_tval_el0", READ("cntfrq_el0") / URGENT_PER_SECOND + urgent * 37 % 509);
        WRITE("cntp_ctl_el0", 1);
}

static void set_priority(uint32_t id, uint32_t priority)
{
        uint64_t word = PRIVATE + 0x400 + (id & ~3u);
        uint32_t shift = id % 4 * 8;
        store(word, (load(word) & ~(0xffu << shift)) | priority << shift);
}

/* Running priority of an interrupt with this priority register, measured with an interrupt that the core sends to itself;
   0 if that priority is the lowest, which is never signalled. */
static uint64_t running_priority(uint32_t priority)
{
        uint64_t running = 0;
        set_priority(PROBE, priority);
        store(PRIVATE + 0x100, 1u << PROBE);
        WRITE("S3_0_C12_C11_5", (uint64_t)PROBE << 24 | 1);
        for (int tries = 0; tries < 1000 && !running; tries++) {
                if (READ("S3_0_C12_C12_0") == PROBE) {
                        running = READ("S3_0_C12_C11_3");
                        WRITE("S3_0_C12_C12_1", PROBE);
                }
        }
        store(PRIVATE + 0x180, 1u << PROBE);
        store(PRIVATE + 0x280, 1u << PROBE);
        return running;
}

/* The port demands the lowest usable priority for the tick, as the running priority shows it. With two security states
   that view has one bit more than the priority registers' unless firmware takes FIQs (IHI 0069, 4.8.6). */
static uint32_t tick_priority(void)
{
        uint32_t priority = portLOWEST_USABLE_INTERRUPT_PRIORITY << portPRIORITY_SHIFT;
        return running_priority(priority) == priority ? priority : (priority << 1) & 0xff;
}

/* Interrupts are masked in PSTATE until the first task runs. */
void start_interrupts(void)
{
        store(DISTRIBUTOR, 0x12);
        store(REDISTRIBUTOR + 0x14, load(REDISTRIBUTOR + 0x14) & ~2u);
        while (load(REDISTRIBUTOR + 0x14) & 4)
                ;
        store(PRIVATE + 0x80, ~0u);
        WRITE("S3_0_C12_C12_5", 7);
        WRITE("S3_0_C12_C12_3", 0);
        WRITE("S3_0_C4_C6_0", 0xff);
        WRITE("S3_0_C12_C12_7", 1);
        set_priority(TICK, tick_priority());
        set_priority(URGENT, URGENT_PRIORITY);
}

void set_up_tick(void)
{
        store(PRIVATE + 0x100, 1u << TICK | 1u << URGENT);
        arm_tick();
        arm_urgent();
}

/* Called by the port's handler, with interrupts masked in PSTATE. */
void vApplicationIRQHandler(uint32_t id)
{
        switch (id) {
        case TICK:
                FreeRTOS_Tick_Handler();
                break;
        case URGENT:
                urgent++;
                urgent_inside += inside;
                arm_urgent();
                break;
        }
}

void *memset(void *place, int byte, size_t size)
{
        for (volatile char *at = place; size; size--)
                *at++ = byte;
        return place;
}

void *memcpy(void *place, const void *from, size_t size)
{
        const char *source = from;
        for (volatile char *at = place; size; size--)
                *at++ = *source++;
        return place;
}

size_t strlen(const char *text)
{
        size_t length = 0;
        while (((volatile const char *)text)[length])
                length++;
        return length;
}
