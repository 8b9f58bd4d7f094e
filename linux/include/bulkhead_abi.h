/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from the crate `abi` by `cargo xtask headers`; do not edit. */
#ifndef BULKHEAD_ABI_H
#define BULKHEAD_ABI_H

/* Calls to the monitor */
#define BULKHEAD_HVC_VERSION 0xc6000000UL
#define BULKHEAD_HVC_UP 0xc6000001UL
#define BULKHEAD_HVC_DOORBELL 0xc6000002UL
#define BULKHEAD_HVC_ATTACH 0xc6000003UL
#define BULKHEAD_HVC_DETACH 0xc6000004UL
#define BULKHEAD_HVC_FAIL 0xc6000005UL
#define BULKHEAD_HVC_CONTROL 0xc6000007UL

/* Their answers */
#define BULKHEAD_OK (0L)
#define BULKHEAD_NOT_SUPPORTED (-1L)
#define BULKHEAD_INVALID (-2L)
#define BULKHEAD_DENIED (-3L)

/* What a privileged partition may ask of another */
#define BULKHEAD_CONTROL_RESTART 0
#define BULKHEAD_CONTROL_HALT 1

/* Places in shared pages, bytes from their start */
#define BULKHEAD_NAME_LEN 16
#define BULKHEAD_GUEST_HEARTBEAT 48
#define BULKHEAD_LINK_STATE 8
#define BULKHEAD_LINK_EPOCH 12
#define BULKHEAD_STATUS_PARTITION 8

#endif
