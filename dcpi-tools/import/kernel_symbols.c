#include "dcpi-tools/import/kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/build_id.h"
#include "profile/kernel_names.h"

#define NOTES_SIZE_MAX 65536

/* Has the part of the kernel whose notes are in the file `path` this build-id? */
static bool
has_build_id(const char *path, const struct image *image)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), found = 0;
	uint8_t build_id[BUILD_ID_SIZE_MAX], *notes;
	ssize_t size = 0;

	if (fd < 0)
		return false;
	notes = malloc(NOTES_SIZE_MAX);
	do
		size = notes ? read(fd, notes, NOTES_SIZE_MAX) : 0;
	while (size < 0 && errno == EINTR);
	if (size > 0)
		found = build_id_from_notes(notes, (size_t)size, build_id);
	free(notes);
	close(fd);
	return found > 0 && found == image->build_id_size && memcmp(build_id, image->build_id, (size_t)found) == 0;
}

static bool
runs_here(const struct image *image)
{
	const int name_size = (int)strlen(image->path) - 2; /* of "[ext4]" */
	char path[PATH_MAX];

	if (image->build_id_size == 0)
		return false;
	if (image->kind == IMAGE_KERNEL)
		return has_build_id("/sys/kernel/notes", image);
	if (image->kind != IMAGE_MODULE || name_size <= 0 || strchr(image->path, '/'))
		return false;
	if (snprintf(path, sizeof(path), "/sys/module/%.*s/notes/.note.gnu.build-id", name_size, image->path + 1) >=
	    (int)sizeof(path))
		return false;
	return has_build_id(path, image);
}

void
kernel_symbols_store(struct profile *profile, const struct image *images, uint32_t count)
{
	struct kernel_names_image *parts = calloc((size_t)count + 1, sizeof(*parts));
	size_t part_count = 0;

	for (uint32_t i = 0; parts && i < count; i++)
		if (runs_here(&images[i]) && !profile_has_symbols(profile, i))
			parts[part_count++] = (struct kernel_names_image){.number = i, .image = &images[i]};
	if (part_count > 0)
		kernel_names_store(profile, "/proc", NULL, parts, part_count);
	free(parts);
}
