/* Tests of emulator/model/l1.h. */
#include "tests/unit/test.h"

#include "emulator/model/l1.h"
#include "tests/unit/emulator/reference_cache.h"

static void
compare_with_reference(unsigned entries, unsigned ways, bool first_in_first_out)
{
	const struct machine_tlb model = {.entries = entries, .ways = ways};
	struct reference_cache reference = reference_new(entries / ways, ways, first_in_first_out);
	uint64_t random = entries, page = 0;
	struct tlb tlb;

	assert_int_equal(tlb_init(&tlb, &model), 0);
	for (unsigned i = 0; i < 30000; i++) {
		struct reference_found wanted;

		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		page = random >> 62 ? (random >> 33) % (entries * 3 / 2) : page + 1;
		wanted = reference_access(&reference, page, false);
		assert_int_equal(tlb_access(&tlb, page), wanted.hit);
	}
	tlb_fini(&tlb);
	reference_free(&reference);
}

static void
with_sets_it_is_the_reference_in_the_order_of_lru(void **state)
{
	(void)state;
	compare_with_reference(64, 4, false);
	compare_with_reference(128, 4, false);
	compare_with_reference(1536, 6, false);
	compare_with_reference(1024, 8, false);
	compare_with_reference(2048, 16, false);
}

static void
fully_associative_it_is_the_reference_first_in_first_out(void **state)
{
	(void)state;
	compare_with_reference(1, 1, true);
	compare_with_reference(8, 8, true);
	compare_with_reference(64, 64, true);
	compare_with_reference(72, 72, true);
	compare_with_reference(4096, 1024, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_sets_it_is_the_reference_in_the_order_of_lru),
		cmocka_unit_test(fully_associative_it_is_the_reference_first_in_first_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
