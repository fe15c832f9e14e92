/* Tests of dcpi-tools/mem/format.h. */
#include "dcpi-tools/mem/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void
assert_size(uint64_t bytes, const char *expected)
{
	char text[MEM_TEXT_SIZE];

	assert_string_equal(mem_size_format(bytes, text), expected);
}

static void
sizes_have_three_digits_or_are_whole(void **state)
{
	(void)state;
	assert_size(0, "0");
	assert_size(1023, "1023");
	assert_size(1536, "1.5 KiB");
	assert_size(UINT64_C(8) << 20, "8 MiB");
	assert_size(UINT64_C(160) << 10, "160 KiB");
	assert_size(UINT64_C(1023) << 10, "1023 KiB");
	assert_size((UINT64_C(999) << 10) + 600, "1000 KiB");
	assert_size((UINT64_C(1) << 20) - 100, "1 MiB");
	assert_size(UINT64_C(2000) << 40, "2000 TiB");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_have_three_digits_or_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
