// SPDX-License-Identifier: GPL-2.0
/*
 * Windows: shared memory as character devices
 *
 * The memory is mapped as Linux maps its own: normal, write-back, shareable,
 * so that both sides of a channel see each other through the caches. An event
 * is a doorbell, or a change of a page that is looked at; read(2) gives the
 * number of events since the last read of this open file as 8 bytes, and
 * blocks while there is none, like an eventfd.
 */
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "bulkhead.h"

struct bulkhead_file {
	struct bulkhead_window *window;
	u64 seen;
};

static u64 bulkhead_pending(const struct bulkhead_file *open)
{
	return (u64)atomic64_read(&open->window->events) - open->seen;
}

/* Counts an open in; the kind's own open runs once, for the first. */
static int bulkhead_enter(struct bulkhead_window *window, bool write)
{
	int error = 0;

	mutex_lock(&window->lock);
	if (write && window->read_only)
		error = -EACCES;
	else if (write && window->writable_open)
		error = -EBUSY;
	else if (!window->opens && window->ops->open)
		error = window->ops->open(window);
	if (!error) {
		window->opens++;
		window->writable_open |= write;
	}
	mutex_unlock(&window->lock);
	return error;
}

static void bulkhead_leave(struct bulkhead_window *window, bool write)
{
	mutex_lock(&window->lock);
	if (write)
		window->writable_open = false;
	if (!--window->opens && window->ops->close)
		window->ops->close(window);
	mutex_unlock(&window->lock);
}

static int bulkhead_open(struct inode *inode, struct file *file)
{
	/* The misc core leaves its device in private_data. */
	struct bulkhead_window *window = container_of(file->private_data,
						      struct bulkhead_window, misc);
	struct bulkhead_file *open;
	int error;

	open = kzalloc(sizeof(*open), GFP_KERNEL);
	if (!open)
		return -ENOMEM;
	error = bulkhead_enter(window, file->f_mode & FMODE_WRITE);
	if (error) {
		kfree(open);
		return error;
	}
	open->window = window;
	open->seen = atomic64_read(&window->events);
	file->private_data = open;
	return nonseekable_open(inode, file);
}

static int bulkhead_release(struct inode *inode, struct file *file)
{
	struct bulkhead_file *open = file->private_data;

	bulkhead_leave(open->window, file->f_mode & FMODE_WRITE);
	kfree(open);
	return 0;
}

/*
 * Private mappings would copy what must be shared. An open for reading alone
 * has lost VM_MAYWRITE by now, so it cannot be made writable later.
 */
static int bulkhead_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct bulkhead_file *open = file->private_data;
	struct bulkhead_window *window = open->window;

	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	return vm_iomap_memory(vma, window->base, window->size);
}

static ssize_t bulkhead_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct bulkhead_file *open = file->private_data;
	u64 count;
	int error;

	if (size < sizeof(count))
		return -EINVAL;
	if (!bulkhead_pending(open)) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		error = wait_event_interruptible(open->window->wait, bulkhead_pending(open));
		if (error)
			return error;
	}
	count = bulkhead_pending(open);
	if (copy_to_user(to, &count, sizeof(count)))
		return -EFAULT;
	open->seen += count;
	return sizeof(count);
}

static ssize_t bulkhead_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct bulkhead_file *open = file->private_data;
	int error = -EOPNOTSUPP;

	if (open->window->ops->ring)
		error = open->window->ops->ring(open->window);
	return error ? error : size;
}

static __poll_t bulkhead_poll(struct file *file, struct poll_table_struct *table)
{
	struct bulkhead_file *open = file->private_data;
	__poll_t ready = open->window->ops->ring ? EPOLLOUT | EPOLLWRNORM : 0;

	poll_wait(file, &open->window->wait, table);
	if (bulkhead_pending(open))
		ready |= EPOLLIN | EPOLLRDNORM;
	return ready;
}

static const struct file_operations bulkhead_fops = {
	.owner = THIS_MODULE,
	.open = bulkhead_open,
	.release = bulkhead_release,
	.mmap = bulkhead_mmap,
	.read = bulkhead_read,
	.write = bulkhead_write,
	.poll = bulkhead_poll,
};

/* From any context: something happened to the window. */
void bulkhead_window_event(struct bulkhead_window *window)
{
	atomic64_inc(&window->events);
	wake_up_interruptible(&window->wait);
}

static void bulkhead_window_remove(void *window)
{
	misc_deregister(&((struct bulkhead_window *)window)->misc);
}

/*
 * Makes /dev/bulkhead/NAME of a channel, /dev/bulkhead-KIND/NAME of others.
 * base, size, read_only and ops are set; everything else is filled in here.
 */
int bulkhead_window_add(struct bulkhead_window *window, const char *kind, const char *name,
			const struct attribute_group **groups)
{
	struct device *dev = window->dev;
	bool is_channel = !strcmp(kind, "channel");
	int error;

	mutex_init(&window->lock);
	init_waitqueue_head(&window->wait);
	window->misc.minor = MISC_DYNAMIC_MINOR;
	window->misc.fops = &bulkhead_fops;
	window->misc.groups = groups;
	window->misc.parent = dev;
	window->misc.mode = 0600;
	window->misc.name = devm_kasprintf(dev, GFP_KERNEL, "bulkhead-%s-%s", kind, name);
	window->misc.nodename = is_channel ?
		devm_kasprintf(dev, GFP_KERNEL, "bulkhead/%s", name) :
		devm_kasprintf(dev, GFP_KERNEL, "bulkhead-%s/%s", kind, name);
	if (!window->misc.name || !window->misc.nodename)
		return -ENOMEM;
	error = misc_register(&window->misc);
	if (error)
		return error;
	return devm_add_action_or_reset(dev, bulkhead_window_remove, window);
}

/* Whole pages that are not Linux's own RAM. */
bool bulkhead_is_shareable(phys_addr_t base, size_t size)
{
	return size && PAGE_ALIGNED(base) && PAGE_ALIGNED(size) && base + size > base &&
	       region_intersects(base, size, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) ==
	       REGION_DISJOINT;
}
