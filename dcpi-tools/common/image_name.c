#include "dcpi-tools/common/image_name.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "dcpi-tools/common/text.h"
#include "process/jit.h"

#define PREFIX_MIN   4 /* digits of a build-id that a user must give */
#define PREFIX_SHOWN 8

const char *
build_id_format(const struct image *image, char text[BUILD_ID_TEXT_SIZE])
{
	text[0] = '\0';
	for (size_t i = 0; i < image->build_id_size && i < BUILD_ID_SIZE_MAX; i++)
		snprintf(text + 2 * i, 3, "%02x", image->build_id[i]);
	return text;
}

struct titled {
	const struct image *image;
	size_t index;
};

static int
compare_paths(const void *a, const void *b)
{
	const struct titled *left = a, *right = b;

	return strcmp(left->image->path, right->image->path);
}

static char *
title_of(const struct image *image, bool is_alone)
{
	char build_id[BUILD_ID_TEXT_SIZE], *title;
	int length;

	if (is_alone || jit_is_image(image)) /* what processes of one name made is one (histogram.h) */
		return strdup(image->path);
	if (image->build_id_size)
		length = asprintf(&title, "%s (%.*s)", image->path, PREFIX_SHOWN, build_id_format(image, build_id));
	else
		length = asprintf(&title, "%s (inode %" PRIu64 ")", image->path, image->inode);
	return length < 0 ? NULL : title;
}

char **
image_titles(const struct selection *selection)
{
	size_t count = selection->image_count;
	struct titled *sorted = calloc(count + 1, sizeof(*sorted));
	char **titles = calloc(count + 1, sizeof(*titles));
	bool failed = !sorted || !titles;

	for (size_t i = 0; i < count && !failed; i++)
		sorted[i] = (struct titled){.image = selection->images[i].image, .index = i};
	if (!failed)
		qsort(sorted, count, sizeof(*sorted), compare_paths);
	for (size_t i = 0; i < count && !failed; i++) {
		bool is_alone = (i == 0 || compare_paths(&sorted[i - 1], &sorted[i]) != 0) &&
		                (i + 1 == count || compare_paths(&sorted[i], &sorted[i + 1]) != 0);

		titles[sorted[i].index] = title_of(sorted[i].image, is_alone);
		failed = !titles[sorted[i].index];
	}
	free(sorted);
	if (!failed)
		return titles;
	image_titles_free(titles, count);
	return NULL;
}

void
image_titles_free(char **titles, size_t count)
{
	for (size_t i = 0; titles && i < count; i++)
		free(titles[i]);
	free(titles);
}

/* "[ext4]" and "ext4.ko.xz" are the module ext4; "[kernel]" is kernel. */
static bool
matches_bare_name(const struct image *image, const char *pattern)
{
	const char *name = text_basename(image->path);
	char bare[NAME_MAX + 1];

	if (image->kind == IMAGE_USER)
		return false;
	name += name[0] == '[';
	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(name, "]."), name);
	return fnmatch(pattern, bare, 0) == 0;
}

static bool
matches_name(const struct image *image, const char *pattern, const char *resolved)
{
	const char *name = text_basename(image->path);

	if (strcmp(image->path, pattern) == 0 || strcmp(name, pattern) == 0)
		return true;
	if (resolved && strcmp(image->path, resolved) == 0)
		return true;
	if (fnmatch(pattern, image->path, 0) == 0 || fnmatch(pattern, name, 0) == 0)
		return true;
	return matches_bare_name(image, pattern);
}

static bool
matches_build_id(const struct image *image, const char *pattern)
{
	char build_id[BUILD_ID_TEXT_SIZE];
	size_t length = strlen(pattern);

	for (size_t i = 0; i < length; i++)
		if (!isxdigit((unsigned char)pattern[i]))
			return false;
	return length >= PREFIX_MIN && strncasecmp(build_id_format(image, build_id), pattern, length) == 0;
}

static size_t
match_build_ids(const struct selection *selection, const char *pattern, bool *wanted)
{
	size_t found = 0;

	for (size_t i = 0; i < selection->image_count; i++) {
		if (!matches_build_id(selection->images[i].image, pattern))
			continue;
		wanted[i] = true;
		found++;
	}
	return found;
}

size_t
images_match(const struct selection *selection, const char *pattern, bool *wanted)
{
	char *resolved = strchr(pattern, '/') ? realpath(pattern, NULL) : NULL;
	size_t found = 0;

	for (size_t i = 0; i < selection->image_count; i++) {
		if (!matches_name(selection->images[i].image, pattern, resolved))
			continue;
		wanted[i] = true;
		found++;
	}
	free(resolved);
	return found ? found : match_build_ids(selection, pattern, wanted);
}

const char *
image_suggest(const struct selection *selection, const char *pattern)
{
	const char **names = calloc(selection->image_count + 1, sizeof(*names));
	const char *wrong = text_basename(pattern), *found = NULL;

	if (!names)
		return NULL;
	for (size_t i = 0; i < selection->image_count; i++) {
		names[i] = text_basename(selection->images[i].image->path);
		if (!found && *wrong && strstr(names[i], wrong))
			found = names[i];
	}
	if (!found)
		found = suggest_name(wrong, names, selection->image_count);
	free(names);
	return found;
}
