/*
 * stack_batch.h - two call stacks, and short ways to flush samples of them and to read them back
 */
#ifndef DCPI_TESTS_PROFILE_STACK_BATCH_H
#define DCPI_TESTS_PROFILE_STACK_BATCH_H

#include "profile/stacks.h"
#include "tests/unit/profile/slice_writer.h"

/* main() of gzip calls libc; a second stack ends earlier. Images: gzip 0, libc 1, stacks 2. */
static const struct image stacks_of_all = {.kind = IMAGE_STACKS, .path = STACKS_PATH};
static const struct image *const images[] = {&gzip_image, &libc_image, &stacks_of_all};
static const struct image *const images_backwards[] UNUSED = {&stacks_of_all, &libc_image, &gzip_image};
static const struct stack_node nodes[] = {
	{.offset = 0x10, .image = 0, .caller = 0},
	{.offset = 0x20, .image = 0, .caller = 1},
	{.offset = 0x5000, .image = 1, .caller = 2},
	{.offset = STACK_END_NO_TABLES, .image = STACK_NO_IMAGE, .caller = 0},
	{.offset = 0x5000, .image = 1, .caller = 4},
};

struct stack_batch {
	const struct image *const *images; /* NULL: they are known */
	const struct stack_node *nodes;
	uint32_t first_node, node_count;
	uint32_t stacks_image;
	uint32_t slice;
	uint64_t counts[5]; /* of the first nodes */
};

static UNUSED int
try_flush(struct profile *profile, uint32_t epoch, uint64_t start_ns, struct stack_batch *stacks)
{
	struct slice slice = {
		.id = stacks->slice,
		.epoch = epoch,
		.start_ns = start_ns,
		.end_ns = start_ns + MINUTE_NS,
		.event_count = 1,
	};
	struct tally_entry entries[5];
	struct profile_batch batch = {
		.entries = entries,
		.first_image = stacks->images ? 0 : 3,
		.image_count = stacks->images ? 3 : 0,
		.images = stacks->images,
		.first_context = stacks->images ? 0 : 2,
		.context_count = stacks->images ? 2 : 0,
		.contexts = two_contexts,
		.first_node = stacks->first_node,
		.node_count = stacks->node_count,
		.nodes = stacks->nodes,
		.slice = &slice,
	};
	int err;

	for (uint32_t i = 0; i < 5; i++) {
		if (!stacks->counts[i])
			continue;
		entries[batch.entry_count++] = (struct tally_entry){
			.offset = i + 1, .count = stacks->counts[i], .image = stacks->stacks_image};
		slice.events[0].samples += stacks->counts[i];
	}
	err = profile_flush(profile, &batch);
	stacks->slice = slice.id;
	return err;
}

static UNUSED void
flush(struct profile *profile, uint32_t epoch, uint64_t start_ns, struct stack_batch stacks)
{
	assert_int_equal(try_flush(profile, epoch, start_ns, &stacks), 0);
}

static UNUSED uint32_t
begin_stacks_epoch(struct profile *profile)
{
	static const char *const names[] = {"cpu-clock.stacks"};

	return begin_epoch(profile, START_NS, "", names, 1);
}

/* An epoch with 7 samples of the first stack and 2 of the second, that was truncated. */
static UNUSED uint32_t
write_stacks(struct profile *profile, uint64_t start_ns)
{
	const uint32_t epoch = begin_stacks_epoch(profile);

	flush(profile, epoch, start_ns,
	      (struct stack_batch){.images = images,
	                           .nodes = nodes,
	                           .first_node = 1,
	                           .node_count = 5,
	                           .stacks_image = 2,
	                           .counts = {0, 0, 7, 0, 2}});
	return epoch;
}

/* The samples of all stacks whose innermost frame is at `offset`, and whose outermost is at `outer`. */
static UNUSED uint64_t
samples_of(struct profile *profile, uint64_t offset, uint64_t outer)
{
	const struct selection_request request = {.epoch = "all", .stacks = true};
	const struct stack_nodes *all;
	struct selection *selection = NULL;
	uint64_t sum = 0;
	char why[256];

	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), 0);
	all = &selection->stacks;
	for (size_t i = 0; i < selection->count_count; i++) {
		const struct selection_count *count = &selection->counts[i];
		const uint32_t leaf = (uint32_t)count->offset;
		uint32_t root = leaf;

		assert_int_equal(selection->images[count->image].image->kind, IMAGE_STACKS);
		assert_in_range(leaf, 1, all->count - 1);
		while (all->nodes[root].caller)
			root = all->nodes[root].caller;
		if (all->nodes[leaf].offset == offset && all->nodes[root].offset == outer)
			sum += count->count;
	}
	selection_free(selection);
	return sum;
}

static UNUSED uint32_t
node_count(struct profile *profile)
{
	struct stack_nodes all;
	uint32_t count;

	assert_int_equal(stacks_read(profile, &all), 0);
	count = all.count ? all.count - 1 : 0;
	stack_nodes_fini(&all);
	return count;
}

static UNUSED int64_t
complaints(const char *directory)
{
	struct profile *profile = open_reader(directory);
	const int64_t count = profile_check(profile, print_complaint, NULL);

	profile_close(profile);
	return count;
}

#endif
