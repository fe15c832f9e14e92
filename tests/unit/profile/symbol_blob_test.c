#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "profile/symbol_blob.h"

static void
names_come_back_in_their_order(void **state)
{
	static const struct profile_symbol symbols[] = {{0, "_stext"}, {64, ""}, {64, "b"}, {UINT64_MAX, "last"}};
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct profile_symbol *back;
	size_t count;

	(void)state;
	assert_int_equal(symbol_blob_encode(symbols, 4, &writer), 0);
	assert_int_equal(symbol_blob_decode(writer.data, writer.size, &back, &count), 0);
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
	assert_int_equal(symbol_blob_encode(NULL, 0, &writer), 0);
	assert_int_equal(symbol_blob_decode(writer.data, writer.size, &back, &count), 0);
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
	assert_int_equal(symbol_blob_encode(symbols, 2, &writer), -EINVAL);
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
	assert_int_equal(symbol_blob_encode(symbols, count, &writer), 0);
	assert_true(writer.size < 1u << 20); /* 3.6 MB of text */
	assert_int_equal(symbol_blob_decode(writer.data, writer.size, &back, &back_count), 0);
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
	err = symbol_blob_decode(writer.data, writer.size, &symbols, &count);
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
	assert_int_equal(decode_text("\4ab", 4, SYMBOL_TEXT_MAX + 1u), -DCPI_EDAMAGED);
	/* 2^64 - 1, and one more */
	assert_int_equal(decode_text("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1a\0\1b", 15, 15), -DCPI_EDAMAGED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_come_back_in_their_order),   cmocka_unit_test(an_empty_list_comes_back_empty),
		cmocka_unit_test(offsets_that_descend_are_refused), cmocka_unit_test(the_names_of_a_kernel_take_little),
		cmocka_unit_test(text_that_is_no_list_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
