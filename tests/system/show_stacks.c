/*
 * show_stacks - the call stacks that a database has
 *
 * show_stacks DIR COMM prints a line for each stack of the newest epoch that has any, of commands that match COMM: how
 * often it was sampled, and its frames, the innermost first, as PATH+OFFSET, with the offset in hexadecimal as
 * profile/stacks.h defines it, or as truncated:CAUSE. Samples count as they were taken, whatever they stand for.
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
	fprintf(stderr, "show_stacks: %s: %s\n", what, error_text(err));
	exit(1);
}

static void
print_frame(const struct selection *selection, const struct stack_node *node)
{
	if (node->image == STACK_NO_IMAGE)
		printf(" truncated:%s", stack_end_name((unsigned)node->offset));
	else
		printf(" %s+%" PRIx64, selection->images[node->image].image->path, node->offset);
}

int
main(int argc, char **argv)
{
	const struct profile_options options = {.write = false};
	struct selection_request request = {.stacks = true};
	struct profile *profile = NULL;
	struct selection *selection = NULL;
	char why[256] = "";

	if (argc != 3)
		return 2;
	request.comm = argv[2];
	require(profile_open(argv[1], &options, &profile), argv[1]);
	require(selection_read(profile, &request, &selection, why, sizeof(why)), why);
	for (size_t i = 0; i < selection->count_count; i++) {
		const struct selection_count *count = &selection->counts[i];
		const struct stack_node *nodes = selection->stacks.nodes;

		printf("%" PRIu64, count->taken);
		for (uint32_t at = (uint32_t)count->offset; at; at = nodes[at].caller)
			print_frame(selection, &nodes[at]);
		putchar('\n');
	}
	selection_free(selection);
	profile_close(profile);
	return 0;
}
