/* Tests of emulator/qemu_functions.h. */
#include "tests/unit/test.h"

#include <string.h>

#include "emulator/qemu_functions.h"

/* The emulator's: as long as there are four of them, then the second only. */
static char cpus[4];
static unsigned alive;
static char forgotten[8];

static void *
find_cpu(int vcpu)
{
	return vcpu < 4 && (alive >> vcpu & 1) ? &cpus[vcpu] : NULL;
}

static void
forget_cpu(void *cpu)
{
	forgotten[strlen(forgotten)] = (char)('0' + (char *)cpu - cpus);
}

static struct forked_cpus
note_all(void)
{
	struct forked_cpus forked = {.find = find_cpu, .forget = forget_cpu};

	memset(forgotten, 0, sizeof(forgotten));
	alive = 0xf;
	forked_cpus_note(&forked, 10);
	return forked;
}

static void
the_child_forgets_all_but_its_own(void **state)
{
	struct forked_cpus forked = note_all();

	(void)state;
	forked_cpus_begin(&forked);
	alive = 1 << 1;
	forked_cpus_forget(&forked, 1);
	assert_string_equal(forgotten, "023");
	assert_false(forked.is_forgetting);
}

static void
it_forgets_once(void **state)
{
	struct forked_cpus forked = note_all();

	(void)state;
	forked_cpus_begin(&forked);
	forked_cpus_forget(&forked, 1);
	forked_cpus_forget(&forked, 1);
	assert_string_equal(forgotten, "023");
}

static void
the_parent_forgets_none(void **state)
{
	struct forked_cpus forked = note_all();

	(void)state;
	forked_cpus_forget(&forked, 1);
	assert_string_equal(forgotten, "");
}

static void
an_emulator_without_the_functions_is_left_alone(void **state)
{
	struct forked_cpus forked = {0};

	(void)state;
	forked_cpus_note(&forked, 10);
	forked_cpus_begin(&forked);
	forked_cpus_forget(&forked, 0);
	assert_int_equal(forked.count, 0);
}

/* The emulator's: its second virtual CPU is there. */
static char second_cpu;
static char done[64];

static void *
find_second_cpu(int vcpu)
{
	return vcpu == 1 ? &second_cpu : NULL;
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
	strcat(done, of == &second_cpu ? "forgets " : "wrong ");
}

static const struct tb_flush emulator = {find_second_cpu, begin_alone, end_alone, forget};

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
		cmocka_unit_test(the_child_forgets_all_but_its_own),
		cmocka_unit_test(it_forgets_once),
		cmocka_unit_test(the_parent_forgets_none),
		cmocka_unit_test(an_emulator_without_the_functions_is_left_alone),
		cmocka_unit_test(code_is_forgotten_while_no_other_thread_executes_any),
		cmocka_unit_test(without_its_virtual_cpu_nothing_is_done),
		cmocka_unit_test(another_emulator_cannot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
