/* What the event loop says to the capturer: see capturer.h. */
#include "collectord/capturer_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "collectord/machine.h"
#include "process/image_table.h"

struct capture_set *
capturer_find_set(struct capturer *capturer, const struct image_table *images)
{
	struct capture_set *set = capturer->sets;

	while (set && set->images != images)
		set = set->next;
	return set;
}

static struct capture_set *
make_set(struct capturer *capturer, const struct image_table *images)
{
	struct capture_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->images = images;
	set->next = capturer->sets;
	capturer->sets = set;
	return set;
}

static bool
is_wanted(const struct image *image)
{
	switch (image->kind) {
	case IMAGE_USER:
		return image->path[0] == '/';
	case IMAGE_VDSO:
		return image->build_id_size > 0;
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
		return true;
	default:
		return false;
	}
}

/*
 * Is the file that was mapped another than ours of that path? A container has paths of its own, and an upgrade leaves
 * the old file without one. A file of ours that runs is in the kernel's cache of names: nothing else is looked at, so
 * that no file system that does not answer is waited for; what is not there is another's. Without an inode, or before
 * linux 5.12, nobody knows: false. *size is set when it is ours.
 */
static bool
is_elsewhere(const struct image *image, uint64_t *size)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED};
	struct statx status;
	int fd, err;

	if (image->inode == 0)
		return false;
	fd = (int)syscall(SYS_openat2, AT_FDCWD, image->path, &how, sizeof(how));
	if (fd < 0)
		return errno != EINVAL && errno != ENOSYS && errno != EPERM;
	err = statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_SIZE, &status);
	close(fd);
	if (err == 0 && status.stx_ino == image->inode)
		*size = status.stx_size;
	/* Devices cannot be compared: of a subvolume of btrfs the kernel's records and stat have different ones. */
	return err == 0 && status.stx_ino != image->inode;
}

/* Not where packages put things. *size as is_elsewhere() does. */
static bool
is_volatile(const struct image *image, uint64_t *size)
{
	static const char *const places[] = {"/usr/", "/lib", "/bin/", "/sbin/", "/opt/", "/snap/", "/nix/"};

	if (image->kind != IMAGE_USER || image_is_memory_file(image)) /* which may hold no program */
		return false;
	if (image->deleted)
		return true;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strncmp(image->path, places[i], strlen(places[i])) == 0)
			return is_elsewhere(image, size);
	return true;
}

static int
add_entries(struct capture_set *set, size_t count)
{
	struct capture_entry *grown = array_grow(set->entries, &set->capacity, count, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	set->entries = grown;
	for (; set->count < count; set->count++) {
		const struct image *image = image_table_get(set->images, (uint32_t)set->count);
		struct capture_entry *entry = &grown[set->count];

		*entry = (struct capture_entry){
			.image = image,
			.is_wanted = is_wanted(image),
			.asked_ns = machine_clock_ns(CLOCK_MONOTONIC),
		};
		entry->is_volatile = is_volatile(image, &entry->size);
		entry->is_packaged = !entry->is_volatile && !image_is_memory_file(image) && image->kind == IMAGE_USER;
	}
	return 0;
}

void
capturer_see(struct capturer *capturer, const struct image_table *images, const struct attribution *attribution)
{
	const size_t count = image_table_count(images);
	struct capture_set *set;
	bool is_new;

	pthread_mutex_lock(&capturer->lock);
	set = capturer_find_set(capturer, images);
	if (!set)
		set = make_set(capturer, images);
	is_new = set && set->count < count;
	if (is_new)
		(void)add_entries(set, count); /* without memory, the next time */
	for (size_t i = 0; set && i < set->count; i++)
		set->entries[i].place = attribution_place(attribution, (uint32_t)i);
	if (is_new)
		pthread_cond_broadcast(&capturer->changed);
	pthread_mutex_unlock(&capturer->lock);
}
