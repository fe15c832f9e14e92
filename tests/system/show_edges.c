/*
 * show_edges - the edges that a database has of an image
 *
 * show_edges DIR EVENT IMAGE prints "FROM TO COUNT" a line, offsets in hexadecimal, of the newest epoch that has any of
 * the image whose path ends with /IMAGE.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/edges.h"
#include "profile/selection.h"

static void
require(int err, const char *what)
{
	if (err == 0)
		return;
	fprintf(stderr, "show_edges: %s: %s\n", what, error_text(err));
	exit(1);
}

static uint32_t
find_image(struct profile *profile, const char *name)
{
	const struct selection_request request = {.epoch = "all"};
	struct selection *selection = NULL;
	char why[256] = "";
	uint32_t number = 0;

	require(selection_read(profile, &request, &selection, why, sizeof(why)), why);
	for (size_t i = 0; selection && i < selection->image_count; i++) {
		const char *slash = strrchr(selection->images[i].image->path, '/');

		if (slash && strcmp(slash + 1, name) == 0)
			number = selection->images[i].number;
	}
	selection_free(selection);
	return number;
}

int
main(int argc, char **argv)
{
	const struct profile_options options = {.write = false};
	struct profile *profile = NULL;
	struct edge_set set;

	if (argc != 4)
		return 2;
	require(profile_open(argv[1], &options, &profile), argv[1]);
	require(edges_read(profile, find_image(profile, argv[3]), argv[2], &set), argv[3]);
	for (size_t i = 0; i < set.count; i++)
		printf("%" PRIx64 " %" PRIx64 " %" PRIu64 "\n", set.edges[i].from, set.edges[i].to, set.edges[i].count);
	edge_set_fini(&set);
	profile_close(profile);
	return 0;
}
