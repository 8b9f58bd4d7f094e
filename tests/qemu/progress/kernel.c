/* Counts in a word of its memory and prints, each 5 ms; after 200 ms it hangs, if it is one that hangs */

typedef unsigned int u32;
typedef unsigned long u64;

#define UART 0x09000000ul
#define COUNTER 0x40100000ul

extern const int hangs;

static u64 now(void)
{
        u64 ticks;
        __asm__ volatile("isb\n mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
}

static void store(u64 address, u32 value)
{
        __asm__ volatile("str %w0, [%1]" : : "r"(value), "r"(address) : "memory");
}

static void print(const char *text)
{
        for (; *text; text++)
                store(UART, *text);
}

void kernel(void)
{
        u64 frequency;
        __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
        u64 start = now();
        print("progress: begins\n");
        for (u32 count = 1; !hangs || count <= 40; count++) {
                while (now() < start + count * (frequency / 200))
                        ;
                store(COUNTER, count);
                print("progress: counts\n");
        }
        for (;;)
                ;
}
