// SPDX-License-Identifier: GPL-2.0
/*
 * Channels, and the trace: windows that user space writes
 *
 * User space and its library define the content of the memory; the module
 * maps it, delivers the peer's doorbell and rings the partition's own. A
 * channel with a key is requested when it is first opened, and returned when
 * the last file and the last mapping of it are closed.
 */
#include <linux/interrupt.h>
#include <linux/ioport.h>
#include <linux/of_irq.h>

#include "bulkhead.h"

struct bulkhead_channel {
	struct bulkhead_window window;
	const char *kind;
	const char *role;
	const char *peer;
	const char *standby;
	u32 message_size;
	u32 messages;
	u32 doorbell;
	u64 key;
};

#define to_channel(ptr) container_of(ptr, struct bulkhead_channel, window)

static int bulkhead_channel_ring(struct bulkhead_window *window)
{
	struct arm_smccc_res result;

	return bulkhead_call(BULKHEAD_HVC_DOORBELL, to_channel(window)->doorbell, 0, &result);
}

static int bulkhead_channel_attach(struct bulkhead_window *window)
{
	struct bulkhead_channel *channel = to_channel(window);
	struct arm_smccc_res result;
	int error;

	if (!channel->key)
		return 0;
	error = bulkhead_call(BULKHEAD_HVC_ATTACH, channel->key, 0, &result);
	if (error)
		return error;
	if (!bulkhead_is_shareable(result.a1, result.a2))
		return -EIO;
	window->base = result.a1;
	window->size = result.a2;
	return 0;
}

static void bulkhead_channel_detach(struct bulkhead_window *window)
{
	struct arm_smccc_res result;
	u64 key = to_channel(window)->key;

	if (key && bulkhead_call(BULKHEAD_HVC_DETACH, key, 0, &result))
		dev_warn(window->dev, "channel with key %#llx could not be given back\n", key);
}

static const struct bulkhead_window_ops bulkhead_channel_ops = {
	.open = bulkhead_channel_attach,
	.close = bulkhead_channel_detach,
};

static const struct bulkhead_window_ops bulkhead_ringing_ops = {
	.open = bulkhead_channel_attach,
	.close = bulkhead_channel_detach,
	.ring = bulkhead_channel_ring,
};

static const struct bulkhead_window_ops bulkhead_trace_ops = { };

#define CHANNEL_ATTRIBUTE(name, format, value)						\
	static ssize_t name##_show(struct device *dev, struct device_attribute *attribute,	\
				   char *text)						\
	{										\
		struct bulkhead_channel *channel = to_channel(bulkhead_window_of(dev));	\
											\
		return sysfs_emit(text, format "\n", value);				\
	}										\
	static DEVICE_ATTR_RO(name)

CHANNEL_ATTRIBUTE(kind, "%s", channel->kind);
CHANNEL_ATTRIBUTE(role, "%s", channel->role);
CHANNEL_ATTRIBUTE(peer, "%s", channel->peer);
CHANNEL_ATTRIBUTE(standby, "%s", channel->standby);
CHANNEL_ATTRIBUTE(message_size, "%u", channel->message_size);
CHANNEL_ATTRIBUTE(messages, "%u", channel->messages);
CHANNEL_ATTRIBUTE(read_only, "%d", channel->window.read_only);
CHANNEL_ATTRIBUTE(doorbells, "%llu", (u64)atomic64_read(&channel->window.events));

static ssize_t size_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%zu\n", bulkhead_window_of(dev)->size);
}
static DEVICE_ATTR_RO(size);

static struct attribute *bulkhead_channel_attrs[] = {
	&dev_attr_kind.attr, &dev_attr_role.attr, &dev_attr_peer.attr, &dev_attr_standby.attr,
	&dev_attr_message_size.attr, &dev_attr_messages.attr, &dev_attr_size.attr,
	&dev_attr_read_only.attr, &dev_attr_doorbells.attr, NULL,
};
ATTRIBUTE_GROUPS(bulkhead_channel);

static struct attribute *bulkhead_trace_attrs[] = { &dev_attr_size.attr, NULL };
ATTRIBUTE_GROUPS(bulkhead_trace);

static irqreturn_t bulkhead_channel_doorbell(int irq, void *window)
{
	bulkhead_window_event(window);
	return IRQ_HANDLED;
}

/* The peer's doorbell, where there is one. */
static int bulkhead_channel_listen(struct bulkhead_channel *channel, struct device_node *node,
				   const char *name)
{
	int irq;

	if (!of_find_property(node, "interrupts", NULL))
		return 0;
	irq = of_irq_get(node, 0);
	if (irq <= 0)
		return irq ? irq : -EINVAL;
	return devm_request_irq(channel->window.dev, irq, bulkhead_channel_doorbell, 0, name,
				&channel->window);
}

/* Memory of the window; channels on demand get theirs when they are opened. */
static int bulkhead_channel_memory(struct bulkhead_channel *channel, struct device_node *node)
{
	struct bulkhead_window *window = &channel->window;
	struct resource memory;
	int error;

	if (!of_property_read_u64(node, "bulkhead,key", &channel->key))
		return 0;
	error = bulkhead_memory(window->dev, node, 0, &memory);
	if (error)
		return error;
	window->base = memory.start;
	window->size = resource_size(&memory);
	return 0;
}

static int bulkhead_channel_describe(struct bulkhead_channel *channel, struct device_node *node)
{
	struct device *dev = channel->window.dev;

	channel->kind = bulkhead_string(dev, node, "bulkhead,kind");
	channel->role = bulkhead_string(dev, node, "bulkhead,role");
	channel->peer = bulkhead_string(dev, node, "bulkhead,peer");
	if (!channel->kind || !channel->role || !channel->peer)
		return -EINVAL;
	channel->standby = "";
	of_property_read_string(node, "bulkhead,peer-standby", &channel->standby);
	of_property_read_u32(node, "bulkhead,message-size", &channel->message_size);
	of_property_read_u32(node, "bulkhead,messages", &channel->messages);
	channel->window.ops = of_property_read_u32(node, "bulkhead,doorbell", &channel->doorbell) ?
		&bulkhead_channel_ops : &bulkhead_ringing_ops;
	channel->window.read_only = of_property_read_bool(node, "bulkhead,read-only");
	return 0;
}

int bulkhead_channel_add(struct device *dev, struct device_node *node)
{
	const char *name = bulkhead_string(dev, node, "bulkhead,name");
	struct bulkhead_channel *channel;
	int error;

	if (!name)
		return -EINVAL;
	channel = devm_kzalloc(dev, sizeof(*channel), GFP_KERNEL);
	if (!channel)
		return -ENOMEM;
	channel->window.dev = dev;
	error = bulkhead_channel_describe(channel, node) ?:
		bulkhead_channel_memory(channel, node) ?:
		bulkhead_window_add(&channel->window, "channel", name, bulkhead_channel_groups);
	return error ? error : bulkhead_channel_listen(channel, node, channel->window.misc.name);
}

/* The partition's own trace is written here, others' are only looked at. */
int bulkhead_trace_add(struct device *dev, struct device_node *node)
{
	const char *name = bulkhead_string(dev, node, "bulkhead,name");
	struct bulkhead_window *window;
	struct resource memory;
	int error;

	if (!name)
		return -EINVAL;
	window = devm_kzalloc(dev, sizeof(*window), GFP_KERNEL);
	if (!window)
		return -ENOMEM;
	error = bulkhead_memory(dev, node, 0, &memory);
	if (error)
		return error;
	window->dev = dev;
	window->ops = &bulkhead_trace_ops;
	window->base = memory.start;
	window->size = resource_size(&memory);
	window->read_only = !of_property_read_bool(node, "bulkhead,own");
	return bulkhead_window_add(window, "trace", name, bulkhead_trace_groups);
}
