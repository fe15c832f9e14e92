/*
 * stack_list.c - the call stacks of a database, for tests/system/stacks.sh
 *
 * stack_list DIR EPOCH [COMM]: a line for each stack that was sampled, of commands that match the pattern COMM: the
 * samples, a tab, and the frames from the outermost to the innermost, separated by `;`. A frame in a file is
 * FILE`FUNCTION, else the image's name. A stack that could not be unwound begins with `!` and the cause
 * (process/stack_table.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/image_file.h"
#include "image/symbols.h"
#include "profile/profile.h"
#include "profile/selection.h"

#define FRAMES_MAX 4096

static struct symbol_table **tables; /* by index of the selection's images */
static bool *tried;

static const struct symbol *
find_symbol(const struct selection *selection, uint32_t image, uint64_t offset)
{
	struct image_file *file;

	if (!tried[image] && image_file_open(selection->images[image].image, &file) == 0) {
		if (symbol_table_from_file(file, &tables[image]))
			tables[image] = NULL;
		image_file_close(file);
	}
	tried[image] = true;
	return tables[image] ? symbol_table_find(tables[image], offset) : NULL;
}

static void
print_frame(const struct selection *selection, const struct stack_node *node)
{
	const char *path, *slash;
	const struct symbol *symbol;

	if (node->image == STACK_NO_IMAGE) {
		printf("!%s", stack_end_name((unsigned)node->offset));
		return;
	}
	path = selection->images[node->image].image->path;
	slash = strrchr(path, '/');
	symbol = find_symbol(selection, node->image, node->offset);
	printf("%s", slash ? slash + 1 : path);
	if (symbol && symbol->name)
		printf("`%s", symbol->name);
	else if (slash)
		printf("`%#" PRIx64, node->offset);
}

static void
print_stack(const struct selection *selection, const struct selection_count *count)
{
	uint32_t frames[FRAMES_MAX];
	size_t depth = 0;

	for (uint32_t at = (uint32_t)count->offset; at && depth < FRAMES_MAX; at = selection->stacks.nodes[at].caller)
		frames[depth++] = at;
	printf("%" PRIu64 "\t", count->count);
	while (depth-- > 0) {
		print_frame(selection, &selection->stacks.nodes[frames[depth]]);
		putchar(depth ? ';' : '\n');
	}
}

int
main(int argc, char **argv)
{
	const struct selection_request request = {
		.epoch = argc > 2 ? argv[2] : "all", .stacks = true, .comm = argc > 3 ? argv[3] : NULL};
	struct selection *selection;
	struct profile *profile;
	char why[256] = "";
	int err;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "stack_list DIR EPOCH [COMM]\n");
		return 2;
	}
	err = profile_open(argv[1], &(struct profile_options){0}, &profile);
	if (!err)
		err = selection_read(profile, &request, &selection, why, sizeof(why));
	if (err) {
		fprintf(stderr, "stack_list: %s: %s\n", argv[1], why[0] ? why : error_text(err));
		return 1;
	}
	tables = calloc(selection->image_count + 1, sizeof(struct symbol_table *));
	tried = calloc(selection->image_count + 1, sizeof(*tried));
	if (!tables || !tried)
		return 1;
	for (size_t i = 0; i < selection->count_count; i++)
		print_stack(selection, &selection->counts[i]);
	for (size_t i = 0; i < selection->image_count; i++)
		symbol_table_free(tables[i]);
	free(tables);
	free(tried);
	selection_free(selection);
	profile_close(profile);
	return 0;
}
