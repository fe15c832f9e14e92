/* Tests of emulator/tb_flush.h. */
#include "tests/unit/test.h"

#include <string.h>

#include "emulator/tb_flush.h"

/* The emulator's: its second virtual CPU is there. */
static char cpu;
static char done[64];

static void *
find_cpu(int vcpu)
{
	return vcpu == 1 ? &cpu : NULL;
}

static void
begin_alone(void)
{
	strcat(done, "begins ");
}

static void
end_alone(void)
{
	strcat(done, "ends ");
}

static void
forget(void *of)
{
	strcat(done, of == &cpu ? "forgets " : "wrong ");
}

static const struct tb_flush emulator = {find_cpu, begin_alone, end_alone, forget};

static void
code_is_forgotten_while_no_other_thread_executes_any(void **state)
{
	(void)state;
	done[0] = '\0';
	tb_flush_all(&emulator, 1);
	assert_string_equal(done, "begins forgets ends ");
}

static void
without_its_virtual_cpu_nothing_is_done(void **state)
{
	(void)state;
	done[0] = '\0';
	tb_flush_all(&emulator, 0);
	assert_string_equal(done, "");
}

static void
another_emulator_cannot(void **state)
{
	struct tb_flush flush;

	(void)state;
	assert_false(tb_flush_init(&flush));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_forgotten_while_no_other_thread_executes_any),
		cmocka_unit_test(without_its_virtual_cpu_nothing_is_done),
		cmocka_unit_test(another_emulator_cannot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
