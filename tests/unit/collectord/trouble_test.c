#include "collectord/trouble.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#include "tests/unit/test.h"

static struct config config = {.database = "/var/lib/dcpi"};

static void
no_trouble_is_no_sentence(void **state)
{
	const struct collection_view view = {.config = &config, .flush_pending_ns = UINT64_C(29999999999)};
	char text[TROUBLE_SIZE];

	(void)state;
	assert_false(trouble_describe(&view, 0, text, sizeof(text)));
}

static void
a_database_that_cannot_be_written_is_named_with_what_is_kept_and_dropped(void **state)
{
	const struct collection_view view = {
		.config = &config,
		.flush_error = -ENOSPC,
		.kept = 12345,
		.trouble_dropped = 7,
		.trouble_since_ns = UINT64_C(1700000000000000000), /* 2023-11-14 22:13:20 UTC */
		.flush_pending_ns = UINT64_C(3600000000000),
	};
	char text[TROUBLE_SIZE];

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	assert_true(trouble_describe(&view, 0, text, sizeof(text)));
	assert_string_equal(text, "cannot write /var/lib/dcpi: No space left on device; 12345 samples kept in memory, "
	                          "7 dropped since 22:13");
	assert_false(trouble_describe(&view, 1, text, sizeof(text)));
}

/* root makes it for whom dcpid runs as. */
static void
a_directory_that_is_gone_comes_with_the_command_that_makes_it(void **state)
{
	static const char expected[] =
		"cannot write /var/lib/dcpi: the directory was removed, and dcpid may not make it again: "
		"'install -d -m 0750 -o root -g root /var/lib/dcpi'; 0 samples";
	const struct collection_view view = {.config = &config, .flush_error = -DCPI_EGONE};
	char text[TROUBLE_SIZE];

	(void)state;
	if (geteuid() != 0 || getegid() != 0)
		skip_because("not root, whose name is known");
	assert_true(trouble_describe(&view, 0, text, sizeof(text)));
	assert_memory_equal(text, expected, sizeof(expected) - 1);
}

static void
a_disk_that_does_not_answer_is_told_after_half_a_minute(void **state)
{
	const struct collection_view view = {
		.config = &config,
		.kept = 5,
		.flush_pending_ns = UINT64_C(45000000000),
	};
	char text[TROUBLE_SIZE];

	(void)state;
	assert_true(trouble_describe(&view, 0, text, sizeof(text)));
	assert_string_equal(text, "writing /var/lib/dcpi has taken 45 s so far; 5 samples kept in memory");
}

static void
memory_that_is_full_comes_second(void **state)
{
	const struct collection_view view = {.config = &config, .flush_error = -EIO, .stalled = true};
	char text[TROUBLE_SIZE];

	(void)state;
	assert_true(trouble_describe(&view, 1, text, sizeof(text)));
	assert_string_equal(text, "memory for counts is full: samples that it has no room for are dropped");
	assert_false(trouble_describe(&view, 2, text, sizeof(text)));
}

static void
names_that_have_no_room_are_said_with_where_their_samples_go(void **state)
{
	const struct collection_view view = {
		.config = &config, .flush_error = -EIO, .stalled = true, .attribution = {.is_full = true}};
	char text[TROUBLE_SIZE];

	(void)state;
	assert_true(trouble_describe(&view, 2, text, sizeof(text)));
	assert_string_equal(text, "memory for names is full until the database takes them: samples of images that are "
	                          "new count as unknown (no-memory), those of new commands as (other)");
	assert_false(trouble_describe(&view, 3, text, sizeof(text)));
}

static void
a_damaged_database_that_was_put_aside_is_named_until_it_is_gone(void **state)
{
	const struct collection_view view = {
		.config = &config,
		.aside = {.name = "damaged-2026-11-21T09:43:00Z", .bytes = 3 << 19},
	};
	char text[TROUBLE_SIZE];

	(void)state;
	assert_true(trouble_describe(&view, 0, text, sizeof(text)));
	assert_string_equal(text,
	                    "the database was damaged: what it held is in /var/lib/dcpi/damaged-2026-11-21T09:43:00Z "
	                    "(1.5 MiB) until somebody saves what is whole of it ('dcpictl --db "
	                    "/var/lib/dcpi/damaged-2026-11-21T09:43:00Z salvage --to NEWDIR') and removes it");
	assert_false(trouble_describe(&view, 1, text, sizeof(text)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_trouble_is_no_sentence),
		cmocka_unit_test(a_database_that_cannot_be_written_is_named_with_what_is_kept_and_dropped),
		cmocka_unit_test(a_directory_that_is_gone_comes_with_the_command_that_makes_it),
		cmocka_unit_test(a_disk_that_does_not_answer_is_told_after_half_a_minute),
		cmocka_unit_test(memory_that_is_full_comes_second),
		cmocka_unit_test(names_that_have_no_room_are_said_with_where_their_samples_go),
		cmocka_unit_test(a_damaged_database_that_was_put_aside_is_named_until_it_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
