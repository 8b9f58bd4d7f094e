// SPDX-License-Identifier: GPL-2.0
/*
 * Status regions: the monitors' counters and fault log of a partition
 *
 * Mapped read-only if the partition may read them. A privileged one may also
 * restart or halt the partition by writing the word to its `control`.
 */
#include <linux/ioport.h>

#include "bulkhead.h"

struct bulkhead_status {
	struct bulkhead_window window;
	u32 partition;
};

#define to_status(ptr) container_of(ptr, struct bulkhead_status, window)

static const struct bulkhead_window_ops bulkhead_status_ops = { };

static ssize_t control_store(struct device *dev, struct device_attribute *attribute,
			     const char *text, size_t size)
{
	static const char * const words[] = { "restart", "halt", NULL };
	struct arm_smccc_res result;
	int control = sysfs_match_string(words, text);
	int error;

	if (control < 0)
		return control;
	error = bulkhead_call(BULKHEAD_HVC_CONTROL, to_status(bulkhead_window_of(dev))->partition,
			      control, &result);
	return error ? error : size;
}
static DEVICE_ATTR_WO(control);

static ssize_t partition_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%u\n", to_status(bulkhead_window_of(dev))->partition);
}
static DEVICE_ATTR_RO(partition);

static struct attribute *bulkhead_status_attrs[] = {
	&dev_attr_control.attr, &dev_attr_partition.attr, NULL,
};
ATTRIBUTE_GROUPS(bulkhead_status);

int bulkhead_status_add(struct device *dev, struct device_node *node)
{
	const char *name = bulkhead_string(dev, node, "bulkhead,name");
	struct bulkhead_status *status;
	struct resource memory;
	const u8 *page;
	int error;

	if (!name)
		return -EINVAL;
	status = devm_kzalloc(dev, sizeof(*status), GFP_KERNEL);
	if (!status)
		return -ENOMEM;
	error = bulkhead_memory(dev, node, 0, &memory);
	if (error)
		return error;
	page = bulkhead_map(dev, node, 0, &status->window.size);
	if (IS_ERR(page))
		return PTR_ERR(page);
	status->partition = READ_ONCE(*(const u32 *)(page + BULKHEAD_STATUS_PARTITION));
	status->window.dev = dev;
	status->window.ops = &bulkhead_status_ops;
	status->window.base = memory.start;
	status->window.read_only = true;
	return bulkhead_window_add(&status->window, "status", name, bulkhead_status_groups);
}
