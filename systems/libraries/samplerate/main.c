/* Resamples a sine from 8 to 16 kHz through the sinc filter and compares it with the sine itself. */
#include <bulkhead.h>
#include <math.h>
#include <samplerate.h>
#include <stdio.h>

enum { FRAMES = 1000, RATIO = 2, EDGE = 100 };

static float samples[FRAMES], resampled[RATIO * FRAMES];

static double sine(double frame)
{
    return 0.5 * sin(2 * 3.14159265358979323846 * frame / 40);
}

int main(void)
{
    for (int i = 0; i < FRAMES; i++)
        samples[i] = (float)sine(i);
    SRC_DATA data = {
        .data_in = samples, .data_out = resampled, .input_frames = FRAMES, .output_frames = RATIO * FRAMES, .src_ratio = RATIO,
    };
    int error = src_simple(&data, SRC_SINC_FASTEST, 1);
    double worst = 0;
    for (int i = EDGE; i < data.output_frames_gen - EDGE; i++)
        worst = fmax(worst, fabs(resampled[i] - sine((double)i / RATIO)));
    printf("samplerate: %s, %ld frames, close to the sine %d\n", error ? src_strerror(error) : "ok", data.output_frames_gen,
           worst > 0 && worst < 1e-3);
    bulkhead_up();
    for (;;)
        bulkhead_sleep_until(bulkhead_after_us(100000));
}
