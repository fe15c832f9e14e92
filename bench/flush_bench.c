/*
 * flush_bench - what a flush and a selection cost, and how large the file gets
 *
 * KEYS distinct (image, offset, event, context) in an order that a skewed draw prefers: 200 images, 60 contexts, about
 * ten hot instructions in a block of code, as in a profile of a busy machine. The directory is the argument, else one
 * below $TMPDIR: the disk is part of what is measured. Every figure but those of the file is a time of this machine.
 * Usage: flush_bench [directory [database]]; the second argument names what is kept, in the directory, for tools to
 * read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "bench/bench.h"
#include "profile/profile.h"
#include "profile/selection.h"
#include "tests/remove_tree.h"

#define KEYS          200000
#define BLOCK_KEYS    10
#define FLUSH_KEYS    100000
#define IMAGES        200
#define CONTEXTS      60
#define EVENTS        2
#define SLICES        6
#define SLICE_DRAWS   (10000000 / SLICES) /* samples in one slice */
#define SLICE_FLUSHES 60
#define SECOND_NS     UINT64_C(1000000000)

struct flush_bench {
	struct profile *profile;
	struct image images[IMAGES];
	const struct image *image_list[IMAGES];
	char paths[IMAGES][32];
	struct context contexts[CONTEXTS];
	const struct context *context_list[CONTEXTS];
	char commands[CONTEXTS][COMM_SIZE];
	struct sample_key keys[KEYS];
	uint64_t counts[KEYS];
	struct tally_entry entries[KEYS];
	bool first; /* nothing has been flushed yet */
	uint64_t state;
};

/* xorshift64*: a fixed seed, so that every run draws equal numbers. */
static uint64_t
draw(struct flush_bench *bench)
{
	bench->state ^= bench->state >> 12;
	bench->state ^= bench->state << 25;
	bench->state ^= bench->state >> 27;
	return bench->state * UINT64_C(0x2545f4914f6cdd1d);
}

static uint64_t
draw_below(struct flush_bench *bench, uint64_t bound)
{
	return draw(bench) % bound;
}

/* Low numbers far more often: the cube of a uniform draw. */
static size_t
draw_skewed(struct flush_bench *bench, size_t bound)
{
	double u = (double)(draw(bench) >> 11) / (double)(UINT64_C(1) << 53);

	return (size_t)(u * u * u * (double)bound);
}

static void
make_names(struct flush_bench *bench)
{
	for (unsigned i = 0; i < IMAGES; i++) {
		snprintf(bench->paths[i], sizeof(bench->paths[i]), "/usr/lib/libbench%u.so", i);
		bench->images[i] = (struct image){.kind = IMAGE_USER, .build_id_size = 20, .path = bench->paths[i]};
		memcpy(bench->images[i].build_id, &i, sizeof(i));
		bench->image_list[i] = &bench->images[i];
	}
	for (unsigned i = 0; i < CONTEXTS; i++) {
		snprintf(bench->commands[i], sizeof(bench->commands[i]), "bench%u", i);
		bench->contexts[i] = (struct context){bench->commands[i], "/system.slice/bench.service", ""};
		bench->context_list[i] = &bench->contexts[i];
	}
}

static void
make_keys(struct flush_bench *bench)
{
	for (size_t i = 0; i < KEYS; i += BLOCK_KEYS) {
		const struct sample_key block = {
			.offset = draw_below(bench, 2000) << 12,
			.image = (uint32_t)draw_skewed(bench, IMAGES),
			.context = (uint32_t)draw_skewed(bench, CONTEXTS),
			.event = (uint16_t)(draw_below(bench, 4) == 0),
		};
		for (size_t j = i; j < i + BLOCK_KEYS; j++) {
			bench->keys[j] = block;
			bench->keys[j].offset += draw_below(bench, 1024) * 4;
		}
	}
}

static int
compare_entries(const void *left, const void *right)
{
	const struct tally_entry *a = left, *b = right;

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* The counts so far as sorted entries, each key once, and zero counts again. */
static size_t
take_entries(struct flush_bench *bench)
{
	size_t all = 0, count = 0;

	for (size_t i = 0; i < KEYS; i++) {
		const struct sample_key *key = &bench->keys[i];

		if (bench->counts[i] == 0)
			continue;
		bench->entries[all++] = (struct tally_entry){
			.offset = key->offset,
			.count = bench->counts[i],
			.image = key->image,
			.context = key->context,
			.event = key->event,
		};
		bench->counts[i] = 0;
	}
	qsort(bench->entries, all, sizeof(bench->entries[0]), compare_entries);
	for (size_t i = 0; i < all; i++) {
		if (count > 0 && compare_entries(&bench->entries[count - 1], &bench->entries[i]) == 0)
			bench->entries[count - 1].count += bench->entries[i].count;
		else
			bench->entries[count++] = bench->entries[i];
	}
	return count;
}

/* Flush the entries into slice *slice; nanoseconds. */
static uint64_t
flush(struct flush_bench *bench, uint32_t epoch, uint32_t *slice, size_t count)
{
	struct slice more = {.id = *slice, .epoch = epoch, .start_ns = 1, .end_ns = 2, .event_count = EVENTS};
	struct profile_batch batch = {
		.entries = bench->entries,
		.entry_count = count,
		.first_image = bench->first ? 0 : IMAGES,
		.image_count = bench->first ? IMAGES : 0,
		.images = bench->image_list,
		.first_context = bench->first ? 0 : CONTEXTS,
		.context_count = bench->first ? CONTEXTS : 0,
		.contexts = bench->context_list,
		.slice = &more,
	};
	uint64_t start;

	for (size_t i = 0; i < count; i++)
		more.events[bench->entries[i].event].samples += bench->entries[i].count;
	start = bench_clock_ns(CLOCK_MONOTONIC);
	bench_require(profile_flush(bench->profile, &batch), "flush");
	bench->first = false;
	*slice = more.id;
	return bench_clock_ns(CLOCK_MONOTONIC) - start;
}

static struct profile_stats
stats_of(struct flush_bench *bench)
{
	struct profile_stats stats;

	bench_require(profile_stats(bench->profile, &stats), "stats");
	return stats;
}

static uint32_t
begin_epoch(struct flush_bench *bench)
{
	struct epoch epoch = {
		.event_count = EVENTS,
		.events = {{.name = "cycles", .available = true}, {.name = "cache-misses", .available = true}},
	};

	bench_require(profile_begin_epoch(bench->profile, &epoch), "begin_epoch");
	return epoch.id;
}

static void
say_flush(const char *name, size_t count, uint64_t ns, uint64_t bytes)
{
	printf("%-34s %7zu entries  %7.1f ms  %9.0f entries/s  %5.1f bytes/entry\n", name, count, (double)ns / 1e6,
	       (double)count * 1e9 / (double)ns, (double)bytes / (double)count);
}

/* FLUSH_KEYS keys at once: into nothing, and into the blocks that are there then. */
static void
measure_single_flushes(struct flush_bench *bench)
{
	uint32_t epoch = begin_epoch(bench), slice = 0;
	uint64_t before = stats_of(bench).used_bytes, ns;
	size_t count;

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < FLUSH_KEYS; i++)
			bench->counts[i * (KEYS / FLUSH_KEYS)] = 1 + draw_below(bench, 100);
		count = take_entries(bench);
		ns = flush(bench, epoch, &slice, count);
		say_flush(round == 0 ? "new slice" : "the same keys again", count, ns,
		          stats_of(bench).used_bytes - before);
	}
}

/* SLICES slices of SLICE_FLUSHES flushes, 10 million samples drawn in all. */
static void
measure_many_flushes(struct flush_bench *bench)
{
	uint64_t ns = 0, longest = 0, used = stats_of(bench).used_bytes, blocks = stats_of(bench).blocks;
	uint32_t epoch = begin_epoch(bench);
	struct profile_stats stats;
	size_t entries = 0;

	for (int i = 0; i < SLICES; i++) {
		uint32_t slice = 0;

		for (int j = 0; j < SLICE_FLUSHES; j++) {
			uint64_t took;
			size_t count;

			for (int k = 0; k < SLICE_DRAWS / SLICE_FLUSHES; k++)
				bench->counts[draw_skewed(bench, KEYS)]++;
			count = take_entries(bench);
			took = flush(bench, epoch, &slice, count);
			entries += count;
			ns += took;
			longest = took > longest ? took : longest;
		}
	}
	stats = stats_of(bench);
	printf("%d slices of %d flushes: %.1f ms a flush on average (longest %.1f), %.0f entries/s\n", SLICES,
	       SLICE_FLUSHES, (double)ns / 1e6 / (SLICES * SLICE_FLUSHES), (double)longest / 1e6,
	       (double)entries * 1e9 / (double)ns);
	printf("  %.1f MB used by %llu blocks, %.1f bytes a block; the file has %.1f MB\n",
	       (double)(stats.used_bytes - used) / 1e6, (unsigned long long)(stats.blocks - blocks),
	       (double)(stats.used_bytes - used) / (double)(stats.blocks - blocks), (double)stats.file_bytes / 1e6);
}

static void
measure_selection(struct flush_bench *bench, const char *name, const struct selection_request *request)
{
	uint64_t best = UINT64_MAX;
	struct selection *selection;
	char why[256];

	for (int round = 0; round < 5; round++) {
		uint64_t start = bench_clock_ns(CLOCK_MONOTONIC), took;

		bench_require(selection_read(bench->profile, request, &selection, why, sizeof(why)), "select");
		took = bench_clock_ns(CLOCK_MONOTONIC) - start;
		best = took < best ? took : best;
		if (round == 4)
			printf("%-34s %7zu counts of %llu samples, %zu slices: %.1f ms\n", name, selection->count_count,
			       (unsigned long long)(selection->events[0].selected + selection->events[1].selected),
			       selection->slice_count, (double)best / 1e6);
		selection_free(selection);
	}
}

static void
keep(const char *parent, const char *directory, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", parent, name);
	bench_require(rename(directory, path) ? -errno : 0, path);
}

int
main(int argc, char **argv)
{
	const char *parent = argc > 1 ? argv[1] : getenv("TMPDIR");
	const struct profile_options options = {.write = true};
	struct flush_bench *bench = calloc(1, sizeof(*bench));
	char directory[4096];
	int64_t complaints;
	uint64_t start;

	snprintf(directory, sizeof(directory), "%s/flush_bench-XXXXXX", parent ? parent : "/tmp");
	if (!bench || !mkdtemp(directory)) {
		perror("flush_bench");
		free(bench);
		return 1;
	}
	bench->state = 1997;
	bench->first = true;
	make_names(bench);
	make_keys(bench);
	bench_require(profile_open(directory, &options, &bench->profile), directory);
	measure_single_flushes(bench);
	measure_many_flushes(bench);
	measure_selection(bench, "select the latest epoch", &(struct selection_request){0});
	measure_selection(bench, "select one command of all epochs",
	                  &(struct selection_request){.epoch = "all", .comm = "bench1"});
	start = bench_clock_ns(CLOCK_MONOTONIC);
	complaints = profile_check(bench->profile, NULL, NULL);
	printf("check: %lld complaints, %.1f ms\n", (long long)complaints,
	       (double)(bench_clock_ns(CLOCK_MONOTONIC) - start) / 1e6);
	profile_close(bench->profile);
	if (argc > 2)
		keep(parent, directory, argv[2]);
	else
		remove_tree(directory);
	free(bench);
	return 0;
}
