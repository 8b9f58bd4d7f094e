/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bulkhead, seen from a Linux partition: what the parts of the module share
 *
 * Every kind of node below /bulkhead has a file of its own, which offers one
 * add function; everything is device-managed, so nothing needs removing.
 */
#ifndef BULKHEAD_H
#define BULKHEAD_H

#include <linux/arm-smccc.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/ioport.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/of.h>
#include <linux/wait.h>

#include "bulkhead_abi.h"

/* Polling interval of open pages that change without an interrupt. */
#define BULKHEAD_POLL_MS 20

struct bulkhead_window;

/* Operations of a kind of window, besides mmap. */
struct bulkhead_window_ops {
	/* The first open, or the last close; may be NULL. */
	int (*open)(struct bulkhead_window *window);
	void (*close)(struct bulkhead_window *window);
	/* write(2); NULL if there is no doorbell. */
	int (*ring)(struct bulkhead_window *window);
};

/*
 * Shared memory as a character device: mmap, and events to read and poll for.
 * Opens for reading are unlimited, but the ends of a buffer belong to one
 * process: an open for writing is exclusive.
 */
struct bulkhead_window {
	struct miscdevice misc;
	const struct bulkhead_window_ops *ops;
	struct device *dev;		/* the partition */
	phys_addr_t base;
	size_t size;
	bool read_only;
	struct mutex lock;		/* opens, writable, base and size */
	unsigned int opens;
	bool writable_open;
	wait_queue_head_t wait;
	atomic64_t events;
};

int bulkhead_window_add(struct bulkhead_window *window, const char *kind,
			const char *name,
			const struct attribute_group **groups);
void bulkhead_window_event(struct bulkhead_window *window);
bool bulkhead_is_shareable(phys_addr_t base, size_t size);

static inline struct bulkhead_window *bulkhead_window_of(struct device *dev)
{
	/* The misc core's driver data of a device is its miscdevice. */
	return container_of(dev_get_drvdata(dev), struct bulkhead_window, misc);
}

/* Address and size of the node's memory, complete pages outside of RAM. */
int bulkhead_memory(struct device *dev, struct device_node *node, int index,
		    struct resource *memory);
/* The same, claimed and mapped cacheable for the kernel. */
void *bulkhead_map(struct device *dev, struct device_node *node, int index,
		   size_t *size);
const char *bulkhead_string(struct device *dev, struct device_node *node,
			    const char *property);

int bulkhead_channel_add(struct device *dev, struct device_node *node);
int bulkhead_trace_add(struct device *dev, struct device_node *node);
int bulkhead_link_add(struct device *dev, struct device_node *node);
int bulkhead_status_add(struct device *dev, struct device_node *node);
int bulkhead_console_add(struct device *dev, struct device_node *node);

/* Calls the monitor; 0 or an error number. */
static inline int bulkhead_call(u64 function, u64 first, u64 second,
				struct arm_smccc_res *result)
{
	arm_smccc_1_1_hvc(function, first, second, result);
	switch ((long)result->a0) {
	case BULKHEAD_OK:
		return 0;
	case BULKHEAD_DENIED:
		return -EPERM;
	case BULKHEAD_INVALID:
		return -ENXIO;
	default:
		return -EOPNOTSUPP;
	}
}

#endif
