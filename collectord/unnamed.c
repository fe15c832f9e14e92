#include "collectord/unnamed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

static bool
wants_names(struct profile *profile, const struct image *image, uint32_t number)
{
	return (image->kind == IMAGE_KERNEL || image->kind == IMAGE_MODULE) && !profile_has_symbols(profile, number);
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
			grown[unnamed->count++] = (struct kernel_names_image){first + i, images[i], 0};
	return 0;
}

void
unnamed_store(struct unnamed *unnamed, struct profile *profile, const struct image *const *images, uint32_t first,
              uint32_t count, const struct log *log)
{
	const size_t known = unnamed->count;
	size_t left = 0;

	if (collect(unnamed, profile, images, first, count) || unnamed->count == 0)
		return;
	kernel_names_store(profile, "/proc", unnamed->images, unnamed->count);
	for (size_t i = 0; i < unnamed->count; i++) {
		const struct kernel_names_image image = unnamed->images[i];

		if (image.err && i >= known)
			log_write(log, LOG_LEVEL_WARNING, "%s: its functions stay without names%s: %s",
			          image.image->path, may_be_named_later(image.err) ? " for now" : "",
			          error_text(image.err));
		if (may_be_named_later(image.err))
			unnamed->images[left++] = image;
	}
	unnamed->count = left;
}

void
unnamed_fini(struct unnamed *unnamed)
{
	free(unnamed->images);
	*unnamed = (struct unnamed){0};
}
