// SPDX-License-Identifier: GPL-2.0
/*
 * Streams of bytes in shared memory: the recorder and the ring of consoles
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/barrier.h>

#include "stream.h"

/* Recorder: one control line, then the bytes. */
#define RECORDER_RESERVED 0
#define RECORDER_COMMITTED 1
#define RECORDER_HEAD_BYTES 64
/* Given up at most at a time by a long write, as a part of the whole. */
#define RECORDER_PORTION 4
/* Ring: the producer's and the consumer's line, then one word per message. */
#define RING_TAIL 0
#define RING_HEAD 8
#define RING_FIRST 16

void bulkhead_recorder_init(struct bulkhead_recorder *recorder, void *memory, size_t size)
{
	recorder->words = memory;
	recorder->capacity = size - RECORDER_HEAD_BYTES;
}

static u8 *bulkhead_recorder_byte(struct bulkhead_recorder *recorder, u64 position)
{
	return (u8 *)recorder->words + RECORDER_HEAD_BYTES + position % recorder->capacity;
}

static u64 bulkhead_recorder_oldest(const struct bulkhead_recorder *recorder, u64 position)
{
	return position > recorder->capacity ? position - recorder->capacity : 0;
}

/* Reader: to the oldest byte there is. */
void bulkhead_recorder_rewind(struct bulkhead_recorder *recorder)
{
	u64 committed = READ_ONCE(recorder->words[RECORDER_COMMITTED]);

	recorder->position = bulkhead_recorder_oldest(recorder, committed);
}

/*
 * Reader: copies up to `room` bytes from the cursor on, and moves the cursor
 * over what was overwritten, but not over what it gives. The writer reserves,
 * writes, commits; so what lies further back than the capacity before what is
 * reserved after the copy may be torn.
 */
size_t bulkhead_recorder_peek(struct bulkhead_recorder *recorder, u8 *bytes, size_t room)
{
	u64 committed = smp_load_acquire(&recorder->words[RECORDER_COMMITTED]);
	u64 from, intact, i;
	size_t count;

	if (recorder->position > committed)
		bulkhead_recorder_rewind(recorder);
	from = max(recorder->position, bulkhead_recorder_oldest(recorder, committed));
	if (from > committed)
		return 0;
	count = min_t(u64, committed - from, room);
	for (i = 0; i < count; i++)
		bytes[i] = READ_ONCE(*bulkhead_recorder_byte(recorder, from + i));
	smp_rmb();
	intact = bulkhead_recorder_oldest(recorder, READ_ONCE(recorder->words[RECORDER_RESERVED]));
	intact = clamp(intact, from, from + count);
	memmove(bytes, bytes + (intact - from), from + count - intact);
	recorder->position = intact;
	return from + count - intact;
}

/* Writer: goes on where the last instance stood. */
void bulkhead_recorder_resume(struct bulkhead_recorder *recorder)
{
	recorder->position = READ_ONCE(recorder->words[RECORDER_COMMITTED]);
}

static void bulkhead_recorder_append_portion(struct bulkhead_recorder *recorder, const u8 *bytes,
					     size_t count)
{
	size_t i;

	WRITE_ONCE(recorder->words[RECORDER_RESERVED], recorder->position + count);
	smp_wmb();
	for (i = 0; i < count; i++)
		WRITE_ONCE(*bulkhead_recorder_byte(recorder, recorder->position + i), bytes[i]);
	recorder->position += count;
	smp_store_release(&recorder->words[RECORDER_COMMITTED], recorder->position);
}

/* Writer: appends bytes, overwriting the oldest. The caller serialises. */
void bulkhead_recorder_append(struct bulkhead_recorder *recorder, const u8 *bytes, size_t count)
{
	size_t portion;

	for (; count; bytes += portion, count -= portion) {
		portion = min_t(u64, count, recorder->capacity / RECORDER_PORTION);
		bulkhead_recorder_append_portion(recorder, bytes, portion);
	}
}

void bulkhead_ring_init(struct bulkhead_ring *ring, void *memory, size_t size)
{
	ring->words = memory;
	ring->capacity = size / sizeof(u64) - RING_FIRST;
}

static u64 *bulkhead_ring_word(struct bulkhead_ring *ring, u64 position)
{
	return &ring->words[RING_FIRST + position % ring->capacity];
}

/* Producer: messages that fit; none where the consumer's cursor is nonsense. */
u64 bulkhead_ring_room(const struct bulkhead_ring *ring)
{
	u64 used = READ_ONCE(ring->words[RING_TAIL]) - smp_load_acquire(&ring->words[RING_HEAD]);

	return used > ring->capacity ? 0 : ring->capacity - used;
}

/*
 * Producer: puts in what there is room for. The tail is taken from the ring
 * each time, not kept: the host tool may type on the same console between two
 * calls. The caller serialises this system's own.
 */
size_t bulkhead_ring_push(struct bulkhead_ring *ring, const u8 *bytes, size_t count)
{
	u64 tail = READ_ONCE(ring->words[RING_TAIL]);
	size_t i;

	count = min_t(u64, count, bulkhead_ring_room(ring));
	for (i = 0; i < count; i++)
		WRITE_ONCE(*bulkhead_ring_word(ring, tail + i), (u64)bytes[i]);
	smp_store_release(&ring->words[RING_TAIL], tail + count);
	return count;
}

/* Consumer: copies what is there and fits, without taking it. */
size_t bulkhead_ring_peek(struct bulkhead_ring *ring, u8 *bytes, size_t room)
{
	u64 tail = smp_load_acquire(&ring->words[RING_TAIL]);
	u64 head = READ_ONCE(ring->words[RING_HEAD]);
	size_t i, count = 0;

	if (tail - head <= ring->capacity)
		count = min_t(u64, tail - head, room);
	else
		WRITE_ONCE(ring->words[RING_HEAD], tail);	/* the producer's rules */
	for (i = 0; i < count; i++)
		bytes[i] = READ_ONCE(*bulkhead_ring_word(ring, head + i));
	return count;
}

/* Consumer: takes `count` messages that were peeked at. */
void bulkhead_ring_drop(struct bulkhead_ring *ring, size_t count)
{
	u64 head = READ_ONCE(ring->words[RING_HEAD]);

	smp_store_release(&ring->words[RING_HEAD], head + count);
}
