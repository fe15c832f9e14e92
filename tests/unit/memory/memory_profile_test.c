#include "memory/memory_profile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

/* Rows as a database would keep them. */
struct kept_row {
	enum memory_part part;
	uint32_t number;
	void *data;
	size_t size;
};

struct kept_rows {
	struct kept_row rows[64];
	size_t count;
};

static int
keep_row(void *context, enum memory_part part, uint32_t number, const void *row, size_t size)
{
	struct kept_rows *kept = context;
	struct kept_row *one = &kept->rows[kept->count++];

	assert_true(kept->count < 64);
	*one = (struct kept_row){part, number, malloc(size), size};
	memcpy(one->data, row, size);
	return 0;
}

static void
free_rows(struct kept_rows *kept)
{
	for (size_t i = 0; i < kept->count; i++)
		free(kept->rows[i].data);
}

/* A process of two threads, a matrix that main() has made, and `accesses` accesses to it. */
static void
make_profile(struct memory_profile *profile, size_t accesses)
{
	assert_int_equal(memory_profile_init(profile), 0);
	profile->totals.nodes = 2;
	profile->totals.counted = 1000000;
	profile->totals.line_bytes = 64;
	profile->source = memory_profile_add_text(profile, "Emulated test");
	*memory_profile_add_process(profile) =
		(struct memory_process){4711, 1, memory_profile_add_text(profile, "prog")};
	*memory_profile_add_thread(profile) = (struct memory_thread){0, 4711};
	*memory_profile_add_thread(profile) = (struct memory_thread){0, 4712};
	*memory_profile_add_place(profile) =
		(struct memory_place){.function = memory_profile_add_text(profile, "main"),
	                              .image = memory_profile_add_text(profile, "/bin/prog"),
	                              .line = 12,
	                              .offset = 0x1130,
	                              .distance = 16,
	                              .type = 1,
	                              .type_offset = 8};
	*memory_profile_add_type(profile) = (struct memory_type){
		.name = memory_profile_add_text(profile, "struct row"), .size = 16, .first = 0, .count = 2};
	*memory_profile_add_field(profile) =
		(struct memory_field){memory_profile_add_text(profile, "count"), 0, 8, 8, 1};
	*memory_profile_add_field(profile) =
		(struct memory_field){memory_profile_add_text(profile, "cells[]"), 8, 4, 4, UINT64_MAX};
	*memory_profile_add_site(profile) = (struct memory_site){memory_profile_add_text(profile, "main+0x10"),
	                                                         (uint32_t)profile->frame_count, 1, 1};
	*memory_profile_add_frame(profile) = 0;
	*memory_profile_add_object(profile) = (struct memory_object){.address = 0x7f0000001000,
	                                                             .size = 4096,
	                                                             .born_ns = 5,
	                                                             .died_ns = MEMORY_ALIVE,
	                                                             .site = 0,
	                                                             .number = 1,
	                                                             .thread = 0};
	for (size_t i = 0; i < accesses; i++)
		*memory_profile_add_access(profile) = (struct memory_access){.time_ns = i * 3,
		                                                             .offset = i % 4096,
		                                                             .thread = i % 2,
		                                                             .cycles = 200,
		                                                             .cost = 100,
		                                                             .weight = 1,
		                                                             .node = i % 2,
		                                                             .level = MEMORY_DRAM,
		                                                             .flags = MEMORY_STORE};
}

static struct kept_row *
find_row(struct kept_rows *kept, enum memory_part part)
{
	for (size_t i = 0; i < kept->count; i++) {
		if (kept->rows[i].part == part)
			return &kept->rows[i];
	}
	fail_msg("no row of part %u", (unsigned)part);
	return NULL;
}

static int
read_back(const struct kept_rows *kept, struct memory_profile *profile)
{
	int err = memory_profile_init(profile);

	for (size_t i = 0; i < kept->count && !err; i++)
		err = memory_profile_decode(profile, kept->rows[i].part, kept->rows[i].data, kept->rows[i].size);
	return err ? err : memory_profile_check(profile);
}

static void
assert_same_access(const struct memory_access *one, const struct memory_access *other)
{
	assert_int_equal(one->time_ns, other->time_ns);
	assert_int_equal(one->offset, other->offset);
	assert_int_equal(one->object, other->object);
	assert_int_equal(one->thread, other->thread);
	assert_int_equal(one->place, other->place);
	assert_int_equal(one->cycles, other->cycles);
	assert_int_equal(one->cost, other->cost);
	assert_int_equal(one->weight, other->weight);
	assert_int_equal(one->node, other->node);
	assert_int_equal(one->page_node, other->page_node);
	assert_int_equal(one->level, other->level);
	assert_int_equal(one->flags, other->flags);
}

static void
a_profile_is_read_as_it_was_written(void **state)
{
	struct memory_profile written, read;
	struct kept_rows kept = {.count = 0};

	(void)state;
	make_profile(&written, 10000);
	assert_int_equal(memory_profile_encode(&written, keep_row, &kept), 0);
	assert_int_equal(read_back(&kept, &read), 0);
	assert_true(kept.count > MEMORY_PARTS); /* accesses take several rows */
	assert_int_equal(read.totals.counted, 1000000);
	assert_string_equal(memory_profile_text(&read, read.source), "Emulated test");
	assert_int_equal(read.access_count, 10000);
	for (size_t i = 0; i < 10000; i++)
		assert_same_access(&read.accesses[i], &written.accesses[i]);
	assert_int_equal(read.object_count, 1);
	assert_int_equal(read.objects[0].address, 0x7f0000001000);
	assert_true(read.objects[0].died_ns == MEMORY_ALIVE);
	assert_string_equal(memory_object_name(&read, &read.objects[0]), "main+0x10");
	assert_int_equal(read.places[read.frames[read.sites[0].first]].line, 12);
	assert_int_equal(read.threads[1].tid, 4712);
	assert_int_equal(read.sites[0].type, 1);
	assert_int_equal(read.objects[0].type, 0);
	assert_int_equal(read.places[0].type, 1);
	assert_int_equal(read.places[0].type_offset, 8);
	assert_null(memory_profile_type(&read, 0));
	assert_null(memory_profile_type(&read, 2));
	assert_string_equal(memory_profile_text(&read, memory_profile_type(&read, 1)->name), "struct row");
	assert_int_equal(memory_profile_type(&read, 1)->size, 16);
	assert_int_equal(memory_profile_type(&read, 1)->count, 2);
	assert_string_equal(memory_profile_text(&read, read.fields[1].name), "cells[]");
	assert_int_equal(read.fields[1].offset, 8);
	assert_int_equal(read.fields[1].stride, 4);
	assert_true(read.fields[1].count == UINT64_MAX);
	free_rows(&kept);
	memory_profile_fini(&read);
	memory_profile_fini(&written);
}

/* An access of an object that is not there, a row that ends early: whoever wrote that, nothing is read beyond it. */
static void
rows_that_contradict_themselves_are_refused(void **state)
{
	struct memory_profile profile, read;
	struct kept_rows kept = {.count = 0};
	struct kept_row *access_row;

	(void)state;
	make_profile(&profile, 10);
	profile.accesses[7].object = 3;
	assert_int_equal(memory_profile_encode(&profile, keep_row, &kept), 0);
	assert_int_equal(read_back(&kept, &read), -DCPI_EDAMAGED);
	memory_profile_fini(&read);
	free_rows(&kept);

	kept.count = 0;
	profile.accesses[7].object = 0;
	assert_int_equal(memory_profile_encode(&profile, keep_row, &kept), 0);
	access_row = find_row(&kept, MEMORY_PART_ACCESSES);
	access_row->size--;
	assert_int_equal(read_back(&kept, &read), -DCPI_EDAMAGED);
	memory_profile_fini(&read);

	access_row->size++;
	free(access_row->data); /* the row of accesses is lost */
	*access_row = kept.rows[--kept.count];
	assert_int_equal(read_back(&kept, &read), -DCPI_EDAMAGED);
	memory_profile_fini(&read);
	free_rows(&kept);
	memory_profile_fini(&profile);
}

static void
assert_refused(struct memory_profile *profile)
{
	struct kept_rows kept = {.count = 0};
	struct memory_profile read;

	assert_int_equal(memory_profile_encode(profile, keep_row, &kept), 0);
	assert_int_equal(read_back(&kept, &read), -DCPI_EDAMAGED);
	memory_profile_fini(&read);
	memory_profile_fini(profile);
	free_rows(&kept);
}

/* A type that is not there, one without a size, a member whose elements take no room. */
static void
types_that_cannot_be_are_refused(void **state)
{
	struct memory_profile profile;

	(void)state;
	make_profile(&profile, 10);
	profile.places[0].type = 2;
	assert_refused(&profile);
	make_profile(&profile, 10);
	profile.objects[0].type = 2;
	assert_refused(&profile);
	make_profile(&profile, 10);
	profile.sites[0].type = 2;
	assert_refused(&profile);
	make_profile(&profile, 10);
	profile.types[0].size = 0;
	assert_refused(&profile);
	make_profile(&profile, 10);
	profile.fields[1].stride = 0;
	assert_refused(&profile);
	make_profile(&profile, 10);
	profile.fields[0].count = 0;
	assert_refused(&profile);
}

static void
thinning_keeps_what_accesses_stand_for(void **state)
{
	struct memory_profile profile;
	uint64_t weight = 0;

	(void)state;
	make_profile(&profile, 100000);
	memory_profile_thin(&profile);
	assert_in_range(profile.access_count, 49000, 51000);
	for (size_t i = 0; i < profile.access_count; i++)
		weight += profile.accesses[i].weight;
	assert_in_range(weight, 98000, 102000);
	for (size_t i = 1; i < profile.access_count; i++)
		assert_true(profile.accesses[i].time_ns > profile.accesses[i - 1].time_ns);
	memory_profile_fini(&profile);
}

static void
a_text_has_one_number(void **state)
{
	struct memory_profile profile;

	(void)state;
	assert_int_equal(memory_profile_init(&profile), 0);
	assert_int_equal(memory_profile_add_text(&profile, "malloc"), 1);
	assert_int_equal(memory_profile_add_text(&profile, "calloc"), 2);
	assert_int_equal(memory_profile_add_text(&profile, "malloc"), 1);
	assert_int_equal(memory_profile_add_text(&profile, ""), 0);
	assert_string_equal(memory_profile_text(&profile, 2), "calloc");
	assert_string_equal(memory_profile_text(&profile, 3), "?");
	memory_profile_fini(&profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profile_is_read_as_it_was_written),
		cmocka_unit_test(rows_that_contradict_themselves_are_refused),
		cmocka_unit_test(types_that_cannot_be_are_refused),
		cmocka_unit_test(thinning_keeps_what_accesses_stand_for),
		cmocka_unit_test(a_text_has_one_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
