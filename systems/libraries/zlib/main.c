/* Compresses a text and gets it back; check values are those of zlib's documentation and of the CRC catalogue. */
#include <bulkhead.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { BYTES = 20000 };

static unsigned char text[BYTES], packed[BYTES], unpacked[BYTES];

static void fill(void)
{
    for (int at = 0, number = 0; at < BYTES; number++)
        at += snprintf((char *)text + at, BYTES - (size_t)at, "line %d of a text; ", number * number % 97);
}

static void round_trip(uint64_t job)
{
    uLongf length = sizeof packed, back = sizeof unpacked;
    int packing = compress2(packed, &length, text, BYTES, 1 + (int)(job % 9));
    int unpacking = uncompress(unpacked, &back, packed, length);
    int is_same = back == BYTES && !memcmp(text, unpacked, BYTES);
    packed[length / 2] ^= 0x55;
    back = sizeof unpacked;
    int damaged = uncompress(unpacked, &back, packed, length);
    printf("zlib: level %lu %d %d, below a fifth %d, same %d, damage found %d\n", 1 + job % 9, packing, unpacking,
           length < BYTES / 5, is_same, damaged != Z_OK);
}

int main(void)
{
    const unsigned char *digits = (const unsigned char *)"123456789";
    fill();
    printf("zlib %s: crc32 %08lx, adler32 %08lx\n", zlibVersion(), crc32(0, digits, 9), adler32(1, digits, 9));
    bulkhead_up();
    struct bulkhead_periodic task;
    bulkhead_periodic_start(&task, "zlib", 100000000);
    for (uint64_t job = 0;; job++) {
        bulkhead_periodic_wait(&task);
        round_trip(job);
    }
}
