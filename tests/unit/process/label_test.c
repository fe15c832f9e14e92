#include "tests/unit/test.h"

#include "process/label.h"

static void
a_label_is_there_until_its_last_owner_has_gone(void **state)
{
	struct label *label = label_new("run1"), *share = label_share(label);

	(void)state;
	assert_ptr_equal(label, share);
	label_release(label);
	assert_string_equal(label_text(share), "run1");
	label_release(share); /* a leak, or a second release, the sanitizers would tell */
}

static void
no_label_is_an_empty_text(void **state)
{
	(void)state;
	assert_string_equal(label_text(NULL), "");
	assert_null(label_share(NULL));
	label_release(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_label_is_there_until_its_last_owner_has_gone),
		cmocka_unit_test(no_label_is_an_empty_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
