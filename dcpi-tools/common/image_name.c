#include "dcpi-tools/common/image_name.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text.h"
#include "dcpi-tools/common/shown_events.h"
#include "dcpi-tools/common/histogram.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "process/jit.h"

#define PREFIX_MIN    4 /* digits of a build-id that a user must give */
#define PREFIX_SHOWN  8
#define HOTTEST_NAMED 3 /* images that a complaint names */

const char *
build_id_text(const uint8_t *build_id, size_t size, char text[BUILD_ID_TEXT_SIZE])
{
	text[0] = '\0';
	for (size_t i = 0; i < size && i < BUILD_ID_SIZE_MAX; i++)
		snprintf(text + 2 * i, 3, "%02x", build_id[i]);
	return text;
}

const char *
build_id_format(const struct image *image, char text[BUILD_ID_TEXT_SIZE])
{
	return build_id_text(image->build_id, image->build_id_size, text);
}

struct image_titled {
	const struct image *image;
	size_t index;
};

static int
compare_paths(const void *a, const void *b)
{
	const struct image_titled *left = a, *right = b;

	return strcmp(left->image->path, right->image->path);
}

static char *
title_of(const struct image *image, bool is_alone)
{
	char build_id[BUILD_ID_TEXT_SIZE], *title;
	int length;

	if (is_alone || jit_is_image(image)) /* code of processes of one name is one row (histogram.h) */
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
	struct image_titled *sorted = calloc(count + 1, sizeof(*sorted));
	char **titles = calloc(count + 1, sizeof(*titles));
	bool failed = !sorted || !titles;

	for (size_t i = 0; i < count && !failed; i++)
		sorted[i] = (struct image_titled){.image = selection->images[i].image, .index = i};
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

/* What stands for all call stacks (image_table.h) is no image of which procedures could be shown. */
static bool
is_code(const struct selection *selection, size_t image)
{
	return selection->images[image].image->kind != IMAGE_STACKS;
}

size_t
images_match(const struct selection *selection, const char *pattern, bool *wanted)
{
	char *resolved = strchr(pattern, '/') ? realpath(pattern, NULL) : NULL;
	size_t found = 0;

	for (int by_build_id = 0; by_build_id <= 1 && !found; by_build_id++)
		for (size_t i = 0; i < selection->image_count; i++) {
			const struct image *image = selection->images[i].image;

			if (!is_code(selection, i))
				continue;
			if (by_build_id ? !matches_build_id(image, pattern) : !matches_name(image, pattern, resolved))
				continue;
			wanted[i] = true;
			found++;
		}
	free(resolved);
	return found;
}

const char *
image_suggest(const struct selection *selection, const char *pattern)
{
	const char **names = calloc(selection->image_count + 1, sizeof(*names));
	const char *wrong = text_basename(pattern), *found = NULL;
	size_t count = 0;

	if (!names)
		return NULL;
	for (size_t i = 0; i < selection->image_count; i++) {
		if (!is_code(selection, i))
			continue;
		names[count] = text_basename(selection->images[i].image->path);
		if (!found && *wrong && strstr(names[count], wrong))
			found = names[count];
		count++;
	}
	if (!found)
		found = suggest_name(wrong, names, count);
	free(names);
	return found;
}

/* "; the hottest images are A, B, C" */
static void
append_hottest(const struct selection *selection, char **titles, uint16_t event, FILE *text)
{
	struct histogram_request by_image = {.selection = selection, .image_titles = titles};
	struct shown_events shown_events = {.count = 1, .events = {event}};
	struct histogram histogram;
	size_t named = 0;

	if (histogram_make(&by_image, &histogram) < 0)
		return;
	histogram_sort(&histogram, &shown_events);
	for (size_t i = 0; i < histogram.row_count && named < HOTTEST_NAMED; i++) {
		if (!is_code(selection, histogram.rows[i].image))
			continue;
		fputs(named++ ? ", " : "; the hottest images are ", text);
		text_print(histogram.rows[i].image_title, text);
	}
	histogram_fini(&histogram);
}

static void
complain(const struct selection *selection, char **titles, uint16_t event, const char *pattern)
{
	const char *near = image_suggest(selection, pattern);
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return;
	fputs("no image with samples is called that", stream);
	if (near) {
		fputs("; did you mean ", stream);
		text_print(near, stream);
		fputc('?', stream);
	} else {
		append_hottest(selection, titles, event, stream);
	}
	fclose(stream);
	message_print(pattern, "%s", text);
	free(text);
}

int
images_choose(const struct selection *selection, char **titles, const struct image_request *request, bool **wanted)
{
	*wanted = NULL;
	if (request->count == 0)
		return 0;
	*wanted = calloc(selection->image_count + 1, sizeof(**wanted));
	if (!*wanted)
		return message_cannot(NULL, "choose the images", -ENOMEM, NULL);
	for (size_t i = 0; i < request->count; i++) {
		if (images_match(selection, request->patterns[i], *wanted) > 0)
			continue;
		complain(selection, titles, request->event, request->patterns[i]);
		free(*wanted);
		*wanted = NULL;
		return STATUS_EMPTY;
	}
	return 0;
}

int
images_ask(const struct selection *selection, const struct image_request *request, char ***titles, bool **wanted)
{
	*wanted = NULL;
	*titles = image_titles(selection);
	if (!*titles)
		return message_cannot(NULL, "name the images", -ENOMEM, NULL);
	return images_choose(selection, *titles, request, wanted);
}
