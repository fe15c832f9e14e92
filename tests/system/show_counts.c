/*
 * show_counts - what a database has counted of an image
 *
 * show_counts DIR EVENT IMAGE prints "OFFSET COUNT" a line, offsets in hexadecimal, of all epochs together, of the
 * images whose path ends with /IMAGE.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/selection.h"

static void
require(int err, const char *what)
{
	if (err == 0)
		return;
	fprintf(stderr, "show_counts: %s: %s\n", what, error_text(err));
	exit(1);
}

static bool
is_called(const struct selection_image *image, const char *name)
{
	const char *slash = strrchr(image->image->path, '/');

	return slash && strcmp(slash + 1, name) == 0;
}

int
main(int argc, char **argv)
{
	const struct profile_options options = {.write = false};
	const struct selection_request request = {.epoch = "all"};
	struct selection *selection = NULL;
	struct profile *profile = NULL;
	char why[256] = "";

	if (argc != 4)
		return 2;
	require(profile_open(argv[1], &options, &profile), argv[1]);
	require(selection_read(profile, &request, &selection, why, sizeof(why)), why);
	for (size_t i = 0; selection && i < selection->count_count; i++) {
		const struct selection_count *count = &selection->counts[i];

		if (is_called(&selection->images[count->image], argv[3]) &&
		    strcmp(selection->events[count->event].name, argv[2]) == 0)
			printf("%" PRIx64 " %" PRIu64 "\n", count->offset, count->count);
	}
	selection_free(selection);
	profile_close(profile);
	return 0;
}
