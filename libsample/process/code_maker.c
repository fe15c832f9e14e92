#include "process/code_maker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BASE_SIZE (UINT64_C(2) << 20) /* programs tend to reserve multiples of it */

struct code_makers {
	struct mapped_images *images;
	struct process_table *processes;
	uint64_t generation; /* the last that was given */
	size_t count;
	struct code_maker waiting[CODE_MAKERS_MAX];
};

struct code_makers *
code_makers_new(struct mapped_images *images, struct process_table *processes)
{
	struct code_makers *makers = calloc(1, sizeof(*makers));
	struct timespec now;

	if (!makers)
		return NULL;
	makers->images = images;
	makers->processes = processes;
	/* above all that were given before: one a nanosecond is more than there ever are */
	clock_gettime(CLOCK_REALTIME, &now);
	makers->generation = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return makers;
}

void
code_makers_free(struct code_makers *makers)
{
	if (!makers)
		return;
	for (size_t i = 0; i < makers->count; i++)
		free(makers->waiting[i].jitdump);
	free(makers);
}

bool
code_makers_take(struct code_makers *makers, struct code_maker *maker)
{
	if (makers->count == 0)
		return false;
	*maker = makers->waiting[--makers->count];
	return true;
}

static void
find_ancestors(struct code_makers *makers, const struct process *process, struct code_maker *maker)
{
	while (process && process->parent != 0 && maker->ancestor_count < CODE_MAKER_ANCESTORS) {
		maker->ancestors[maker->ancestor_count++] = process->parent;
		process = process_find(makers->processes, process->parent);
	}
}

/* One that finds no place stays without names. */
static void
tell(struct code_makers *makers, const struct process *process)
{
	struct code_maker maker = {
		.pid = process->pid,
		.generation = process->code_generation,
		.base = process->code_base,
		.begun_ns = process->begun_ns,
	};

	if (makers->count == CODE_MAKERS_MAX)
		return;
	find_ancestors(makers, process, &maker);
	if (process->jitdump)
		maker.jitdump = strdup(process->jitdump); /* without memory its code has no name */
	makers->waiting[makers->count++] = maker;
}

static bool
is_jitdump(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t length = strlen(name);

	return strncmp(name, "jit-", 4) == 0 && length > 9 && strcmp(name + length - 5, ".dump") == 0;
}

int
code_makers_map(struct code_makers *makers, struct process *process, const char *path)
{
	char *copy;

	if (!path || path[0] != '/' || !is_jitdump(path))
		return 0;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	free(process->jitdump);
	process->jitdump = copy;
	if (process->code)
		tell(makers, process);
	return 0;
}

bool
code_makers_want(const struct mapped_image *image)
{
	return mapped_image_kind(image) == IMAGE_ANON && strcmp(mapped_image_path(image), "[anon]") == 0;
}

static int
begin(struct code_makers *makers, struct process *process, uint64_t start)
{
	char path[COMM_SIZE + 8];
	struct image image = {.kind = IMAGE_JIT, .inode = process->pid, .path = path};

	snprintf(path, sizeof(path), process->comm[0] ? "[jit:%s]" : "[jit]", process->comm);
	image.inode_generation = ++makers->generation;
	process->code = mapped_image_get(makers->images, &image);
	if (!process->code)
		return -ENOMEM;
	process->code_generation = image.inode_generation;
	if (process->code_base == 0)
		process->code_base = start & ~(BASE_SIZE - 1);
	tell(makers, process);
	return 0;
}

struct mapped_image *
code_makers_image(struct code_makers *makers, struct process *process, uint64_t start, uint64_t address,
                  uint64_t *offset)
{
	if (!process->code && begin(makers, process, start))
		return NULL;
	*offset = (address - process->code_base) & (CODE_MAKER_SPAN - 1);
	return process->code;
}

void
code_makers_renew(struct code_makers *makers, uint32_t pid, uint64_t generation)
{
	struct process *process = process_find(makers->processes, pid);

	if (!process || !process->code || process->code_generation != generation)
		return;
	mapped_image_release(process->code);
	process->code = NULL;
}
