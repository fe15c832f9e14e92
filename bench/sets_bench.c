/*
 * sets_bench - a database of 200 labels, 50 epochs and 2,000 images, for dcpistats to compare eight labels of
 *
 * In every epoch each label has samples in SHARE of the images, in three offsets of a block of each: with 2000, all of
 * them, 20 million blocks. A run of a program has some 40. Made is DIRECTORY/db; `dcpistats --db DIRECTORY/db --label
 * 'label10[0-7]'` is what to measure then.
 * Usage: sets_bench DIRECTORY [SHARE]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "profile/profile.h"

#define LABELS    200
#define EPOCHS    50
#define IMAGES    2000
#define OFFSETS   3
#define SECOND_NS UINT64_C(1000000000)
#define HOUR_NS   (3600 * SECOND_NS)
#define START_NS  (UINT64_C(1795271400) * SECOND_NS)
#define SIZE      (UINT64_C(16) << 30)

struct sets_bench {
	struct profile *profile;
	struct image images[IMAGES];
	const struct image *image_list[IMAGES];
	char paths[IMAGES][32];
	struct context contexts[LABELS];
	const struct context *context_list[LABELS];
	char labels[LABELS][16];
	struct tally_entry *entries; /* of an epoch */
	size_t share;
};

static void
make_names(struct sets_bench *bench)
{
	for (unsigned i = 0; i < IMAGES; i++) {
		snprintf(bench->paths[i], sizeof(bench->paths[i]), "/usr/lib/libbench%u.so", i);
		bench->images[i] = (struct image){.kind = IMAGE_USER, .build_id_size = 20, .path = bench->paths[i]};
		memcpy(bench->images[i].build_id, &i, sizeof(i));
		bench->image_list[i] = &bench->images[i];
	}
	for (unsigned i = 0; i < LABELS; i++) {
		snprintf(bench->labels[i], sizeof(bench->labels[i]), "label%u", i);
		bench->contexts[i] = (struct context){.comm = "bench", .cgroup = "/", .label = bench->labels[i]};
		bench->context_list[i] = &bench->contexts[i];
	}
}

/* Entries as tally_sort() gives them: by event, image, context and offset. */
static size_t
fill_entries(struct sets_bench *bench, unsigned epoch)
{
	size_t count = 0;

	for (uint32_t image = 0; image < IMAGES; image++) {
		for (uint32_t label = 0; label < LABELS; label++) {
			/* neighbouring labels have other images; a label has equal images in all epochs */
			if ((image + label * 7) % IMAGES >= bench->share)
				continue;
			for (uint64_t i = 0; i < OFFSETS; i++, count++)
				bench->entries[count] = (struct tally_entry){
					.image = image,
					.context = label,
					.offset = 0x1000 + 64 * i,
					.count = 1 + (image * 31 + label + epoch + i) % 17,
				};
		}
	}
	return count;
}

static void
add_epoch(struct sets_bench *bench, unsigned number)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	struct slice slice = {.event_count = 1};
	struct profile_batch batch = {
		.entries = bench->entries,
		.first_image = number ? IMAGES : 0,
		.image_count = number ? 0 : IMAGES,
		.images = bench->image_list,
		.first_context = number ? LABELS : 0,
		.context_count = number ? 0 : LABELS,
		.contexts = bench->context_list,
		.slice = &slice,
	};

	if (!epoch)
		abort();
	epoch->start_ns = epoch->end_ns = START_NS + number * HOUR_NS;
	epoch->cpu_count = 2;
	epoch->event_count = 1;
	snprintf(epoch->events[0].name, sizeof(epoch->events[0].name), "cpu-clock");
	snprintf(epoch->events[0].encoding.unit, sizeof(epoch->events[0].encoding.unit), "ns");
	epoch->events[0].period = 1000000;
	epoch->events[0].available = true;
	bench_require(profile_begin_epoch(bench->profile, epoch), "epoch");
	batch.entry_count = fill_entries(bench, number);
	for (size_t i = 0; i < batch.entry_count; i++)
		slice.events[0].samples += bench->entries[i].count;
	slice.epoch = epoch->id;
	slice.start_ns = epoch->start_ns;
	slice.end_ns = slice.start_ns + HOUR_NS;
	bench_require(profile_flush(bench->profile, &batch), "flush");
	free(epoch);
}

int
main(int argc, char **argv)
{
	const struct profile_options options = {.write = true, .size_limit = SIZE};
	struct sets_bench *bench = calloc(1, sizeof(*bench));
	struct profile_stats stats;
	char path[4096];

	if (argc < 2 || !bench)
		abort();
	bench->share = argc > 2 ? strtoul(argv[2], NULL, 10) : 40;
	if (bench->share > IMAGES)
		bench->share = IMAGES;
	bench->entries = calloc(LABELS * bench->share * OFFSETS, sizeof(*bench->entries));
	if (!bench->entries)
		abort();
	make_names(bench);
	snprintf(path, sizeof(path), "%s/db", argv[1]);
	bench_require(profile_open(path, &options, &bench->profile), path);
	for (unsigned i = 0; i < EPOCHS; i++)
		add_epoch(bench, i);
	bench_require(profile_stats(bench->profile, &stats), "statistics");
	printf("%d labels, %d epochs, %d images, %zu of them a label: %llu blocks, %.1f MiB\n", LABELS, EPOCHS, IMAGES,
	       bench->share, (unsigned long long)stats.blocks, (double)stats.used_bytes / 1048576);
	profile_close(bench->profile);
	free(bench->entries);
	free(bench);
	return 0;
}
