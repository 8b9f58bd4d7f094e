// SPDX-License-Identifier: GPL-2.0
/*
 * Consoles in memory as ttys: ttyBH0, ttyBH1, …
 *
 * The output of a console is a recorder of bytes, the input a ring. Of another
 * partition's console, the module reads the recorder from its oldest byte on,
 * and writes the ring; of this partition's own it is the other way round, and
 * the kernel's messages go there, too, from the first one on.
 */
#include <linux/console.h>
#include <linux/tty.h>
#include <linux/tty_driver.h>
#include <linux/tty_flip.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#include "bulkhead.h"
#include "stream.h"

#define CONSOLES 16
#define CHUNK 256

struct bulkhead_console {
	struct tty_port port;
	struct delayed_work look;
	struct console printk;		/* own only */
	const char *name;
	bool own;
	struct bulkhead_recorder output;
	struct bulkhead_ring input;
	spinlock_t lock;		/* this system's writers of the stream */
};

static struct tty_driver *bulkhead_tty;
static struct bulkhead_console *bulkhead_consoles[CONSOLES];
static unsigned int bulkhead_console_count;

static size_t bulkhead_console_peek(struct bulkhead_console *console, u8 *chunk)
{
	if (console->own)
		return bulkhead_ring_peek(&console->input, chunk, CHUNK);
	return bulkhead_recorder_peek(&console->output, chunk, CHUNK);
}

static void bulkhead_console_drop(struct bulkhead_console *console, size_t count)
{
	if (console->own)
		bulkhead_ring_drop(&console->input, count);
	else
		console->output.position += count;
}

/* Hands on what has come; what the tty has no room for stays for later. */
static void bulkhead_console_look(struct work_struct *work)
{
	struct bulkhead_console *console = container_of(to_delayed_work(work),
							struct bulkhead_console, look);
	size_t count, taken, budget = console->output.capacity / CHUNK + 1;
	u8 chunk[CHUNK];

	do {
		count = bulkhead_console_peek(console, chunk);
		taken = tty_insert_flip_string(&console->port, chunk, count);
		bulkhead_console_drop(console, taken);
	} while (count && taken == count && --budget);
	tty_flip_buffer_push(&console->port);
	schedule_delayed_work(&console->look, msecs_to_jiffies(BULKHEAD_POLL_MS));
}

static int bulkhead_console_activate(struct tty_port *port, struct tty_struct *tty)
{
	struct bulkhead_console *console = container_of(port, struct bulkhead_console, port);

	if (!console->own)
		bulkhead_recorder_rewind(&console->output);
	schedule_delayed_work(&console->look, 0);
	return 0;
}

static void bulkhead_console_shutdown(struct tty_port *port)
{
	cancel_delayed_work_sync(&container_of(port, struct bulkhead_console, port)->look);
}

static const struct tty_port_operations bulkhead_port_ops = {
	.activate = bulkhead_console_activate,
	.shutdown = bulkhead_console_shutdown,
};

static int bulkhead_tty_install(struct tty_driver *driver, struct tty_struct *tty)
{
	struct bulkhead_console *console = bulkhead_consoles[tty->index];
	int error = tty_port_install(&console->port, driver, tty);

	tty->driver_data = console;
	if (!error && console->own)
		tty->termios = tty_std_termios;	/* a person sits here */
	return error;
}

static int bulkhead_tty_open(struct tty_struct *tty, struct file *file)
{
	return tty_port_open(tty->port, tty, file);
}

static void bulkhead_tty_close(struct tty_struct *tty, struct file *file)
{
	tty_port_close(tty->port, tty, file);
}

static void bulkhead_tty_hangup(struct tty_struct *tty)
{
	tty_port_hangup(tty->port);
}

static size_t bulkhead_console_put(struct bulkhead_console *console, const u8 *bytes, size_t count)
{
	unsigned long flags;

	spin_lock_irqsave(&console->lock, flags);
	if (console->own)
		bulkhead_recorder_append(&console->output, bytes, count);
	else
		count = bulkhead_ring_push(&console->input, bytes, count);
	spin_unlock_irqrestore(&console->lock, flags);
	return count;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
static ssize_t bulkhead_tty_write(struct tty_struct *tty, const u8 *bytes, size_t count)
#else
static int bulkhead_tty_write(struct tty_struct *tty, const unsigned char *bytes, int count)
#endif
{
	return bulkhead_console_put(tty->driver_data, bytes, count);
}

static unsigned int bulkhead_tty_write_room(struct tty_struct *tty)
{
	struct bulkhead_console *console = tty->driver_data;

	return console->own ? CHUNK : bulkhead_ring_room(&console->input);
}

static const struct tty_operations bulkhead_tty_ops = {
	.install = bulkhead_tty_install,
	.open = bulkhead_tty_open,
	.close = bulkhead_tty_close,
	.hangup = bulkhead_tty_hangup,
	.write = bulkhead_tty_write,
	.write_room = bulkhead_tty_write_room,
};

static ssize_t partition_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct bulkhead_console *console = dev_get_drvdata(dev);

	return sysfs_emit(text, "%s\n", console->name);
}
static DEVICE_ATTR_RO(partition);

static struct attribute *bulkhead_console_attrs[] = { &dev_attr_partition.attr, NULL };
ATTRIBUTE_GROUPS(bulkhead_console);

static void bulkhead_tty_remove(void *unused)
{
	tty_unregister_driver(bulkhead_tty);
	tty_driver_kref_put(bulkhead_tty);
	bulkhead_tty = NULL;
}

/* The driver, made for the first console. Raw: the peers are no people. */
static int bulkhead_tty_add(struct device *dev)
{
	struct tty_driver *driver;
	int error;

	if (bulkhead_tty)
		return 0;
	driver = tty_alloc_driver(CONSOLES, TTY_DRIVER_REAL_RAW | TTY_DRIVER_DYNAMIC_DEV);
	if (IS_ERR(driver))
		return PTR_ERR(driver);
	driver->driver_name = "bulkhead";
	driver->name = "ttyBH";
	driver->type = TTY_DRIVER_TYPE_SERIAL;
	driver->subtype = SERIAL_TYPE_NORMAL;
	driver->init_termios = tty_std_termios;
	driver->init_termios.c_iflag = 0;
	driver->init_termios.c_oflag = 0;
	driver->init_termios.c_lflag = 0;
	tty_set_operations(driver, &bulkhead_tty_ops);
	error = tty_register_driver(driver);
	if (error) {
		tty_driver_kref_put(driver);
		return error;
	}
	bulkhead_tty = driver;
	return devm_add_action_or_reset(dev, bulkhead_tty_remove, NULL);
}

static void bulkhead_printk_write(struct console *printk, const char *text, unsigned int count)
{
	bulkhead_console_put(printk->data, (const u8 *)text, count);
}

static struct tty_driver *bulkhead_printk_device(struct console *printk, int *index)
{
	*index = printk->index;
	return bulkhead_tty;
}

static void bulkhead_printk_remove(void *printk)
{
	unregister_console(printk);
}

/* Enabled whatever the command line names: otherwise the messages would be lost. */
static int bulkhead_printk_add(struct device *dev, struct bulkhead_console *console, int index)
{
	struct console *printk = &console->printk;

	strscpy(printk->name, "ttyBH", sizeof(printk->name));
	printk->write = bulkhead_printk_write;
	printk->device = bulkhead_printk_device;
	printk->flags = CON_ENABLED | CON_PRINTBUFFER;
	printk->index = index;
	printk->data = console;
	register_console(printk);
	return devm_add_action_or_reset(dev, bulkhead_printk_remove, printk);
}

static void bulkhead_console_remove(void *data)
{
	struct bulkhead_console *console = data;

	tty_unregister_device(bulkhead_tty, --bulkhead_console_count);
	tty_port_destroy(&console->port);
}

static int bulkhead_console_register(struct device *dev, struct bulkhead_console *console)
{
	unsigned int index = bulkhead_console_count;
	struct device *tty;
	int error;

	tty_port_init(&console->port);
	console->port.ops = &bulkhead_port_ops;
	bulkhead_consoles[index] = console;
	tty = tty_port_register_device_attr(&console->port, bulkhead_tty, index, dev, console,
					    bulkhead_console_groups);
	if (IS_ERR(tty)) {
		tty_port_destroy(&console->port);
		return PTR_ERR(tty);
	}
	bulkhead_console_count++;
	error = devm_add_action_or_reset(dev, bulkhead_console_remove, console);
	if (error || !console->own)
		return error;
	return bulkhead_printk_add(dev, console, index);
}

static int bulkhead_console_map(struct device *dev, struct device_node *node,
				struct bulkhead_console *console)
{
	size_t size;
	void *memory;

	memory = bulkhead_map(dev, node, 0, &size);
	if (IS_ERR(memory))
		return PTR_ERR(memory);
	bulkhead_recorder_init(&console->output, memory, size);
	memory = bulkhead_map(dev, node, 1, &size);
	if (IS_ERR(memory))
		return PTR_ERR(memory);
	bulkhead_ring_init(&console->input, memory, size);
	if (console->own)
		bulkhead_recorder_resume(&console->output);
	return 0;
}

int bulkhead_console_add(struct device *dev, struct device_node *node)
{
	struct bulkhead_console *console;
	int error;

	if (bulkhead_console_count == CONSOLES)
		return -ENOSPC;
	console = devm_kzalloc(dev, sizeof(*console), GFP_KERNEL);
	if (!console)
		return -ENOMEM;
	console->name = bulkhead_string(dev, node, "bulkhead,name");
	if (!console->name)
		return -EINVAL;
	console->own = of_property_read_bool(node, "bulkhead,own");
	spin_lock_init(&console->lock);
	INIT_DELAYED_WORK(&console->look, bulkhead_console_look);
	error = bulkhead_console_map(dev, node, console) ?: bulkhead_tty_add(dev);
	return error ? error : bulkhead_console_register(dev, console);
}
