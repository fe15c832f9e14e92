#include "collectord/unnamed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

static bool
wants_names(struct profile *profile, const struct image *image, uint32_t number)
{
	return image_is_of_kernel(image) && !profile_has_symbols(profile, number);
}

/* Was there only no room for the names, for now? */
static bool
may_be_named_later(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -DCPI_EFULL || err == -EIO || err == -ENOMEM ||
	       err == -EMFILE || err == -ENFILE;
}

/* Add the new images to those that are still without names. */
static int
collect(struct unnamed *unnamed, struct profile *profile, const struct image *const *images, uint32_t first,
        uint32_t count)
{
	struct kernel_names_image *grown =
		reallocarray(unnamed->images, unnamed->count + count + 1, sizeof(*unnamed->images));

	if (!grown)
		return -ENOMEM;
	unnamed->images = grown;
	for (uint32_t i = 0; i < count; i++)
		if (wants_names(profile, images[i], first + i))
			grown[unnamed->count++] = (struct kernel_names_image){.number = first + i, .image = images[i]};
	return 0;
}

static void
tell(struct kernel_names_image *image, const struct log *log)
{
	if (!image->is_told)
		log_write(log, LOG_LEVEL_WARNING, "%s: its functions stay without names%s: %s", image->image->path,
		          may_be_named_later(image->err) ? " for now" : "", error_text(image->err));
	image->is_told = true;
}

/* Store the names of all; how many are to be tried again. Modules that came after `symbols` were read are. */
static size_t
store_all(struct unnamed *unnamed, struct profile *profile, const struct kallsyms_copy *symbols, const struct log *log)
{
	size_t left = 0;

	kernel_names_store(profile, "/proc", symbols, unnamed->images, unnamed->count);
	for (size_t i = 0; i < unnamed->count; i++) {
		struct kernel_names_image *image = &unnamed->images[i];
		const bool came_later = symbols && image->err == -ENOENT;

		if (image->err && !came_later)
			tell(image, log);
		if (came_later || may_be_named_later(image->err))
			unnamed->images[left++] = *image;
	}
	return left;
}

static void
forget_symbols(struct unnamed *unnamed)
{
	kallsyms_copy_free(unnamed->symbols);
	unnamed->symbols = NULL;
}

void
unnamed_store(struct unnamed *unnamed, struct profile *profile, const struct image *const *images, uint32_t first,
              uint32_t count, const struct log *log)
{
	const bool from_copy = unnamed->symbols;

	if (collect(unnamed, profile, images, first, count) == 0 && unnamed->count > 0)
		unnamed->count = store_all(unnamed, profile, unnamed->symbols, log);
	forget_symbols(unnamed);
	/* Not at the next flush: a module that came after the copy was made may be gone by then. */
	if (from_copy && unnamed->count > 0)
		unnamed->count = store_all(unnamed, profile, NULL, log);
}

void
unnamed_fini(struct unnamed *unnamed)
{
	free(unnamed->images);
	forget_symbols(unnamed);
	*unnamed = (struct unnamed){0};
}
