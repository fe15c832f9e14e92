/* Tests of profile/captured.h: what was captured of an image, in the database. */
#include "tests/unit/profile/slice_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "profile/captured.h"
#include "tests/unit/test.h"
#include "tests/unit/unwind/table_fixture.h"

#define GZIP 1 /* the database's numbers */
#define LIBC 2

static uint8_t page_of_a[CAPTURED_BLOCK_SIZE], page_of_b[CAPTURED_BLOCK_SIZE], page_of_c[CAPTURED_BLOCK_SIZE];

static void
fill_pages(void)
{
	memset(page_of_a, 'a', sizeof(page_of_a));
	memset(page_of_b, 'b', sizeof(page_of_b));
	memset(page_of_c, 'c', sizeof(page_of_c));
}

/* gzip and libc with samples. */
static struct writer
make_images(const char *directory)
{
	struct writer writer = make_writer(directory);

	fill_pages();
	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	return writer;
}

static struct byte_writer
parcel_of(const struct captured_block *blocks, size_t count)
{
	struct byte_writer writer = BYTE_WRITER_INIT;

	assert_int_equal(captured_parcel_encode(blocks, count, &writer), 0);
	return writer;
}

static int
put_parcel(struct profile *profile, uint32_t image, const struct captured_block *blocks, size_t count, uint64_t limit)
{
	struct byte_writer writer = parcel_of(blocks, count);
	const struct captured_value parcel = {blocks[0].number, writer.data, writer.size};
	const struct captured captured = {.parcels = &parcel, .parcel_count = 1};
	int err = profile_put_captured(profile, image, &captured, limit);

	writer_fini(&writer);
	return err;
}

static void
blocks_of_several_parcels_come_back_in_order(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_images(fixture->directory);
	const struct captured_block first[] = {{3, page_of_a}, {70000, page_of_b}}, second[] = {{5, page_of_c}};
	struct captured_extent extent;
	struct captured_text text;

	assert_int_equal(put_parcel(writer.profile, GZIP, first, 2, 0), 0);
	assert_int_equal(put_parcel(writer.profile, GZIP, second, 1, 0), 0);
	assert_int_equal(put_parcel(writer.profile, LIBC, second, 1, 0), 0);
	assert_int_equal(profile_get_text(writer.profile, GZIP, &text), 0);
	assert_int_equal(text.count, 3);
	assert_int_equal(text.blocks[0].number, 3);
	assert_memory_equal(text.blocks[0].bytes, page_of_a, CAPTURED_BLOCK_SIZE);
	assert_int_equal(text.blocks[1].number, 5);
	assert_memory_equal(text.blocks[1].bytes, page_of_c, CAPTURED_BLOCK_SIZE);
	assert_int_equal(text.blocks[2].number, 70000);
	assert_memory_equal(text.blocks[2].bytes, page_of_b, CAPTURED_BLOCK_SIZE);
	captured_text_fini(&text);
	assert_int_equal(profile_get_extent(writer.profile, GZIP, &extent), 0);
	assert_int_equal(extent.count, 3);
	assert_int_equal(extent.blocks[1], 5);
	assert_false(extent.has_symbols);
	assert_false(extent.has_layout);
	free(extent.blocks);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

static int
put_of(struct profile *profile, uint32_t image, enum captured_owner owner, const char *name, uint32_t block)
{
	const struct profile_symbol symbol = {0x1000, name, 32};
	const struct captured_block bytes = {block, page_of_a};
	struct byte_writer symbols = BYTE_WRITER_INIT, text = parcel_of(&bytes, 1);
	const struct captured_value parcel = {block, text.data, text.size};
	int err;

	assert_int_equal(captured_symbols_encode(&symbol, 1, &symbols), 0);
	err = profile_put_captured(profile, image,
	                           &(struct captured){.owner = owner,
	                                              .symbols = {0, symbols.data, symbols.size},
	                                              .parcels = &parcel,
	                                              .parcel_count = 1},
	                           0);
	writer_fini(&symbols);
	writer_fini(&text);
	return err;
}

static void
assert_has(struct profile *profile, uint32_t image, const char *name, const uint32_t *blocks, size_t count)
{
	struct captured_extent extent;
	struct profile_symbol *list;
	size_t names;

	assert_int_equal(profile_get_symbols(profile, image, &list, &names), 0);
	assert_int_equal(names, 1);
	assert_string_equal(list[0].name, name);
	profile_free_symbols(list);
	assert_int_equal(profile_get_extent(profile, image, &extent), 0);
	assert_int_equal(extent.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(extent.blocks[i], blocks[i]);
	free(extent.blocks);
	assert_clean(profile);
}

/* A build-id can be forged: what another's file said goes, names and text. */
static void
roots_file_takes_the_place_of_anothers(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_images(fixture->directory);

	assert_int_equal(put_of(writer.profile, GZIP, CAPTURED_OTHERS, "forged", 3), 0);
	assert_int_equal(put_of(writer.profile, LIBC, CAPTURED_OTHERS, "other", 3), 0);
	assert_has(writer.profile, GZIP, "forged", (const uint32_t[]){3}, 1);
	assert_int_equal(put_of(writer.profile, GZIP, CAPTURED_ROOTS, "deflate", 5), 0);
	assert_has(writer.profile, GZIP, "deflate", (const uint32_t[]){5}, 1);
	assert_has(writer.profile, LIBC, "other", (const uint32_t[]){3}, 1);
	assert_int_equal(put_of(writer.profile, GZIP, CAPTURED_ROOTS, "deflate", 7),
	                 0); /* and what root's says later */
	assert_has(writer.profile, GZIP, "deflate", (const uint32_t[]){5, 7}, 2);
	profile_close(writer.profile);
}

static void
anothers_file_never_takes_the_place_of_roots(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_images(fixture->directory);
	struct captured_extent extent;

	assert_int_equal(put_of(writer.profile, GZIP, CAPTURED_ROOTS, "deflate", 5), 0);
	assert_int_equal(put_of(writer.profile, GZIP, CAPTURED_OTHERS, "forged", 3), -EEXIST);
	profile_close(writer.profile);
	/* and not after a start */
	writer.profile = open_writer(fixture->directory, 0);
	assert_int_equal(profile_get_extent(writer.profile, GZIP, &extent), 0);
	assert_true(extent.is_roots);
	free(extent.blocks);
	assert_int_equal(put_of(writer.profile, GZIP, CAPTURED_OTHERS, "forged", 3), -EEXIST);
	assert_has(writer.profile, GZIP, "deflate", (const uint32_t[]){5}, 1);
	profile_close(writer.profile);
}

/* What libc has in the database is a file without a build-id: now it is known, and that of gzip. */
static void
learn_build_id(struct profile *profile)
{
	struct image image = libc_image;

	image.build_id_size = gzip_image.build_id_size;
	memcpy(image.build_id, gzip_image.build_id, sizeof(image.build_id));
	assert_int_equal(profile_identify_image(profile, LIBC - 1, &image), 0); /* a session counts from 0 */
}

/* Two images of one build-id are one program to a reader, which would take names from either. */
static void
anothers_file_loses_its_names_to_roots_with_the_same_build_id(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_images(fixture->directory);
	struct captured_extent extent;

	assert_int_equal(put_of(writer.profile, LIBC, CAPTURED_OTHERS, "forged", 3), 0);
	assert_int_equal(put_of(writer.profile, GZIP, CAPTURED_ROOTS, "deflate", 5), 0);
	learn_build_id(writer.profile);
	assert_int_equal(profile_get_extent(writer.profile, LIBC, &extent), 0);
	assert_int_equal(extent.count, 0);
	assert_false(extent.has_symbols);
	free(extent.blocks);
	assert_has(writer.profile, GZIP, "deflate", (const uint32_t[]){5}, 1);
	profile_close(writer.profile);
}

static void
anothers_file_keeps_its_names_beside_anothers_with_the_same_build_id(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_images(fixture->directory);

	assert_int_equal(put_of(writer.profile, LIBC, CAPTURED_OTHERS, "inflate", 3), 0);
	assert_int_equal(put_of(writer.profile, GZIP, CAPTURED_OTHERS, "deflate", 5), 0);
	learn_build_id(writer.profile);
	assert_has(writer.profile, LIBC, "inflate", (const uint32_t[]){3}, 1);
	assert_has(writer.profile, GZIP, "deflate", (const uint32_t[]){5}, 1);
	profile_close(writer.profile);
}

static void
names_and_layout_come_back_as_they_were(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct profile_symbol names[] = {{0x1000, "main", 32}, {0x1020, NULL, 16}, {0x1030, "f", 0}};
	struct captured_segment segments[] = {{0, 0x400000, 0x2000, true}, {0x2000, 0x603000, 0x100, false}};
	struct captured_section sections[] = {{0x401000, 0x1000, true}, {0x603000, 0x80, false}};
	const struct captured_layout layout = {62, segments, 2, sections, 2};
	struct writer writer = make_images(fixture->directory);
	struct byte_writer symbols = BYTE_WRITER_INIT, shape = BYTE_WRITER_INIT;
	struct captured_layout *found;
	struct profile_symbol *list;
	size_t count;

	assert_int_equal(captured_symbols_encode(names, 3, &symbols), 0);
	assert_int_equal(captured_layout_encode(&layout, &shape), 0);
	assert_int_equal(profile_get_layout(writer.profile, GZIP, &found), -ENOENT);
	assert_int_equal(profile_put_captured(writer.profile, GZIP,
	                                      &(struct captured){.symbols = {0, symbols.data, symbols.size},
	                                                         .layout = {0, shape.data, shape.size}},
	                                      0),
	                 0);
	assert_int_equal(profile_get_symbols(writer.profile, GZIP, &list, &count), 0);
	assert_int_equal(count, 3);
	assert_string_equal(list[0].name, "main");
	assert_int_equal(list[0].size, 32);
	assert_null(list[1].name);
	assert_int_equal(list[1].offset, 0x1020);
	assert_int_equal(list[1].size, 16);
	assert_string_equal(list[2].name, "f");
	profile_free_symbols(list);
	assert_int_equal(profile_get_layout(writer.profile, GZIP, &found), 0);
	assert_int_equal(found->machine, 62);
	assert_int_equal(found->segment_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(found->segments[i].offset, segments[i].offset);
		assert_int_equal(found->segments[i].address, segments[i].address);
		assert_int_equal(found->segments[i].size, segments[i].size);
		assert_int_equal(found->segments[i].executable, segments[i].executable);
	}
	assert_int_equal(found->section_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(found->sections[i].address, sections[i].address);
		assert_int_equal(found->sections[i].size, sections[i].size);
		assert_int_equal(found->sections[i].is_code, sections[i].is_code);
	}
	free(found);
	assert_clean(writer.profile);
	profile_close(writer.profile);
	writer_fini(&symbols);
	writer_fini(&shape);
}

static void
an_image_is_found_by_its_identity(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct image other = {.kind = IMAGE_USER, .build_id = {9}, .build_id_size = 1, .path = "/bin/gzip"};
	struct writer writer = make_images(fixture->directory);
	uint32_t number = 0;

	assert_int_equal(profile_find_image(writer.profile, &libc_image, &number), 0);
	assert_int_equal(number, LIBC);
	assert_int_equal(profile_find_image(writer.profile, &other, &number), -ENOENT);
	profile_close(writer.profile);
}

static void
what_is_past_the_limit_is_not_stored(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_images(fixture->directory);
	const struct captured_block block = {3, page_of_a};
	struct captured_text text;
	uint64_t bytes;

	assert_int_equal(put_parcel(writer.profile, GZIP, &block, 1, 4095), -EDQUOT);
	assert_int_equal(profile_get_text(writer.profile, GZIP, &text), 0);
	assert_int_equal(text.count, 0);
	captured_text_fini(&text);
	assert_int_equal(put_parcel(writer.profile, GZIP, &block, 1, 4096), 0); /* a page of the database */
	assert_int_equal(profile_captured_bytes(writer.profile, &bytes), 0);
	assert_int_equal(bytes, 4096);
	assert_int_equal(put_parcel(writer.profile, 99, &block, 1, 0), -ENOENT);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

/* The last text of all, too. */
static void
the_only_text_goes_with_its_image(void **state)
{
	static const struct tally_entry libc_only[] = {{.image = 1, .context = 1, .offset = 0, .count = 1}};
	const struct retention_options options = {.size_limit = 1};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_images(fixture->directory);
	const struct captured_block block = {3, page_of_a};
	uint64_t bytes;

	write_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS, libc_only, 1);
	assert_int_equal(put_parcel(writer.profile, GZIP, &block, 1, 0), 0);
	profile_close(writer.profile);
	writer = (struct writer){.profile = open_writer(fixture->directory, 0), .epoch = writer.epoch, .bare = true};
	assert_int_equal(profile_drop_old(writer.profile, &options, START_NS), 1);
	sweep_all(writer.profile);
	assert_int_equal(profile_captured_bytes(writer.profile, &bytes), 0);
	assert_int_equal(bytes, 0);
	profile_close(writer.profile);
}

/* Only the image that still has samples keeps what was captured of it. */
static void
text_goes_with_its_image(void **state)
{
	static const struct tally_entry libc_only[] = {{.image = 1, .context = 1, .offset = 0, .count = 1}};
	const struct retention_options options = {.size_limit = 1};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_images(fixture->directory);
	const struct captured_block first = {3, page_of_a}, second = {9, page_of_b};
	struct captured_text text;

	write_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS, libc_only, 1);
	for (uint32_t image = GZIP; image <= LIBC; image++) {
		assert_int_equal(put_parcel(writer.profile, image, &first, 1, 0), 0);
		assert_int_equal(put_parcel(writer.profile, image, &second, 1, 0), 0);
	}
	profile_close(writer.profile);
	writer = (struct writer){.profile = open_writer(fixture->directory, 0), .epoch = writer.epoch, .bare = true};
	assert_int_equal(profile_drop_old(writer.profile, &options, START_NS), 1);
	sweep_all(writer.profile);
	assert_int_equal(profile_get_text(writer.profile, GZIP, &text), 0);
	assert_int_equal(text.count, 0);
	captured_text_fini(&text);
	assert_int_equal(profile_get_text(writer.profile, LIBC, &text), 0);
	assert_int_equal(text.count, 2);
	captured_text_fini(&text);
	profile_close(writer.profile);
}

/* A table of one row, at `offset`, as a value. */
static struct byte_writer
table_value(uint64_t offset)
{
	struct unwind_writer *rows = unwind_writer_new(UNWIND_X86_64);
	const struct unwind_frame_rules rules = x86_64_rules(UNWIND_X86_64_RSP, 8);
	struct byte_writer value = BYTE_WRITER_INIT;
	uint8_t *bytes;
	size_t size;

	assert_non_null(rows);
	add_row(rows, offset, &rules);
	assert_int_equal(unwind_writer_finish(rows, &bytes, &size), 0);
	assert_int_equal(captured_unwind_encode(bytes, size, &value), 0);
	free(bytes);
	unwind_writer_free(rows);
	return value;
}

static int
put_table(struct profile *profile, uint32_t image, enum captured_owner owner, uint64_t offset)
{
	struct byte_writer value = table_value(offset);
	const struct captured captured = {.owner = owner, .unwind = {.data = value.data, .size = value.size}};
	const int err = profile_put_captured(profile, image, &captured, 0);

	writer_fini(&value);
	return err;
}

static void
assert_table_begins_at(struct profile *profile, uint32_t image, uint64_t offset)
{
	struct unwind_table *table;

	assert_int_equal(profile_get_unwind(profile, image, &table), 0);
	assert_int_equal(table->row_count, 1);
	assert_int_equal(table->blocks[0].offset, offset);
	unwind_table_free(table);
}

static void
an_unwind_table_lies_beside_names_and_text(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_images(fixture->directory);
	struct unwind_table *table;
	struct captured_text text;

	assert_int_equal(profile_get_unwind(writer.profile, GZIP, &table), -ENOENT);
	assert_int_equal(put_of(writer.profile, GZIP, CAPTURED_OTHERS, "deflate", 5), 0);
	assert_int_equal(put_table(writer.profile, GZIP, CAPTURED_ROOTS, 0x1000), 0);
	assert_table_begins_at(writer.profile, GZIP, 0x1000);
	assert_has(writer.profile, GZIP, "deflate", (const uint32_t[]){5}, 1);
	assert_int_equal(profile_get_text(writer.profile, GZIP, &text), 0);
	assert_int_equal(text.count, 1);
	captured_text_fini(&text);
	assert_int_equal(put_table(writer.profile, GZIP, CAPTURED_OTHERS, 0x2000), 0); /* a newer one */
	assert_table_begins_at(writer.profile, GZIP, 0x2000);
	assert_int_equal(profile_get_unwind(writer.profile, LIBC, &table), -ENOENT);
	profile_close(writer.profile);
}

/* By a forged table, one user could choose the callers of another's functions. */
static void
anothers_unwind_table_gives_way_to_roots_file(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_images(fixture->directory);
	struct unwind_table *table;

	assert_int_equal(put_table(writer.profile, GZIP, CAPTURED_OTHERS, 0x1000), 0);
	assert_int_equal(put_of(writer.profile, GZIP, CAPTURED_ROOTS, "deflate", 5), 0);
	assert_int_equal(profile_get_unwind(writer.profile, GZIP, &table), -ENOENT);
	assert_int_equal(put_table(writer.profile, GZIP, CAPTURED_OTHERS, 0x1000), -EEXIST);
	assert_int_equal(put_table(writer.profile, GZIP, CAPTURED_ROOTS, 0x3000), 0);
	assert_table_begins_at(writer.profile, GZIP, 0x3000);
	profile_close(writer.profile);
}

static void
an_unwind_table_goes_with_its_image(void **state)
{
	static const struct tally_entry libc_only[] = {{.image = 1, .context = 1, .offset = 0, .count = 1}};
	const struct retention_options options = {.size_limit = 1};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_images(fixture->directory);
	struct unwind_table *table;

	write_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS, libc_only, 1);
	assert_int_equal(put_table(writer.profile, GZIP, CAPTURED_ROOTS, 0x1000), 0);
	assert_int_equal(put_table(writer.profile, LIBC, CAPTURED_ROOTS, 0x2000), 0);
	profile_close(writer.profile);
	writer = (struct writer){.profile = open_writer(fixture->directory, 0), .epoch = writer.epoch, .bare = true};
	assert_int_equal(profile_drop_old(writer.profile, &options, START_NS), 1);
	sweep_all(writer.profile);
	assert_int_equal(profile_get_unwind(writer.profile, GZIP, &table), -ENOENT);
	assert_table_begins_at(writer.profile, LIBC, 0x2000);
	profile_close(writer.profile);
}

/* Whatever the process wrote that read a hostile file: a reader gets a table that is in order, or none. */
static void
an_unwind_table_that_is_damaged_is_refused(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_images(fixture->directory);
	struct byte_writer value = table_value(0x1000), large = BYTE_WRITER_INIT, none = BYTE_WRITER_INIT;
	struct captured captured = {.unwind = {.data = value.data, .size = value.size - 1}};
	struct unwind_table *table;

	assert_int_equal(captured_unwind_decode(value.data, value.size - 1, &table), -DCPI_EDAMAGED);
	assert_int_equal(profile_put_captured(writer.profile, GZIP, &captured, 0), 0);
	assert_int_equal(profile_get_unwind(writer.profile, GZIP, &table), -DCPI_EDAMAGED);
	assert_int_equal(captured_value_check(CAPTURED_BLOCK_UNWIND, value.data, value.size), 0);
	assert_int_equal(captured_value_check(CAPTURED_BLOCK_UNWIND, value.data, value.size - 1), -DCPI_EDAMAGED);
	assert_int_equal(captured_unwind_encode("no table", 8, &none), 0);
	assert_int_equal(captured_unwind_decode(none.data, none.size, &table), -DCPI_EDAMAGED);
	write_u8(&large, 1);
	write_varint(&large, CAPTURED_UNWIND_MAX + UINT64_C(1));
	assert_int_equal(captured_unwind_decode(large.data, large.size, &table), -DCPI_EDAMAGED);
	assert_int_equal(captured_unwind_encode("", CAPTURED_UNWIND_MAX + UINT64_C(1), &none), -EFBIG);
	writer_fini(&value);
	writer_fini(&large);
	writer_fini(&none);
	profile_close(writer.profile);
}

static void
parcels_that_are_none_are_refused(void **state)
{
	const struct captured_block descending[] = {{4, page_of_a}, {3, page_of_b}},
				    none = {CAPTURED_BLOCK_NONE, page_of_a};
	struct byte_writer writer = BYTE_WRITER_INIT;
	uint32_t numbers[CAPTURED_PARCEL_MAX];

	(void)state;
	fill_pages();
	assert_int_equal(captured_parcel_encode(descending, 2, &writer), -EINVAL);
	assert_int_equal(captured_parcel_encode(descending, 0, &writer), -EINVAL);
	assert_int_equal(captured_parcel_encode(&none, 1, &writer), -EINVAL);
	writer_fini(&writer);
	assert_int_equal(captured_parcel_blocks("", 0, numbers), -DCPI_EDAMAGED);
	assert_int_equal(captured_parcel_blocks("\1\0", 2, numbers), -DCPI_EDAMAGED);
	assert_int_equal(captured_parcel_blocks("\1\101", 2, numbers), -DCPI_EDAMAGED); /* 65 blocks */
	assert_int_equal(captured_parcel_blocks("\1\2\7", 3, numbers), -DCPI_EDAMAGED);
	assert_int_equal(captured_parcel_blocks("\1\2\7\0", 4, numbers), 2);
	assert_int_equal(numbers[1], 8);
}

/* The text must be exactly as long as its blocks. */
static void
a_parcel_with_too_little_text_is_refused(void **state)
{
	uint8_t *bytes = calloc(CAPTURED_PARCEL_MAX, CAPTURED_BLOCK_SIZE);
	uint32_t numbers[CAPTURED_PARCEL_MAX];
	struct byte_writer writer;

	(void)state;
	fill_pages();
	writer = parcel_of(&(struct captured_block){3, page_of_a}, 1);
	assert_int_equal(captured_parcel_decode(writer.data, writer.size, numbers, bytes), 1);
	assert_int_equal(captured_parcel_decode(writer.data, writer.size - 1, numbers, bytes), -DCPI_EDAMAGED);
	writer.data[3] ^= 1; /* of the size */
	assert_int_equal(captured_parcel_decode(writer.data, writer.size, numbers, bytes), -DCPI_EDAMAGED);
	writer_fini(&writer);
	free(bytes);
}

static void
layouts_that_overlap_or_overflow_are_refused(void **state)
{
	static const uint8_t good[] = {1, 62, 1, 0, 1, 5, 1, 1, 8, 4, 1},
			     overlapping[] = {1, 62, 0, 2, 8, 4, 1, 9, 4, 0};
	static const uint8_t endless[] = {1,    62,   0,    1,    0xff, 0xff, 0xff, 0xff,
	                                  0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 4,    1};
	struct captured_layout *layout;

	(void)state;
	assert_int_equal(captured_layout_decode(good, sizeof(good), &layout), 0);
	free(layout);
	assert_int_equal(captured_layout_decode(good, sizeof(good) - 1, &layout), -DCPI_EDAMAGED);
	assert_int_equal(captured_layout_decode(overlapping, sizeof(overlapping), &layout), -DCPI_EDAMAGED);
	assert_int_equal(captured_layout_decode(endless, sizeof(endless), &layout), -DCPI_EDAMAGED);
}

static void
names_come_back_in_their_order(void **state)
{
	static const struct profile_symbol symbols[] = {{0, "_stext"}, {64, ""}, {64, "b"}, {UINT64_MAX, "last"}};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct profile_symbol *back;
	size_t count;

	(void)state;
	assert_int_equal(captured_symbols_encode(symbols, 4, &writer), 0);
	assert_int_equal(captured_symbols_decode(writer.data, writer.size, &back, &count), 0);
	assert_int_equal(count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_true(back[i].offset == symbols[i].offset);
		assert_string_equal(back[i].name, symbols[i].name);
	}
	free(back);
	writer_fini(&writer);
}

static void
an_empty_list_comes_back_empty(void **state)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct profile_symbol *back;
	size_t count;

	(void)state;
	assert_int_equal(captured_symbols_encode(NULL, 0, &writer), 0);
	assert_int_equal(captured_symbols_decode(writer.data, writer.size, &back, &count), 0);
	assert_int_equal(count, 0);
	free(back);
	writer_fini(&writer);
}

static void
offsets_that_descend_are_refused(void **state)
{
	static const struct profile_symbol symbols[] = {{2, "b"}, {1, "a"}};
	struct byte_writer writer = BYTE_WRITER_INIT;

	(void)state;
	assert_int_equal(captured_symbols_encode(symbols, 2, &writer), -EINVAL);
	writer_fini(&writer);
}

static void
the_names_of_a_kernel_take_little(void **state)
{
	const size_t count = 150000;
	struct profile_symbol *symbols = calloc(count, sizeof(*symbols)), *back;
	char(*names)[32] = calloc(count, sizeof(*names));
	struct byte_writer writer = BYTE_WRITER_INIT;
	size_t back_count;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		snprintf(names[i], sizeof(names[i]), "subsystem%zu_function%zu", i / 100, i % 100);
		symbols[i] = (struct profile_symbol){i * 48, names[i]};
	}
	assert_int_equal(captured_symbols_encode(symbols, count, &writer), 0);
	assert_true(writer.size < 1u << 20); /* 3.6 MB of text */
	assert_int_equal(captured_symbols_decode(writer.data, writer.size, &back, &back_count), 0);
	assert_int_equal(back_count, count);
	assert_string_equal(back[149999].name, "subsystem1499_function99");
	assert_int_equal(back[149999].offset, 149999 * 48);
	free(back);
	free(names);
	free(symbols);
	writer_fini(&writer);
}

/* A value with `text` inside, saying that it is `claimed` bytes. */
static int
decode_text(const char *text, size_t size, uint64_t claimed)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct profile_symbol *symbols = NULL;
	char frame[256];
	size_t count, frame_size = ZSTD_compress(frame, sizeof(frame), text, size, 1);
	int err;

	write_u8(&writer, 1);
	write_varint(&writer, claimed);
	write_bytes(&writer, frame, frame_size);
	err = captured_symbols_decode(writer.data, writer.size, &symbols, &count);
	free(symbols);
	writer_fini(&writer);
	return err;
}

static void
text_that_is_no_list_is_refused(void **state)
{
	(void)state;
	assert_int_equal(decode_text("\4ab", 4, 4), 0);
	assert_int_equal(decode_text("\4ab", 3, 3), -DCPI_EDAMAGED);     /* no NUL */
	assert_int_equal(decode_text("\4ab\0\5", 5, 5), -DCPI_EDAMAGED); /* nothing behind a distance */
	assert_int_equal(decode_text("\x84", 2, 2), -DCPI_EDAMAGED);     /* a distance, and no name */
	assert_int_equal(decode_text("\4ab", 4, 5), -DCPI_EDAMAGED);     /* shorter than it says */
	assert_int_equal(decode_text("\4ab", 4, 3), -DCPI_EDAMAGED);     /* longer */
	assert_int_equal(decode_text("\4ab", 4, CAPTURED_SYMBOLS_TEXT_MAX + 1u), -DCPI_EDAMAGED);
	/* 2^64 - 1, and one more */
	assert_int_equal(decode_text("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1a\0\1b", 15, 15), -DCPI_EDAMAGED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(blocks_of_several_parcels_come_back_in_order),
		CASE(names_and_layout_come_back_as_they_were),
		CASE(roots_file_takes_the_place_of_anothers),
		CASE(anothers_file_never_takes_the_place_of_roots),
		CASE(anothers_file_loses_its_names_to_roots_with_the_same_build_id),
		CASE(anothers_file_keeps_its_names_beside_anothers_with_the_same_build_id),
		CASE(an_image_is_found_by_its_identity),
		CASE(what_is_past_the_limit_is_not_stored),
		CASE(the_only_text_goes_with_its_image),
		CASE(text_goes_with_its_image),
		CASE(an_unwind_table_lies_beside_names_and_text),
		CASE(anothers_unwind_table_gives_way_to_roots_file),
		CASE(an_unwind_table_goes_with_its_image),
		CASE(an_unwind_table_that_is_damaged_is_refused),
		cmocka_unit_test(parcels_that_are_none_are_refused),
		cmocka_unit_test(a_parcel_with_too_little_text_is_refused),
		cmocka_unit_test(layouts_that_overlap_or_overflow_are_refused),
		cmocka_unit_test(names_come_back_in_their_order),
		cmocka_unit_test(an_empty_list_comes_back_empty),
		cmocka_unit_test(offsets_that_descend_are_refused),
		cmocka_unit_test(the_names_of_a_kernel_take_little),
		cmocka_unit_test(text_that_is_no_list_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
