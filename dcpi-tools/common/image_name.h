/*
 * image_name.h - the names of images in a report, and the images that the user selected
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMAGE_NAME_H
#define DCPI_TOOLS_IMAGE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/selection.h"

#define BUILD_ID_TEXT_SIZE (2 * BUILD_ID_SIZE_MAX + 1)

/* The build-id as hexadecimal digits into `text`, which it returns; "" when there is none. */
const char *build_id_text(const uint8_t *build_id, size_t size, char text[BUILD_ID_TEXT_SIZE]);
const char *build_id_format(const struct image *image, char text[BUILD_ID_TEXT_SIZE]);

/*
 * The name of each image of the selection: its path, followed by the beginning of its build-id (or by its inode) if two
 * images have one path. An array as long as selection->images; free it with image_titles_free(). NULL when memory ends.
 */
char **image_titles(const struct selection *selection);
void image_titles_free(char **titles, size_t count);

/*
 * Mark in `wanted` (as long as selection->images, not cleared here) all images that match `pattern`: by path, by file
 * name, for the kernel and modules also without brackets and .ko, or by an fnmatch(3) pattern for any of these; by a
 * path that leads to the file; if none matches, by the first four or more digits of the build-id. Returns how many.
 */
size_t images_match(const struct selection *selection, const char *pattern, bool *wanted);

/* A file name in the selection that looks like `pattern`, NULL when none does; owned by the selection. */
const char *image_suggest(const struct selection *selection, const char *pattern);

struct image_request {
	const char *const *patterns; /* for images_match() */
	size_t count;                /* 0: all images */
	uint16_t event;              /* "hottest" is by this event */
};

/*
 * 0 with *wanted: by image whether it matches a pattern (the caller frees it), NULL for all. An exit status after a
 * message when a pattern matches no image: it names a similar image, or else the hottest ones.
 */
int images_choose(const struct selection *selection, char **titles, const struct image_request *request, bool **wanted);

/*
 * image_titles() and images_choose() in one: 0, or an exit status after a message. In both cases *titles, NULL or for
 * image_titles_free(), and *wanted are the caller's.
 */
int images_ask(const struct selection *selection, const struct image_request *request, char ***titles, bool **wanted);

#endif
