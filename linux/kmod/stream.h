/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Streams of bytes in shared memory: the recorder and the ring of consoles
 *
 * Layouts and rules: doc/interfaces/channel.md. Both ends may be restarted and
 * the other one may write nonsense, so no position found in shared memory is
 * used without being bounded.
 */
#ifndef BULKHEAD_STREAM_H
#define BULKHEAD_STREAM_H

#include <linux/types.h>

/* A recorder of bytes: never full, overwrites its oldest. */
struct bulkhead_recorder {
	u64 *words;
	u64 capacity;	/* bytes */
	u64 position;	/* the reader's cursor, or all that the writer wrote */
};

void bulkhead_recorder_init(struct bulkhead_recorder *recorder, void *memory, size_t size);
void bulkhead_recorder_rewind(struct bulkhead_recorder *recorder);
size_t bulkhead_recorder_peek(struct bulkhead_recorder *recorder, u8 *bytes, size_t room);
void bulkhead_recorder_resume(struct bulkhead_recorder *recorder);
void bulkhead_recorder_append(struct bulkhead_recorder *recorder, const u8 *bytes, size_t count);

/* A ring of messages of one byte, one word each. */
struct bulkhead_ring {
	u64 *words;
	u64 capacity;	/* messages */
};

void bulkhead_ring_init(struct bulkhead_ring *ring, void *memory, size_t size);
u64 bulkhead_ring_room(const struct bulkhead_ring *ring);
size_t bulkhead_ring_push(struct bulkhead_ring *ring, const u8 *bytes, size_t count);
size_t bulkhead_ring_peek(struct bulkhead_ring *ring, u8 *bytes, size_t room);
void bulkhead_ring_drop(struct bulkhead_ring *ring, size_t count);

#endif
