/* What errors are called. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include <libsample/error.h>

static void
errors_have_sentences(void **state)
{
	(void)state;
	assert_string_equal(sample_error_text(-ENOENT), strerror(ENOENT));
	assert_string_equal(sample_error_text(-SAMPLE_ENODATABASE), "there is no profile database here");
	assert_string_equal(sample_error_text(SAMPLE_ENODATABASE), "there is no profile database here");
}

static void
the_version_is_three_numbers(void **state)
{
	unsigned major, minor, patch;
	char rest;

	(void)state;
	/* NOLINTNEXTLINE(cert-err34-c) */
	assert_int_equal(sscanf(sample_version(), "%u.%u.%u%c", &major, &minor, &patch, &rest), 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_have_sentences),
		cmocka_unit_test(the_version_is_three_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
