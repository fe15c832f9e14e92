#include "tests/unit/profile/fixture.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/guard.h"
#include "profile/compact.h"
#include "profile/profile_internal.h"
#include "profile/retention.h"
#include "profile/selection.h"
#include "tests/unit/profile/raw.h"

#define KEYS 500

/* One sample for each of KEYS offsets; `round` 0 brings images and contexts. */
static int
flush_keys(struct profile *profile, unsigned round, uint32_t *slice, uint64_t step)
{
	static struct tally_entry entries[KEYS];

	for (size_t i = 0; i < KEYS; i++)
		entries[i] = (struct tally_entry){.offset = i * step, .count = 1};
	return flush_entries(profile, 1, 1, slice, round == 0, entries, KEYS);
}

struct reader_process {
	pid_t pid;
	int to, from; /* pipes: a byte each way */
};

/* Another process, since one process opens a database once. */
static struct reader_process
start_peer(const char *directory, void (*body)(const char *directory, int from, int to))
{
	int to[2], from[2];
	pid_t pid;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* when a test fails */
		close(to[1]);
		close(from[0]);
		body(directory, to[0], from[1]);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	return (struct reader_process){pid, to[1], from[0]};
}

static void
wait_for_peer(const struct reader_process *peer)
{
	char byte;

	assert_int_equal(read(peer->from, &byte, 1), 1);
}

static void
say_ready(int to)
{
	if (write(to, "x", 1) != 1)
		_exit(1);
}

static void
stop_peer(const struct reader_process *peer)
{
	kill(peer->pid, SIGKILL);
	waitpid(peer->pid, NULL, 0);
	close(peer->to);
	close(peer->from);
}

static void
write_forever(const char *directory, int from, int to)
{
	const struct profile_options options = {.write = true};
	struct epoch epoch = {.event_count = 1, .events[0].name = "cpu-clock"};
	struct profile *profile;
	uint32_t slice = 0;

	(void)from;
	if (profile_open(directory, &options, &profile) || profile_begin_epoch(profile, &epoch))
		_exit(1);
	for (unsigned round = 0;; round++) {
		if (flush_keys(profile, round, &slice, 512))
			_exit(1);
		if (round == 0)
			say_ready(to);
	}
}

static void
a_reader_never_sees_half_a_flush(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct reader_process writer = start_peer(fixture->directory, write_forever);
	uint64_t first = 0, last = 0;
	struct profile *profile;

	wait_for_peer(&writer);
	profile = open_reader(fixture->directory);
	/* Until it has been written twenty times meanwhile. */
	for (unsigned i = 0; i < 200 || last < first + 20; i++) {
		struct selection *selection = NULL;
		char why[256];

		assert_int_equal(selection_read(profile, &(struct selection_request){0}, &selection, why, sizeof(why)),
		                 0);
		assert_int_equal(selection->count_count, KEYS);
		last = selection->counts[0].count;
		first = i == 0 ? last : first;
		for (size_t j = 0; j < KEYS; j++)
			assert_int_equal(selection->counts[j].count, last);
		assert_int_equal(selection->events[0].totals.samples, last * KEYS);
		selection_free(selection);
		assert_int_equal(waitpid(writer.pid, NULL, WNOHANG), 0); /* still writing */
	}
	profile_close(profile);
	stop_peer(&writer);
}

static void
hold_a_transaction(const char *directory, int from, int to)
{
	const struct profile_options options = {.write = false};
	struct profile *profile;
	MDB_txn *txn;

	(void)from;
	if (profile_open(directory, &options, &profile) || store_begin(&profile->store, false, &txn))
		_exit(1);
	say_ready(to);
	for (;;)
		pause();
}

static uint64_t
file_size_after_flushes(struct profile *profile, unsigned count, uint32_t *slice)
{
	struct profile_stats stats;

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(flush_keys(profile, 1, slice, 4096), 0);
	assert_int_equal(profile_stats(profile, &stats), 0);
	return stats.file_bytes;
}

static void
a_reader_that_was_killed_does_not_make_the_file_grow(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint64_t settled, held, after;
	struct reader_process reader;
	uint32_t slice = 0;

	begin_clock_epoch(profile);
	assert_int_equal(flush_keys(profile, 0, &slice, 4096), 0);
	settled = file_size_after_flushes(profile, 20, &slice);
	assert_int_equal(file_size_after_flushes(profile, 20, &slice), settled);
	reader = start_peer(fixture->directory, hold_a_transaction);
	wait_for_peer(&reader);
	held = file_size_after_flushes(profile, 20, &slice);
	assert_true(held > settled); /* as long as it lives it keeps its pages: that is how it is seen here */
	stop_peer(&reader);
	after = file_size_after_flushes(profile, 40, &slice);
	assert_int_equal(after, held);
	profile_close(profile);
}

static void
count_warnings(void *context, enum log_level level, const char *message)
{
	unsigned *warnings = context;

	if (level == LOG_LEVEL_WARNING && strstr(message, "does not go on"))
		(*warnings)++;
}

static void
a_reader_that_does_not_go_on_is_named_once(void **state)
{
	const struct profile_fixture *fixture = *state;
	unsigned warnings = 0;
	const struct log log = {.hook = count_warnings, .context = &warnings, .limit = LOG_LEVEL_WARNING};
	const struct profile_options options = {.write = true, .log = &log};
	struct profile *profile;
	struct reader_process reader;
	uint32_t slice = 0;

	assert_int_equal(profile_open(fixture->directory, &options, &profile), 0);
	begin_clock_epoch(profile);
	assert_int_equal(flush_keys(profile, 0, &slice, 4096), 0);
	reader = start_peer(fixture->directory, hold_a_transaction);
	wait_for_peer(&reader);
	file_size_after_flushes(profile, 5, &slice);
	assert_int_equal(warnings, 0);
	file_size_after_flushes(profile, 10, &slice);
	assert_int_equal(warnings, 1);
	stop_peer(&reader);
	file_size_after_flushes(profile, 10, &slice);
	assert_int_equal(warnings, 1);
	profile_close(profile);
}

/* The sum of all bytes of all counts: what is read changes it, and so does what must not be there. */
static uint64_t
sum_of_counts(const struct store *store, MDB_txn *txn)
{
	struct store_walk walk;
	uint64_t sum = 0;
	int result;

	store_walk_begin(store, txn, TABLE_COUNTS, &walk);
	while ((result = store_walk_next(&walk)) > 0) {
		sum = sum * 31 + walk.value.mv_size;
		for (size_t i = 0; i < walk.value.mv_size; i++)
			sum = sum * 31 + ((const uint8_t *)walk.value.mv_data)[i];
	}
	store_walk_end(&walk);
	if (result)
		_exit(2);
	return sum;
}

/* LMDB has no key of 0 bytes, and looks for none. */
static void
an_error_of_seeking_comes_out_of_the_next_step(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct store_walk walk;
	uint32_t slice = 0;
	MDB_txn *txn;

	begin_clock_epoch(profile);
	assert_int_equal(flush_keys(profile, 0, &slice, 4096), 0);
	assert_int_equal(store_begin(&profile->store, false, &txn), 0);
	store_walk_begin(&profile->store, txn, TABLE_COUNTS, &walk);
	store_walk_seek(&walk, "", 0);
	assert_int_equal(store_walk_next(&walk), -DCPI_EDAMAGED);
	assert_int_equal(store_walk_next(&walk), -DCPI_EDAMAGED); /* it does not go on from where it is */
	store_walk_end(&walk);
	assert_int_equal(store_leave(&profile->store, txn, 0), 0);
	profile_close(profile);
}

/* Within one transaction, before and after the byte that says "go on": 0 when it read the same, 9 when told it went. */
static void
read_twice(const char *directory, int from, int to)
{
	const struct profile_options options = {.write = false};
	struct profile *profile;
	uint64_t first;
	MDB_txn *txn;
	char byte;
	int err;

	if (profile_open(directory, &options, &profile) || store_begin(&profile->store, false, &txn))
		_exit(1);
	first = sum_of_counts(&profile->store, txn);
	say_ready(to);
	if (read(from, &byte, 1) != 1)
		_exit(3);
	if (byte == 'r' && sum_of_counts(&profile->store, txn) != first)
		_exit(4);
	err = store_leave(&profile->store, txn, 0);
	_exit(err == -DCPI_EVERSION ? 9 : err ? 5 : 0);
}

/* Tell it to go on, 'r' to read again and 'x' only to ask whether it is told; what it ends with. */
static int
go_on(const struct reader_process *peer, char how)
{
	int status;

	assert_int_equal(write(peer->to, &how, 1), 1);
	assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
	close(peer->to);
	close(peer->from);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define SMALL_LIMIT (UINT64_C(512) << 10)

static void
what_a_reader_sees_is_kept_while_others_write(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct reader_process readers[3];
	uint32_t slice = 0;

	begin_clock_epoch(profile);
	assert_int_equal(flush_keys(profile, 0, &slice, 4096), 0);
	for (size_t i = 0; i < 3; i++) {
		readers[i] = start_peer(fixture->directory, read_twice);
		wait_for_peer(&readers[i]);
		file_size_after_flushes(profile, 20, &slice);
	}
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(go_on(&readers[i], 'r'), 0);
	profile_close(profile);
}

/* LMDB 0.9 uses pages of a version again in the third transaction after it, not before. */
static void
a_version_that_nobody_keeps_is_told_to_have_gone_when_its_pages_may_be_used(void **state)
{
	const struct profile_fixture *fixture = *state;
	char locks[96];

	snprintf(locks, sizeof(locks), "%s/readers.lock", fixture->directory);
	for (unsigned writes = 0; writes < 4; writes++) {
		struct profile *profile = open_writer(fixture->directory, 0);
		struct reader_process reader;
		uint32_t slice = 0;

		begin_clock_epoch(profile);
		assert_int_equal(flush_keys(profile, 0, &slice, 4096), 0);
		profile_close(profile);
		assert_int_equal(unlink(locks), 0); /* as a dcpid before there was one would have it */
		reader = start_peer(fixture->directory, read_twice);
		wait_for_peer(&reader);
		for (unsigned i = 0; i < writes; i++) { /* opening writes nothing, if all tables are there */
			struct raw raw;

			raw_open(&raw, fixture->directory);
			raw_put(&raw, "meta", "host", 4, "\1x", 2);
			raw_close(&raw);
		}
		assert_int_equal(go_on(&reader, 'x'), writes <= 1 ? 0 : 9);
	}
}

#define SECONDS(profile, count) ((profile)->store.readers.keep_ns = (count)*SECOND_NS)

static void
a_reader_is_cut_off_after_its_time(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct profile_stats stats;
	struct reader_process reader;
	uint32_t slice = 0;
	uint64_t held;

	begin_clock_epoch(profile);
	assert_int_equal(flush_keys(profile, 0, &slice, 4096), 0);
	SECONDS(profile, 1);
	reader = start_peer(fixture->directory, read_twice);
	wait_for_peer(&reader);
	held = file_size_after_flushes(profile, 10, &slice);
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.reader, reader.pid);
	usleep(1100000);
	assert_int_equal(file_size_after_flushes(profile, 40, &slice), held);
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.reader, 0);
	assert_int_equal(go_on(&reader, 'x'), 9);
	profile_close(profile);
}

/* At its limit the writer takes the pages that the reader sees, and the reader believes nothing of what is there now.
 */
static void
a_reader_that_does_not_go_on_is_cut_off_and_told(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, SMALL_LIMIT);
	struct profile_stats stats;
	struct reader_process reader;
	uint32_t slice = 0;
	int err;

	begin_clock_epoch(profile);
	assert_int_equal(flush_keys(profile, 0, &slice, 4096), 0);
	assert_int_equal(profile_cut_reader_off(profile, false), 0);
	reader = start_peer(fixture->directory, read_twice);
	wait_for_peer(&reader);
	do
		err = flush_keys(profile, 1, &slice, 4096);
	while (err == 0);
	assert_int_equal(err, -DCPI_EFULL);
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.reader, reader.pid);
	assert_true(stats.reader_bytes > SMALL_LIMIT / 2);

	assert_int_equal(profile_cut_reader_off(profile, false), 1);
	for (unsigned i = 0; i < 60; i++)
		assert_int_equal(flush_keys(profile, 1, &slice, 4096), 0);
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.reader, 0);
	assert_true(stats.file_bytes <= SMALL_LIMIT);
	assert_int_equal(profile_check(profile, NULL, NULL), 0);
	assert_int_equal(go_on(&reader, 'x'), 9);
	profile_close(profile);
}

static void
a_compaction_leaves_its_version_to_a_reader(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct compaction compaction;
	struct reader_process old, new;
	uint32_t slice = 0;

	begin_clock_epoch(profile);
	assert_int_equal(flush_keys(profile, 0, &slice, 4096), 0);
	old = start_peer(fixture->directory, read_twice);
	wait_for_peer(&old);
	file_size_after_flushes(profile, 10, &slice);
	assert_int_equal(profile_compact(profile, &compaction), 0);
	new = start_peer(fixture->directory, read_twice);
	wait_for_peer(&new);
	file_size_after_flushes(profile, 50, &slice);
	assert_int_equal(go_on(&old, 'r'), 0);
	assert_int_equal(go_on(&new, 'r'), 0);
	profile_close(profile);
}

#define MEMBER       64998
#define MEMBER_GROUP 64999

static void
let_members_in(const struct profile_fixture *fixture)
{
	static const char *const names[] = {"", "/data.mdb", "/lock.mdb", "/dcpid.lock", "/readers.lock"};
	char path[128];

	assert_int_equal(chmod(fixture->parent, 0755), 0);
	for (size_t i = 0; geteuid() == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", fixture->directory, names[i]);
		assert_int_equal(chown(path, 0, MEMBER_GROUP), 0);
	}
}

/* A read lock of every byte that there is, for ever, of every file that a member of the group can open. */
static void
lock_everything(const char *directory, int from, int to)
{
	static const char *const names[] = {"data.mdb", "lock.mdb", "dcpid.lock", "readers.lock"};
	struct flock all = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	char path[128];
	int locked = 0;

	(void)from;
	if (geteuid() == 0 && (setgroups(0, NULL) || setgid(MEMBER_GROUP) || setuid(MEMBER)))
		_exit(1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		if (geteuid() == MEMBER && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0)
			_exit(2);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			locked += fcntl(fd, F_SETLK, &all) == 0;
	}
	if (locked < 2) /* data.mdb and readers.lock */
		_exit(3);
	say_ready(to);
	for (;;)
		pause();
}

static void
who_locks_everything_for_ever_stops_nobody(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, SMALL_LIMIT);
	struct reader_process hostile, reader;
	uint32_t slice = 0;
	unsigned full = 0;

	begin_clock_epoch(profile);
	assert_int_equal(flush_keys(profile, 0, &slice, 4096), 0);
	let_members_in(fixture);
	hostile = start_peer(fixture->directory, lock_everything);
	wait_for_peer(&hostile);
	for (unsigned i = 0; i < 400; i++) {
		int err = flush_keys(profile, 1, &slice, 4096);

		if (err == -DCPI_EFULL) {
			full++;
			assert_int_equal(profile_cut_reader_off(profile, true), 1);
			err = flush_keys(profile, 1, &slice, 4096);
		}
		assert_int_equal(err, 0);
	}
	assert_true(full > 0); /* it did hold pages */
	reader = start_peer(fixture->directory, read_twice);
	wait_for_peer(&reader);
	file_size_after_flushes(profile, 5, &slice);
	assert_int_equal(go_on(&reader, 'r'), 0);
	stop_peer(&hostile);
	profile_close(profile);
}

static void
raise_fault(void)
{
	volatile char *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*nothing = 1;
}

/* What is written into the page that a reader sees next would fault in LMDB: the sentence is not that of damage. */
static void
fault_in_what_has_gone(const char *directory, int from, int to)
{
	struct guard guard = {.subject = "DB", .claim = "the database is damaged", .advice = "", .status = 3};
	const struct profile_options options = {.write = false};
	struct profile *profile;
	MDB_txn *txn;
	char byte;

	guard_enter(&guard);
	if (profile_open(directory, &options, &profile) || store_begin(&profile->store, false, &txn))
		_exit(1);
	dup2(to, STDERR_FILENO);
	say_ready(to);
	if (read(from, &byte, 1) != 1)
		_exit(2);
	raise_fault();
	_exit(5);
}

static void
a_fault_in_what_has_gone_is_no_damage(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	char said[512] = "";
	uint32_t slice = 0;

	begin_clock_epoch(profile);
	assert_int_equal(flush_keys(profile, 0, &slice, 4096), 0);
	for (int gone = 0; gone < 2; gone++) {
		struct reader_process reader = start_peer(fixture->directory, fault_in_what_has_gone);
		int status;

		wait_for_peer(&reader);
		file_size_after_flushes(profile, 5, &slice);
		if (gone) {
			assert_int_equal(profile_cut_reader_off(profile, true), 1);
			file_size_after_flushes(profile, 5, &slice);
		}
		assert_int_equal(write(reader.to, "x", 1), 1);
		assert_int_equal(waitpid(reader.pid, &status, 0), reader.pid);
		assert_true(WIFEXITED(status));
		assert_true(read(reader.from, said, sizeof(said) - 1) > 0);
		assert_int_equal(WEXITSTATUS(status), gone ? 1 : 3);
		assert_non_null(strstr(said, gone ? "the version of the database that was being read has gone"
		                                  : "the database is damaged"));
		close(reader.to);
		close(reader.from);
	}
	profile_close(profile);
}

/* Open, and read only when told: by then the map has grown. */
static void
read_when_told(const char *directory, int from, int to)
{
	const struct profile_options options = {.write = false};
	struct selection *selection;
	struct profile *profile;
	char byte, why[256];

	if (profile_open(directory, &options, &profile))
		_exit(1);
	say_ready(to);
	if (read(from, &byte, 1) != 1)
		_exit(2);
	if (selection_read(profile, &(struct selection_request){0}, &selection, why, sizeof(why)))
		_exit(3);
	if (selection->count_count < 20 * KEYS)
		_exit(4);
	selection_free(selection);
	profile_close(profile);
	_exit(0);
}

static void
a_reader_follows_a_limit_that_was_raised(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 128 << 10);
	struct profile_stats stats;
	struct reader_process reader;
	uint32_t slice = 0;
	int status;

	begin_clock_epoch(profile);
	assert_int_equal(flush_keys(profile, 0, &slice, 8), 0);
	profile_close(profile);
	reader = start_peer(fixture->directory, read_when_told);
	wait_for_peer(&reader);
	profile = open_writer(fixture->directory, 64 << 20);
	for (unsigned round = 0; round < 20; round++) {
		slice = 0;
		assert_int_equal(flush_keys(profile, round, &slice, 4096 + round * 4), 0);
	}
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_true(stats.file_bytes > 128 << 10);
	assert_int_equal(write(reader.to, "x", 1), 1);
	assert_int_equal(waitpid(reader.pid, &status, 0), reader.pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(reader.to);
	close(reader.from);
	profile_close(profile);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reader_never_sees_half_a_flush),
		TEST(a_reader_that_was_killed_does_not_make_the_file_grow),
		TEST(a_reader_that_does_not_go_on_is_named_once),
		TEST(an_error_of_seeking_comes_out_of_the_next_step),
		TEST(what_a_reader_sees_is_kept_while_others_write),
		TEST(a_version_that_nobody_keeps_is_told_to_have_gone_when_its_pages_may_be_used),
		TEST(a_reader_is_cut_off_after_its_time),
		TEST(a_reader_that_does_not_go_on_is_cut_off_and_told),
		TEST(a_compaction_leaves_its_version_to_a_reader),
		TEST(who_locks_everything_for_ever_stops_nobody),
		TEST(a_fault_in_what_has_gone_is_no_damage),
		TEST(a_reader_follows_a_limit_that_was_raised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
