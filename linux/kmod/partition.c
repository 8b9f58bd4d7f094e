// SPDX-License-Identifier: GPL-2.0
/*
 * The partition: the device-tree node /bulkhead and what lies below it
 *
 * One platform driver; each child node becomes what its `compatible` says. A
 * child that is wrong is named in the log and left out, the others work. What
 * concerns the whole partition is here: name, argument, announcing that it is
 * up, the heartbeat, and the last words of a panic.
 *
 * doc/interfaces/device-tree.md specifies the nodes.
 */
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/of_address.h>
#include <linux/panic_notifier.h>
#include <linux/platform_device.h>
#include <linux/version.h>

#include "bulkhead.h"

/* The heartbeat is written so many times in the longest silence tolerated. */
#define BEATS_PER_PERIOD 4

struct bulkhead_partition {
	struct mutex lock;		/* is_up */
	bool is_up;
	struct notifier_block panic;
	struct hrtimer beat;
	ktime_t beat_interval;
	u64 *heartbeat;
};

/* A machine has one partition it could be. */
static atomic_t bulkhead_probed = ATOMIC_INIT(0);

const char *bulkhead_string(struct device *dev, struct device_node *node, const char *property)
{
	const char *text;

	if (!of_property_read_string(node, property, &text) && *text)
		return text;
	dev_err(dev, "%pOF: property %s is missing or empty\n", node, property);
	return NULL;
}

int bulkhead_memory(struct device *dev, struct device_node *node, int index,
		    struct resource *memory)
{
	if (of_address_to_resource(node, index, memory)) {
		dev_err(dev, "%pOF: region %d of reg is missing\n", node, index);
		return -EINVAL;
	}
	if (!bulkhead_is_shareable(memory->start, resource_size(memory))) {
		dev_err(dev, "%pOF: %pR is not whole pages outside of RAM\n", node, memory);
		return -EINVAL;
	}
	return 0;
}

void *bulkhead_map(struct device *dev, struct device_node *node, int index, size_t *size)
{
	struct resource memory;
	void *address;
	int error = bulkhead_memory(dev, node, index, &memory);

	if (error)
		return ERR_PTR(error);
	address = devm_memremap(dev, memory.start, resource_size(&memory), MEMREMAP_WB);
	if (!IS_ERR(address))
		*size = resource_size(&memory);
	return address;
}

static enum hrtimer_restart bulkhead_beat(struct hrtimer *timer)
{
	struct bulkhead_partition *partition = container_of(timer, struct bulkhead_partition,
							     beat);

	isb();
	WRITE_ONCE(*partition->heartbeat, read_sysreg(cntvct_el0));
	hrtimer_forward_now(timer, partition->beat_interval);
	return HRTIMER_RESTART;
}

static void bulkhead_heartbeat_remove(void *timer)
{
	hrtimer_cancel(timer);
}

/* From an interrupt, so it stops when the kernel stops taking interrupts. */
static int bulkhead_heartbeat_add(struct device *dev, struct device_node *node)
{
	struct bulkhead_partition *partition = dev_get_drvdata(dev);
	u32 offset = BULKHEAD_GUEST_HEARTBEAT;
	u64 ticks = 0;
	size_t size;
	u8 *page;

	of_property_read_u64(node, "bulkhead,period-ticks", &ticks);
	if (!ticks)
		return 0;
	if (partition->heartbeat)
		return -EBUSY;
	of_property_read_u32(node, "bulkhead,offset", &offset);
	page = bulkhead_map(dev, node, 0, &size);
	if (IS_ERR(page))
		return PTR_ERR(page);
	if (offset > size - sizeof(u64) || offset % sizeof(u64))
		return -EINVAL;
	partition->heartbeat = (u64 *)(page + offset);
	partition->beat_interval = ns_to_ktime(mul_u64_u32_div(ticks, NSEC_PER_SEC / BEATS_PER_PERIOD,
							       read_sysreg(cntfrq_el0)));
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&partition->beat, bulkhead_beat, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(&partition->beat, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	partition->beat.function = bulkhead_beat;
#endif
	hrtimer_start(&partition->beat, 0, HRTIMER_MODE_REL_HARD);
	return devm_add_action_or_reset(dev, bulkhead_heartbeat_remove, &partition->beat);
}

/* Where the monitor knows the call, it does not return. */
static int bulkhead_panic(struct notifier_block *block, unsigned long event, void *message)
{
	struct arm_smccc_res result;

	bulkhead_call(BULKHEAD_HVC_FAIL, event, 0, &result);
	return NOTIFY_DONE;
}

static void bulkhead_panic_remove(void *block)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, block);
}

static int bulkhead_panic_add(struct device *dev, struct bulkhead_partition *partition)
{
	partition->panic.notifier_call = bulkhead_panic;
	partition->panic.priority = INT_MIN;	/* all others may still speak */
	atomic_notifier_chain_register(&panic_notifier_list, &partition->panic);
	return devm_add_action_or_reset(dev, bulkhead_panic_remove, &partition->panic);
}

/* Announces the partition, once; the monitor's boot counters end there. */
static int bulkhead_announce(struct bulkhead_partition *partition)
{
	struct arm_smccc_res result;
	int error = -EALREADY;

	mutex_lock(&partition->lock);
	if (!partition->is_up) {
		error = bulkhead_call(BULKHEAD_HVC_UP, 0, 0, &result);
		partition->is_up = !error;
	}
	mutex_unlock(&partition->lock);
	return error;
}

static ssize_t up_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct bulkhead_partition *partition = dev_get_drvdata(dev);

	return sysfs_emit(text, "%d\n", READ_ONCE(partition->is_up));
}

static ssize_t up_store(struct device *dev, struct device_attribute *attribute, const char *text,
			size_t size)
{
	bool up;
	int error = kstrtobool(text, &up) ?: up ? bulkhead_announce(dev_get_drvdata(dev)) : -EINVAL;

	return error ? error : size;
}
static DEVICE_ATTR_RW(up);

static ssize_t bulkhead_show_text(struct device *dev, const char *property, char *text)
{
	const char *value = "";

	of_property_read_string(dev->of_node, property, &value);
	return sysfs_emit(text, "%s\n", value);
}

static ssize_t name_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return bulkhead_show_text(dev, "bulkhead,name", text);
}
static DEVICE_ATTR_RO(name);

static ssize_t argument_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return bulkhead_show_text(dev, "bulkhead,argument", text);
}
static DEVICE_ATTR_RO(argument);

static struct attribute *bulkhead_partition_attrs[] = {
	&dev_attr_name.attr, &dev_attr_argument.attr, &dev_attr_up.attr, NULL,
};
ATTRIBUTE_GROUPS(bulkhead_partition);

static const struct {
	const char *compatible;
	int (*add)(struct device *dev, struct device_node *node);
} bulkhead_kinds[] = {
	{ "bulkhead,channel", bulkhead_channel_add },
	{ "bulkhead,trace", bulkhead_trace_add },
	{ "bulkhead,link", bulkhead_link_add },
	{ "bulkhead,status", bulkhead_status_add },
	{ "bulkhead,console", bulkhead_console_add },
	{ "bulkhead,heartbeat", bulkhead_heartbeat_add },
};

/* A node like an earlier one would only confuse the device core. */
static bool bulkhead_is_repeated(struct device_node *parent, struct device_node *node)
{
	const char *compatible, *name, *other_compatible, *other_name;
	struct device_node *other;
	bool repeated = false;

	if (of_property_read_string(node, "bulkhead,name", &name) ||
	    of_property_read_string(node, "compatible", &compatible))
		return false;
	for_each_available_child_of_node(parent, other) {
		if (other == node || repeated) {
			of_node_put(other);
			break;
		}
		repeated = !of_property_read_string(other, "bulkhead,name", &other_name) &&
			   !of_property_read_string(other, "compatible", &other_compatible) &&
			   !strcmp(name, other_name) && !strcmp(compatible, other_compatible);
	}
	return repeated;
}

static int bulkhead_add_kind(struct device *dev, struct device_node *node)
{
	size_t i;

	if (bulkhead_is_repeated(dev->of_node, node))
		return -EEXIST;
	for (i = 0; i < ARRAY_SIZE(bulkhead_kinds); i++)
		if (of_device_is_compatible(node, bulkhead_kinds[i].compatible))
			return bulkhead_kinds[i].add(dev, node);
	return -ENODEV;
}

/* All of a child, or nothing of it. */
static int bulkhead_add(struct device *dev, struct device_node *node)
{
	void *group = devres_open_group(dev, NULL, GFP_KERNEL);
	int error;

	if (!group)
		return -ENOMEM;
	error = bulkhead_add_kind(dev, node);
	if (error)
		devres_release_group(dev, group);
	else
		devres_close_group(dev, group);
	return error;
}

static void bulkhead_probed_remove(void *unused)
{
	atomic_set(&bulkhead_probed, 0);
}

static int bulkhead_claim(struct device *dev)
{
	if (atomic_cmpxchg(&bulkhead_probed, 0, 1)) {
		dev_err(dev, "there is another bulkhead node already\n");
		return -EBUSY;
	}
	return devm_add_action_or_reset(dev, bulkhead_probed_remove, NULL);
}

static int bulkhead_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct bulkhead_partition *partition;
	struct device_node *node;
	int error = bulkhead_claim(dev);

	if (error)
		return error;
	partition = devm_kzalloc(dev, sizeof(*partition), GFP_KERNEL);
	if (!partition)
		return -ENOMEM;
	mutex_init(&partition->lock);
	dev_set_drvdata(dev, partition);
	for_each_available_child_of_node(dev->of_node, node) {
		error = bulkhead_add(dev, node);
		if (error)
			dev_err(dev, "%pOF is left out: %pe\n", node, ERR_PTR(error));
	}
	return bulkhead_panic_add(dev, partition);
}

static const struct of_device_id bulkhead_match[] = {
	{ .compatible = "bulkhead,partition" },
	{ }
};
MODULE_DEVICE_TABLE(of, bulkhead_match);

/* Taken away only with the module, which open files and ttys hold. */
static struct platform_driver bulkhead_driver = {
	.probe = bulkhead_probe,
	.driver = {
		.name = "bulkhead",
		.of_match_table = bulkhead_match,
		.dev_groups = bulkhead_partition_groups,
		.suppress_bind_attrs = true,
	},
};
module_platform_driver(bulkhead_driver);

MODULE_DESCRIPTION("Channels, consoles and state of a Bulkhead partition");
MODULE_LICENSE("GPL");
