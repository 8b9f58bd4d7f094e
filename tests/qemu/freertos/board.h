/* What the partition's tasks need of its hardware */
#include <stdint.h>

#define READ(name) ({ uint64_t value; __asm__ volatile("mrs %0, " name : "=r"(value) : : "memory"); value; })
#define WRITE(name, value) __asm__ volatile("msr " name ", %0\n isb" : : "r"((uint64_t)(value)) : "memory")

/* Urgent interrupts, and those of them that arrived while `inside` was not 0. */
extern volatile uint64_t urgent, urgent_inside, inside;

void start_interrupts(void);
void print(const char *text);
void print_number(const char *name, uint64_t value);
void turn_off(void);
