/* Two tasks and the tick share a counter; a third task is woken by each tick */
#include "board.h"
#include "FreeRTOS.h"
#include "task.h"

/* Critical sections of each task. */
#define SECTIONS 10000

#ifdef WITHOUT_SECTIONS
#define ENTER()
#define LEAVE()
#else
#define ENTER() taskENTER_CRITICAL()
#define LEAVE() taskEXIT_CRITICAL()
#endif

volatile uint64_t inside;
static volatile uint64_t counter, broken, ticks, wakes;
static volatile uint64_t done[2];
static StackType_t stacks[3][configMINIMAL_STACK_SIZE] __attribute__((aligned(16)));
static StaticTask_t tasks[3];
static TaskHandle_t woken;

static void work(void)
{
        for (volatile int i = 0; i < 20; i++)
                ;
}

/* In the tick's interrupt, which a section masks. */
void vApplicationTickHook(void)
{
        BaseType_t is_switch_due = pdFALSE;
        broken += inside;
        counter++;
        ticks++;
        vTaskNotifyGiveFromISR(woken, &is_switch_due);
        portYIELD_FROM_ISR(is_switch_due);
}

static void count_wakes(void *argument)
{
        (void)argument;
        for (;;)
                wakes += ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
}

static void report(void)
{
        /* A tick more would be counted in one figure and not in the other. */
        taskENTER_CRITICAL();
        uint64_t expected = 2 * SECTIONS + ticks;
        print_number("freertos: sections=", 2 * SECTIONS);
        print_number(" lost=", expected - counter);
        print_number(" broken=", broken);
        print_number(" ticks=", ticks);
        print_number(" wakes=", wakes);
        print_number(" urgent=", urgent);
        print_number(" urgent-inside=", urgent_inside);
        print("\n");
        if (wakes != ticks)
                print("freertos: unexpected number of wakes\n");
        turn_off();
}

static void count_sections(void *argument)
{
        uint64_t number = (uint64_t)argument;
        for (int section = 0; section < SECTIONS; section++) {
                ENTER();
                broken += inside;
                inside = 1;
                uint64_t value = counter;
                work();
                counter = value + 1;
                inside = 0;
                LEAVE();
        }
        done[number] = 1;
        while (number || !done[1])
                taskYIELD();
        report();
}

void start(void)
{
        start_interrupts();
        for (uint64_t number = 0; number < 2; number++)
                xTaskCreateStatic(count_sections, "section", configMINIMAL_STACK_SIZE, (void *)number, 1, stacks[number], &tasks[number]);
        woken = xTaskCreateStatic(count_wakes, "wakes", configMINIMAL_STACK_SIZE, NULL, 2, stacks[2], &tasks[2]);
        vTaskStartScheduler();
}
