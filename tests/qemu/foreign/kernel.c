/* A kernel for QEMU virt: polled PL011, GICv3, virtual timer, PSCI; written for the bare board */

typedef unsigned int u32;
typedef unsigned long u64;

#define UART 0x09000000ul
#define DISTRIBUTOR 0x08000000ul
#define REDISTRIBUTOR 0x080a0000ul
#define PRIVATE (REDISTRIBUTOR + 0x10000)
#define TIMER 27
#define OUTSIDE 0x70000000ul
#define SYSTEM_OFF 0x84000008ul

#define READ(name) ({ u64 value; __asm__ volatile("mrs %0, " name : "=r"(value)); value; })
#define WRITE(name, value) __asm__ volatile("msr " name ", %0\n isb" : : "r"((u64)(value)))

static volatile u32 ticks;
static volatile u64 faults;

/* Device registers as Linux accesses them: a plain load or store. A compiler may choose one that also
 * changes its base register, of which the architecture reports no syndrome. */
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

static void put(char c)
{
        while (load(UART + 0x18) & 1 << 5)
                ;
        store(UART, c);
}

static void print(const char *text)
{
        while (*text)
                put(*text++);
}

static void print_hex(u64 value)
{
        for (int shift = 28; shift >= 0; shift -= 4)
                put("0123456789abcdef"[value >> shift & 15]);
}

static char get(void)
{
        while (load(UART + 0x18) & 1 << 4)
                ;
        return load(UART);
}

void fault(void)
{
        faults = READ("esr_el1");
        WRITE("elr_el1", READ("elr_el1") + 4);
}

void unexpected(void)
{
        print("foreign: unexpected exception\n");
        for (;;)
                __asm__ volatile("wfi");
}

static void arm_timer(void)
{
        WRITE("cntv_tval_el0", READ("cntfrq_el0") / 100);
        WRITE("cntv_ctl_el0", 1);
}

void interrupt(void)
{
        u64 id = READ("S3_0_C12_C12_0");
        if (id == TIMER) {
                ticks++;
                arm_timer();
        }
        WRITE("S3_0_C12_C12_1", id);
}

static void start_interrupts(void)
{
        store(DISTRIBUTOR, 0x12);
        store(REDISTRIBUTOR + 0x14, load(REDISTRIBUTOR + 0x14) & ~2u);
        while (load(REDISTRIBUTOR + 0x14) & 4)
                ;
        store(PRIVATE + 0x80, ~0u);
        store(PRIVATE + 0x400 + (TIMER & ~3), 0xa0a0a0a0);
        store(PRIVATE + 0x100, 1u << TIMER);
        WRITE("S3_0_C12_C12_5", 7);
        WRITE("S3_0_C4_C6_0", 0xff);
        WRITE("S3_0_C12_C12_7", 1);
        arm_timer();
        __asm__ volatile("msr daifclr, #2");
}

static void start_uart(void)
{
        store(UART + 0x30, 0);
        store(UART + 0x24, 13);
        store(UART + 0x28, 1);
        store(UART + 0x2c, 0x70);
        store(UART + 0x30, 0x301);
}

void kernel(u64 argument)
{
        start_uart();
        print("foreign: EL ");
        put('0' + (READ("CurrentEL") >> 2));
        print(", argument ");
        print_hex(argument ? load(argument) : 0);
        print("\n");
        start_interrupts();
        while (ticks < 10)
                __asm__ volatile("wfi");
        print("foreign: ten ticks\n");
        store(OUTSIDE, 1);
        print("foreign: fault class ");
        print_hex(faults >> 26);
        print("\nforeign: say something\n");
        char line[32];
        int length = 0;
        for (char c; length < 31 && (c = get()) != '\n' && c != '\r';)
                line[length++] = c;
        line[length] = 0;
        print("foreign: heard ");
        print(line);
        print("\n");
        register u64 function __asm__("x0") = SYSTEM_OFF;
        __asm__ volatile("hvc #0" : "+r"(function) : : "x1", "x2", "x3", "memory");
}
