/* Tests of dcpi-tools/mem/collect.h with a record that its program wrote over. */
#include "dcpi-tools/mem/collect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/dcpi-tools/record_made.h"

#define SECONDS_MAX 20 /* after which the test counts as hung */

static void
a_record_of_impossibly_many_processors_is_left_out(void **state)
{
	const struct record_header header = {.magic = RECORD_MAGIC, .vcpu_count = UINT32_MAX, .pid = 1};
	struct memory_profile profile;
	struct collector *collector;
	struct setup setup;
	char directory[64];

	(void)state;
	setup_init(&setup, 1);
	setup.machine = (struct machine){.cores = 1, .nodes = 1, .clock_mhz = 1000, .line_bytes = 64};
	record_made_directory(directory);
	record_made_file(directory, RECORD_PREFIX "1.0", &header, NULL);
	assert_int_equal(memory_profile_init(&profile), 0);
	collector = collector_new(&profile, &setup, directory, 1000);
	assert_non_null(collector);
	alarm(SECONDS_MAX);
	assert_int_equal(collector_poll(collector), 0);
	assert_int_equal(collector_finish(collector), 0);
	alarm(0);
	assert_int_equal(profile.process_count, 0);
	collector_free(collector);
	memory_profile_fini(&profile);
	record_made_remove(directory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_of_impossibly_many_processors_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
