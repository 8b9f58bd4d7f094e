/* Configuration of FreeRTOS for a partition: time-sliced tasks, static memory only */
#define configUNIQUE_INTERRUPT_PRIORITIES 32
#define configMAX_API_CALL_INTERRUPT_PRIORITY 18

#define configTICK_RATE_HZ 20000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_64_BITS
#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 1
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 1
#define configMAX_PRIORITIES 4
#define configMINIMAL_STACK_SIZE 512
#define configMAX_TASK_NAME_LEN 8
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configCHECK_FOR_STACK_OVERFLOW 2

/* For the C files only: the port's assembly reads none of it. */
void set_up_tick(void);
void arm_tick(void);
void fail(const char *file, int line);

#define configSETUP_TICK_INTERRUPT set_up_tick
#define configCLEAR_TICK_INTERRUPT arm_tick
#define configASSERT(holds) \
        do { \
                if (!(holds)) \
                        fail(__FILE__, __LINE__); \
        } while (0)
