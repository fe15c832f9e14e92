/* What the event loop says to the capturer: see capturer.h. */
#include "collectord/capturer_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

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

/* Not where packages put things. */
static bool
is_volatile(const struct image *image)
{
	static const char *const places[] = {"/usr/", "/lib", "/bin/", "/sbin/", "/opt/", "/snap/", "/nix/"};

	if (image->kind != IMAGE_USER)
		return false;
	if (image->deleted)
		return true;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strncmp(image->path, places[i], strlen(places[i])) == 0)
			return false;
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

		grown[set->count] = (struct capture_entry){
			.image = image,
			.is_wanted = is_wanted(image),
			.is_volatile = is_volatile(image),
		};
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
