// SPDX-License-Identifier: GPL-2.0
/*
 * Link pages: whether a partition is up, and how often it was started
 *
 * The monitors write them without a notification, so the module polls the page
 * every BULKHEAD_POLL_MS while the window is open. A change is an event.
 */
#include <linux/workqueue.h>

#include "bulkhead.h"

struct bulkhead_link {
	struct bulkhead_window window;
	struct delayed_work look;
	const u8 *page;
	u64 last;		/* state and epoch as last seen */
};

#define to_link(ptr) container_of(ptr, struct bulkhead_link, window)

/* State and epoch are one aligned word, written in one store. */
static u64 bulkhead_link_word(const struct bulkhead_link *link)
{
	return READ_ONCE(*(const u64 *)(link->page + BULKHEAD_LINK_STATE));
}

static void bulkhead_link_look(struct work_struct *work)
{
	struct bulkhead_link *link = container_of(to_delayed_work(work), struct bulkhead_link,
						  look);
	u64 word = bulkhead_link_word(link);

	if (word != link->last) {
		link->last = word;
		bulkhead_window_event(&link->window);
	}
	schedule_delayed_work(&link->look, msecs_to_jiffies(BULKHEAD_POLL_MS));
}

static int bulkhead_link_open(struct bulkhead_window *window)
{
	struct bulkhead_link *link = to_link(window);

	link->last = bulkhead_link_word(link);
	schedule_delayed_work(&link->look, msecs_to_jiffies(BULKHEAD_POLL_MS));
	return 0;
}

static void bulkhead_link_close(struct bulkhead_window *window)
{
	cancel_delayed_work_sync(&to_link(window)->look);
}

static const struct bulkhead_window_ops bulkhead_link_ops = {
	.open = bulkhead_link_open,
	.close = bulkhead_link_close,
};

static ssize_t state_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	static const char * const names[] = { "down", "starting", "up" };
	u32 state = (u32)bulkhead_link_word(to_link(bulkhead_window_of(dev)));

	return sysfs_emit(text, "%s\n", state < ARRAY_SIZE(names) ? names[state] : "unknown");
}
static DEVICE_ATTR_RO(state);

static ssize_t epoch_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	u64 word = bulkhead_link_word(to_link(bulkhead_window_of(dev)));

	return sysfs_emit(text, "%u\n", (u32)(word >> 32));
}
static DEVICE_ATTR_RO(epoch);

static struct attribute *bulkhead_link_attrs[] = {
	&dev_attr_state.attr, &dev_attr_epoch.attr, NULL,
};
ATTRIBUTE_GROUPS(bulkhead_link);

int bulkhead_link_add(struct device *dev, struct device_node *node)
{
	const char *name = bulkhead_string(dev, node, "bulkhead,name");
	struct bulkhead_link *link;
	struct resource memory;
	int error;

	if (!name)
		return -EINVAL;
	link = devm_kzalloc(dev, sizeof(*link), GFP_KERNEL);
	if (!link)
		return -ENOMEM;
	error = bulkhead_memory(dev, node, 0, &memory);
	if (error)
		return error;
	link->page = bulkhead_map(dev, node, 0, &link->window.size);
	if (IS_ERR(link->page))
		return PTR_ERR(link->page);
	INIT_DELAYED_WORK(&link->look, bulkhead_link_look);
	link->window.dev = dev;
	link->window.ops = &bulkhead_link_ops;
	link->window.base = memory.start;
	link->window.read_only = true;
	return bulkhead_window_add(&link->window, "link", name, bulkhead_link_groups);
}
