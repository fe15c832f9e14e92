#include "tests/unit/profile/fixture.h"

#include <dlfcn.h>
#include <lmdb.h>
#include <signal.h>

#include "dcpi-tools/common/database.h"

static unsigned reads, reads_that_stop;

static bool
is_stoppable(void)
{
	sigset_t blocked;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	return !sigismember(&blocked, SIGTSTP);
}

/* In the place of LMDB's, which it calls: a look into the middle of a transaction. */
int
mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op operation)
{
	int (*real)(MDB_cursor *, MDB_val *, MDB_val *, MDB_cursor_op);

	*(void **)&real = dlsym(RTLD_NEXT, "mdb_cursor_get");
	reads++;
	reads_that_stop += is_stoppable();
	return real(cursor, key, value, operation);
}

static void
a_report_cannot_be_stopped_in_a_transaction(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct tally_entry entry = {.offset = 0x1130, .count = 7};
	const struct selection_request request = {0};
	struct profile *profile = open_writer(fixture->directory, 0);
	struct selection *selection;
	struct database database;
	uint32_t slice = 0;

	begin_clock_epoch(profile);
	assert_int_equal(flush_entries(profile, 1, 1, &slice, true, &entry, 1), 0);
	profile_close(profile);
	assert_int_equal(database_open(&database, fixture->directory), 0);
	reads = reads_that_stop = 0;
	assert_int_equal(database_select(&database, &request, &selection), 0);
	assert_int_equal(selection->count_count, 1);
	assert_true(reads > 0);
	assert_int_equal(reads_that_stop, 0);
	assert_true(is_stoppable());
	selection_free(selection);
	database_close(&database);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_report_cannot_be_stopped_in_a_transaction, fixture_setup,
	                                        fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
