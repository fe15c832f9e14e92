/* Images and commands as they come and go. */
#include "bench/year/year.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

static uint32_t
add_image(struct year_bench *bench, size_t image)
{
	struct image *new = &bench->new_images[bench->new_image_count++];
	char *path = NULL;

	if (asprintf(&path, "/usr/lib/fleet/libservice%zu.so", image) < 0)
		bench_require(-ENOMEM, "name");
	*new = (struct image){.kind = IMAGE_USER, .build_id_size = 20, .path = path};
	memcpy(new->build_id, &image, sizeof(image));
	memcpy(new->build_id + 8, &bench->builds[image], sizeof(int));
	return bench->image_count++;
}

/* A command that goes on all year, or one of an hour. */
static uint32_t
add_context(struct year_bench *bench, size_t command, int64_t hour)
{
	struct context *new = &bench->new_contexts[bench->new_context_count++];
	char *comm = NULL, *cgroup = NULL;
	int made;

	if (command < COMMANDS)
		made = asprintf(&comm, "service%zu", command);
	else
		made = asprintf(&comm, "job%lld", (long long)hour * SHORT_COMMANDS + (long long)command);
	if (made < 0 || asprintf(&cgroup, "/system.slice/%s.service", command < COMMANDS ? comm : "batch") < 0)
		bench_require(-ENOMEM, "name");
	*new = (struct context){.comm = comm, .cgroup = cgroup, .label = ""};
	return bench->context_count++;
}

void
begin_session(struct year_bench *bench)
{
	bench->image_count = bench->context_count = 0;
	bench->sorted_stale = true;
	for (size_t i = 0; i < IMAGES; i++)
		bench->image_numbers[i] = add_image(bench, i);
	for (size_t i = 0; i < COMMANDS; i++)
		bench->command_numbers[i] = add_context(bench, i, 0);
	for (size_t i = 0; i < HOURS; i++)
		bench->hours[i] = -1;
}

const uint32_t *
short_commands(struct year_bench *bench, int64_t hour)
{
	uint32_t *numbers = bench->short_numbers[hour % HOURS];

	if (bench->hours[hour % HOURS] == hour)
		return numbers;
	bench->hours[hour % HOURS] = hour;
	for (size_t i = 0; i < SHORT_COMMANDS; i++)
		numbers[i] = add_context(bench, COMMANDS + i, hour);
	return numbers;
}

void
deploy(struct year_bench *bench, uint64_t ns)
{
	for (size_t i = 0; i < IMAGES; i++) {
		int build = (int)((ns / DAY_NS + i % WEEK) / WEEK);

		if (build == bench->builds[i])
			continue;
		bench->builds[i] = build;
		bench->sorted_stale = true;
		bench->image_numbers[i] = add_image(bench, i);
	}
}

void
forget_new(struct year_bench *bench)
{
	for (size_t i = 0; i < bench->new_image_count; i++)
		free((char *)bench->new_images[i].path);
	for (size_t i = 0; i < bench->new_context_count; i++) {
		free((char *)bench->new_contexts[i].comm);
		free((char *)bench->new_contexts[i].cgroup);
	}
	bench->new_image_count = bench->new_context_count = 0;
}

uint64_t
offset_of(const struct year_bench *bench, const struct key *key)
{
	return (key->offset + (uint64_t)bench->builds[key->image] * 5003 * 4) % (UINT64_C(2000) << 12);
}
