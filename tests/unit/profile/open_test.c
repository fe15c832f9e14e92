#include "tests/unit/profile/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static mode_t
mode_of(const char *directory, const char *name)
{
	char path[128];
	struct stat stat;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(lstat(path, &stat), 0);
	return stat.st_mode & 07777;
}

static int
try_open(const char *directory, bool write)
{
	const struct profile_options options = {.write = write};
	struct profile *profile = NULL;
	int err = profile_open(directory, &options, &profile);

	profile_close(profile);
	return err;
}

/* Run `body` in a process of its own; what it returns, or -1 when it ends otherwise. */
static int
in_child(int (*body)(const char *directory), const char *directory)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(body(directory) & 0xff);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
try_open_beside(const char *directory)
{
	const struct profile_options options = {.write = true, .beside = true};
	struct profile *profile;
	int err = profile_open(directory, &options, &profile);

	if (!err)
		profile_close(profile);
	return err;
}

static void
file_modes_do_not_depend_on_the_umask(void **state)
{
	const struct profile_fixture *fixture = *state;
	const mode_t masks[] = {0, 0077};

	for (size_t i = 0; i < 2; i++) {
		char directory[80];
		mode_t before = umask(masks[i]);

		snprintf(directory, sizeof(directory), "%s%zu", fixture->directory, i);
		assert_int_equal(try_open(directory, true), 0);
		umask(before);
		assert_int_equal(mode_of(directory, "."), 0750);
		assert_int_equal(mode_of(directory, "data.mdb"), 0640);
		assert_int_equal(mode_of(directory, "lock.mdb"), 0600);
		assert_int_equal(mode_of(directory, "dcpid.lock"), 0600);
		assert_int_equal(mode_of(directory, "readers.lock"), 0640);
	}
}

static void
a_directory_that_exists_keeps_its_mode(void **state)
{
	const struct profile_fixture *fixture = *state;

	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	assert_int_equal(chmod(fixture->directory, 02755), 0);
	assert_int_equal(try_open(fixture->directory, true), 0);
	assert_int_equal(mode_of(fixture->directory, "."), 02755);
}

static void
a_symbolic_link_in_the_place_of_the_directory_is_refused(void **state)
{
	const struct profile_fixture *fixture = *state;
	char link[80], with_slash[96];

	assert_int_equal(try_open(fixture->directory, true), 0);
	snprintf(link, sizeof(link), "%s/link", fixture->parent);
	snprintf(with_slash, sizeof(with_slash), "%s//", link);
	assert_int_equal(symlink(fixture->directory, link), 0);
	assert_int_equal(try_open(link, true), -DCPI_ESYMLINK);
	assert_int_equal(try_open(with_slash, true), -DCPI_ESYMLINK);
	assert_int_equal(try_open(link, false), -DCPI_ESYMLINK);
}

static void
a_directory_of_another_user_is_not_written(void **state)
{
	const struct profile_fixture *fixture = *state;

	if (geteuid() != 0)
		skip_because("only root can give a directory away");
	unsetenv("SUDO_UID");
	assert_int_equal(try_open(fixture->directory, true), 0);
	assert_int_equal(chown(fixture->directory, 60123, 60123), 0);
	assert_int_equal(try_open(fixture->directory, true), -DCPI_EOWNER);
	assert_int_equal(try_open(fixture->directory, false), 0); /* to read it is no privilege */
	setenv("SUDO_UID", "60123", 1);
	assert_int_equal(try_open(fixture->directory, true), 0);
	setenv("SUDO_UID", "60124", 1);
	assert_int_equal(try_open(fixture->directory, true), -DCPI_EOWNER);
	unsetenv("SUDO_UID");
}

static void
a_directory_that_all_may_write_is_not_written(void **state)
{
	const struct profile_fixture *fixture = *state;

	assert_int_equal(try_open(fixture->directory, true), 0);
	assert_int_equal(chmod(fixture->directory, 0777), 0);
	assert_int_equal(try_open(fixture->directory, true), -DCPI_EOWNER);
	assert_int_equal(chmod(fixture->directory, 01777), 0); /* others could still put files there */
	assert_int_equal(try_open(fixture->directory, true), -DCPI_EOWNER);
	assert_int_equal(try_open(fixture->directory, false), 0);
	assert_int_equal(chmod(fixture->directory, 0755), 0);
	assert_int_equal(try_open(fixture->directory, true), 0);
}

static void
data_that_others_may_write_are_not_written(void **state)
{
	const struct profile_fixture *fixture = *state;
	char path[96];

	assert_int_equal(try_open(fixture->directory, true), 0);
	snprintf(path, sizeof(path), "%s/data.mdb", fixture->directory);
	assert_int_equal(chmod(path, 0646), 0);
	assert_int_equal(try_open(fixture->directory, true), -DCPI_EOWNER);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(try_open(fixture->directory, true), 0);
}

#define READER_GROUP 64999
#define READER_USER  64998

/* With umask 002 a user's own directories may be written by the user's private group. */
static void
a_group_may_write_where_it_is_the_owners_own(void **state)
{
	const struct profile_fixture *fixture = *state;

	if (geteuid() != 0)
		skip_because("only root can give a directory to any group");
	assert_int_equal(try_open(fixture->directory, true), 0);
	assert_int_equal(chmod(fixture->directory, 0775), 0);
	assert_int_equal(try_open(fixture->directory, true), 0);
	assert_int_equal(chown(fixture->directory, 0, READER_GROUP), 0);
	assert_int_equal(chmod(fixture->directory, 0775), 0);
	assert_int_equal(try_open(fixture->directory, true), -DCPI_EOWNER);
}

struct heard {
	unsigned warnings;
	char text[160];
};

static void
hear(void *context, enum log_level level, const char *message)
{
	struct heard *heard = context;

	heard->warnings += level == LOG_LEVEL_WARNING;
	snprintf(heard->text, sizeof(heard->text), "%s", message);
}

static void
root_is_warned_of_a_database_that_another_user_can_change(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct heard heard = {0};
	const struct log log = {.hook = hear, .context = &heard, .limit = LOG_LEVEL_WARNING};
	const struct profile_options options = {.log = &log};
	struct profile *profile;
	char path[96];

	if (geteuid() != 0)
		skip_because("needs root");
	unsetenv("SUDO_UID");
	assert_int_equal(try_open(fixture->directory, true), 0);
	assert_int_equal(profile_open(fixture->directory, &options, &profile), 0);
	profile_close(profile);
	assert_int_equal(heard.warnings, 0);
	snprintf(path, sizeof(path), "%s/data.mdb", fixture->directory);
	assert_int_equal(chown(path, 60123, 60123), 0);
	assert_int_equal(profile_open(fixture->directory, &options, &profile), 0);
	profile_close(profile);
	assert_int_equal(heard.warnings, 1);
	assert_string_equal(heard.text, "the database belongs to user 60123, who can make it say anything: better read "
	                                "it as that user");
}

/* Where a reader looks: what the link points to is a database, and not read. */
static void
a_reader_follows_no_link_to_the_data(void **state)
{
	const struct profile_fixture *fixture = *state;
	char other[96], link[128], target[128];

	snprintf(other, sizeof(other), "%s/other", fixture->parent);
	assert_int_equal(try_open(fixture->directory, true), 0);
	assert_int_equal(try_open(other, true), 0);
	snprintf(link, sizeof(link), "%s/data.mdb", fixture->directory);
	snprintf(target, sizeof(target), "%s/data.mdb", other);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(try_open(fixture->directory, false), -DCPI_ESYMLINK);
	assert_int_equal(try_open(fixture->directory, true), -DCPI_ESYMLINK);
}

static void
files_of_another_user_are_not_written(void **state)
{
	static const char *const names[] = {"data.mdb", "lock.mdb", "dcpid.lock", "readers.lock"};
	const struct profile_fixture *fixture = *state;
	char path[96];

	if (geteuid() != 0)
		skip_because("only root can give a file away");
	assert_int_equal(try_open(fixture->directory, true), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", fixture->directory, names[i]);
		assert_int_equal(chown(path, 60123, 60123), 0);
		assert_int_equal(try_open(fixture->directory, true), -DCPI_EOWNER);
		assert_int_equal(chown(path, 0, 0), 0);
		assert_int_equal(try_open(fixture->directory, true), 0);
	}
}

static void
symbolic_links_in_the_place_of_files_are_refused(void **state)
{
	const struct profile_fixture *fixture = *state;
	char target[80], link[96];

	snprintf(target, sizeof(target), "%s/target", fixture->parent);
	close(creat(target, 0600));
	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	for (size_t i = 0; i < 3; i++) { /* readers.lock is replaced as it is */
		static const char *const names[] = {"data.mdb", "lock.mdb", "dcpid.lock"};
		struct stat stat;

		snprintf(link, sizeof(link), "%s/%s", fixture->directory, names[i]);
		unlink(link);
		assert_int_equal(symlink(target, link), 0);
		assert_int_equal(try_open(fixture->directory, true), -DCPI_ESYMLINK);
		assert_int_equal(unlink(link), 0);
		assert_int_equal(lstat(target, &stat), 0);
		assert_int_equal(stat.st_size, 0);
	}
}

static void
a_missing_parent_is_told_from_a_missing_database(void **state)
{
	const struct profile_fixture *fixture = *state;
	char deep[96];

	snprintf(deep, sizeof(deep), "%s/no/db", fixture->parent);
	assert_int_equal(try_open(deep, true), -ENOENT);
	assert_int_equal(try_open(deep, false), -DCPI_ENODATABASE);
	assert_int_equal(try_open(fixture->parent, false), -DCPI_ENODATABASE);
}

static void
fill_data_file(const char *directory, size_t size)
{
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "%s/data.mdb", directory);
	file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < size; i++)
		fputc('x', file);
	assert_int_equal(fclose(file), 0);
}

/* A full disk or a kill at the wrong moment leaves such a file, which must not be in the way for ever. */
static void
a_file_that_never_got_its_first_pages_is_begun_anew(void **state)
{
	const struct profile_fixture *fixture = *state;

	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	fill_data_file(fixture->directory, 8191);
	assert_int_equal(try_open(fixture->directory, false), -DCPI_EDAMAGED);
	assert_int_equal(try_open(fixture->directory, true), 0);
	assert_int_equal(try_open(fixture->directory, false), 0);
	fill_data_file(fixture->directory, 8192);
	assert_int_equal(try_open(fixture->directory, true), -DCPI_EDAMAGED);
}

/* Hold the database until killed; tell through `ready` when it is open. */
static pid_t
hold_database(const char *directory)
{
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		const struct profile_options options = {.write = true};
		struct profile *profile;

		prctl(PR_SET_PDEATHSIG, SIGKILL); /* when the test fails */
		if (profile_open(directory, &options, &profile) || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void
a_second_writer_is_refused_and_the_first_is_known(void **state)
{
	const struct profile_fixture *fixture = *state;
	pid_t child = hold_database(fixture->directory);

	assert_int_equal(try_open(fixture->directory, true), -DCPI_ERUNNING);
	assert_int_equal(profile_owner(fixture->directory), child);
	assert_int_equal(try_open(fixture->directory, false), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(profile_owner(fixture->directory), 0);
	assert_int_equal(try_open(fixture->directory, true), 0);
	assert_int_equal(profile_owner(fixture->directory), 0);
}

static uint32_t
begin_an_epoch(const char *directory)
{
	static const char *const names[] = {"cycles"};
	struct profile *profile = open_writer(directory, 0);
	uint32_t id = begin_epoch_of(profile, "host", 1, "", names, 1);

	profile_close(profile);
	return id;
}

/*
 * The first that opens LMDB's lock file makes it anew, alone. Play one that dies after it wrote "no transaction yet",
 * while another waits for its turn: what is committed has to stay, and what comes next, too.
 */
static void
a_lock_file_left_half_made_costs_no_transaction(void **state)
{
	const struct profile_fixture *fixture = *state;
	const off_t after_mutex = 8 + sizeof(pthread_mutex_t); /* where LMDB 0.9 has the number */
	const uint64_t none = 0;
	uint32_t epochs = 0;
	char path[80];

	snprintf(path, sizeof(path), "%s/lock.mdb", fixture->directory);
	for (int round = 0; round < 4; round++) {
		int ready[2];
		pid_t child;
		char byte;

		assert_int_equal(begin_an_epoch(fixture->directory), ++epochs);
		assert_int_equal(begin_an_epoch(fixture->directory), ++epochs);
		assert_int_equal(pipe(ready), 0);
		child = fork();
		if (child == 0) {
			struct flock alone = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
			int fd = open(path, O_RDWR);

			if (fd < 0 || fcntl(fd, F_SETLK, &alone) < 0 ||
			    pwrite(fd, &none, sizeof(none), after_mutex) != sizeof(none) ||
			    write(ready[1], "x", 1) != 1)
				_exit(1);
			usleep(200000); /* the parent waits by now */
			_exit(0);
		}
		assert_int_equal(read(ready[0], &byte, 1), 1);
		assert_int_equal(begin_an_epoch(fixture->directory), ++epochs);
		assert_int_equal(waitpid(child, NULL, 0), child);
		close(ready[0]);
		close(ready[1]);
	}
}

static void
a_directory_without_a_writer_ever_has_no_owner(void **state)
{
	const struct profile_fixture *fixture = *state;

	assert_int_equal(profile_owner(fixture->parent), 0);
	assert_int_equal(profile_owner(fixture->directory), -ENOENT);
}

static int
read_as_member(const char *directory)
{
	const gid_t groups[] = {READER_GROUP};

	if (setgroups(1, groups) || setgid(READER_USER) || setuid(READER_USER))
		return 100;
	return -try_open(directory, false);
}

static int
read_as_stranger(const char *directory)
{
	if (setgroups(0, NULL) || setgid(READER_USER) || setuid(READER_USER))
		return 100;
	return -try_open(directory, false);
}

static void
the_group_may_read_and_others_may_not(void **state)
{
	const struct profile_fixture *fixture = *state;
	char path[128];

	if (geteuid() != 0)
		skip_because("needs root to become another user");
	assert_int_equal(try_open(fixture->directory, true), 0);
	assert_int_equal(chmod(fixture->parent, 0755), 0);
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = {".", "data.mdb", "readers.lock"};

		snprintf(path, sizeof(path), "%s/%s", fixture->directory, names[i]);
		assert_int_equal(chown(path, 0, READER_GROUP), 0);
	}
	assert_int_equal(in_child(read_as_member, fixture->directory), 0);
	assert_int_equal(in_child(read_as_stranger, fixture->directory), EACCES);
}

static int
read_on_read_only_mount(const char *directory)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(directory, directory, NULL, MS_BIND, NULL) ||
	    mount(NULL, directory, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL))
		return 100;
	if (try_open(directory, true) != -EROFS)
		return 101;
	return -try_open(directory, false);
}

static void
a_read_only_file_system_can_be_read(void **state)
{
	const struct profile_fixture *fixture = *state;
	char lock[96];
	int status;

	assert_int_equal(try_open(fixture->directory, true), 0);
	status = in_child(read_on_read_only_mount, fixture->directory);
	if (status == 100)
		skip_because("mounting is not permitted");
	assert_int_equal(status, 0);
	snprintf(lock, sizeof(lock), "%s/lock.mdb", fixture->directory);
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(in_child(read_on_read_only_mount, fixture->directory), 0);
}

static void
a_reader_makes_and_changes_nothing(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const char *const names[] = {"lock.mdb", "readers.lock", "dcpid.lock"};
	char path[96];
	struct stat stat;

	assert_int_equal(try_open(fixture->directory, true), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", fixture->directory, names[i]);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(try_open(fixture->directory, false), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", fixture->directory, names[i]);
		assert_int_equal(lstat(path, &stat), -1);
	}
}

/* Who had it open when it was everybody's keeps what nobody uses any more. */
static void
a_lock_file_that_others_could_write_is_replaced(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct stat before, after;
	char path[96];
	int held;

	assert_int_equal(try_open(fixture->directory, true), 0);
	snprintf(path, sizeof(path), "%s/lock.mdb", fixture->directory);
	assert_int_equal(chmod(path, 0660), 0);
	held = open(path, O_RDWR | O_CLOEXEC);
	assert_true(held >= 0);
	assert_int_equal(fstat(held, &before), 0);
	assert_int_equal(try_open(fixture->directory, true), 0);
	assert_int_equal(lstat(path, &after), 0);
	assert_int_not_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_mode & 07777, 0600);
	close(held);
}

/* Another writer of an older version has it open, and the mutexes in it are held by both: it stays, for those two. */
static void
a_lock_file_that_is_in_use_is_closed_to_others(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct stat before, after;
	char path[96];
	pid_t child;

	child = hold_database(fixture->directory);
	snprintf(path, sizeof(path), "%s/lock.mdb", fixture->directory);
	assert_int_equal(chmod(path, 0660), 0);
	assert_int_equal(lstat(path, &before), 0);
	assert_int_equal(try_open_beside(fixture->directory), 0);
	assert_int_equal(lstat(path, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_mode & 07777, 0600);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void
what_root_makes_beside_the_data_belongs_to_their_owner(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const char *const names[] = {"lock.mdb", "readers.lock"};
	char path[96];
	char caller[16];
	struct stat stat;

	if (geteuid() != 0)
		skip_because("needs root");
	snprintf(caller, sizeof(caller), "%d", READER_USER);
	setenv("SUDO_UID", caller, 1); /* for others root does not write */
	assert_int_equal(try_open(fixture->directory, true), 0);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", fixture->directory, names[i]);
		assert_int_equal(unlink(path), 0);
	}
	snprintf(path, sizeof(path), "%s/data.mdb", fixture->directory);
	assert_int_equal(chown(path, READER_USER, READER_GROUP), 0);
	assert_int_equal(try_open_beside(fixture->directory), 0);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", fixture->directory, names[i]);
		assert_int_equal(lstat(path, &stat), 0);
		assert_int_equal(stat.st_uid, READER_USER);
		assert_int_equal(stat.st_gid, READER_GROUP);
	}
	unsetenv("SUDO_UID");
}

static void
a_newer_schema_is_refused_and_left_alone(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct raw_entry entry = {0};
	struct raw raw;

	assert_int_equal(try_open(fixture->directory, true), 0);
	raw_open(&raw, fixture->directory);
	raw_put(&raw, "meta", "schema", 6, "\1\13", 2);
	assert_int_equal(mdb_drop(raw.txn, raw_table(&raw, "symbols"), 1), 0);
	raw_close(&raw);
	assert_int_equal(try_open(fixture->directory, false), -DCPI_ENEWER);
	assert_int_equal(try_open(fixture->directory, true), -DCPI_ENEWER);
	raw_open(&raw, fixture->directory);
	assert_true(raw_entry_at(&raw, "meta", 2, &entry)); /* created, host, schema */
	assert_memory_equal(entry.value, "\1\13", 2);
	free(entry.key);
	free(entry.value);
	raw_close(&raw);
}

static void
an_older_schema_is_read_and_a_writer_makes_it_the_present_one(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct {
		bool write;
		const char *value;
	} steps[] = {{false, "\1\1"}, {true, "\1\12"}};
	struct raw_entry entry = {0};
	struct raw raw;

	assert_int_equal(try_open(fixture->directory, true), 0);
	raw_put_once(fixture->directory, "meta", "schema", 6, "\1\1", 2);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_int_equal(try_open(fixture->directory, steps[i].write), 0);
		raw_open(&raw, fixture->directory);
		assert_true(raw_entry_at(&raw, "meta", 2, &entry)); /* created, host, schema */
		assert_int_equal(entry.size, 2);
		assert_memory_equal(entry.value, steps[i].value, 2);
		free(entry.key);
		free(entry.value);
		raw_close(&raw);
	}
}

static void
a_schema_that_cannot_be_read_is_damage(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct {
		const char *value;
		size_t size;
	} values[] = {{"\1\0", 2}, {"\1", 1}, {"\2\1", 2}, {"\1\1\1", 3}, {"", 0}};

	assert_int_equal(try_open(fixture->directory, true), 0);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		raw_put_once(fixture->directory, "meta", "schema", 6, values[i].value, values[i].size);
		assert_int_equal(try_open(fixture->directory, false), -DCPI_EDAMAGED);
		assert_int_equal(try_open(fixture->directory, true), -DCPI_EDAMAGED);
	}
	raw_delete_once(fixture->directory, "meta", "schema", 6);
	assert_int_equal(try_open(fixture->directory, true), -DCPI_EDAMAGED);
}

static void
a_table_that_is_missing_is_damage_to_a_reader(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct raw raw;

	assert_int_equal(try_open(fixture->directory, true), 0);
	raw_open(&raw, fixture->directory);
	assert_int_equal(mdb_drop(raw.txn, raw_table(&raw, "counts"), 1), 0);
	raw_close(&raw);
	assert_int_equal(try_open(fixture->directory, false), -DCPI_EDAMAGED);
}

static void
a_database_of_someone_else_is_refused_and_left_alone(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct raw raw;
	MDB_stat stat;

	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	raw_put_once(fixture->directory, "recipes", "cake", 4, "sugar", 5);
	assert_int_equal(try_open(fixture->directory, false), -DCPI_EFOREIGN);
	assert_int_equal(try_open(fixture->directory, true), -DCPI_EFOREIGN);
	raw_open(&raw, fixture->directory);
	assert_int_equal(mdb_stat(raw.txn, 1, &stat), 0); /* LMDB's table of tables */
	assert_int_equal(stat.ms_entries, 1);
	raw_close(&raw);
}

/* LMDB takes these bytes for a leaf, in which it finds no table. */
static void
a_database_that_is_overwritten_by_what_looks_like_a_leaf_is_damage(void **state)
{
	const struct profile_fixture *fixture = *state;
	char path[96], text[4096];
	int fd;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "age\ndam"[i % 7];
	snprintf(path, sizeof(path), "%s/data.mdb", fixture->directory);
	assert_int_equal(try_open(fixture->directory, true), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	/* What it takes for entries lies up to 64 KiB behind the root: no fault there. */
	for (off_t page = 2; page < 64; page++)
		assert_int_equal(pwrite(fd, text, sizeof(text), page * (off_t)sizeof(text)), sizeof(text));
	close(fd);
	assert_int_equal(try_open(fixture->directory, true), -DCPI_EDAMAGED);
	assert_int_equal(try_open(fixture->directory, false), -DCPI_EDAMAGED);
}

static void
a_file_that_is_no_database_is_damage(void **state)
{
	const struct profile_fixture *fixture = *state;
	char path[96], garbage[8192];
	FILE *file;

	memset(garbage, 'x', sizeof(garbage));
	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	snprintf(path, sizeof(path), "%s/data.mdb", fixture->directory);
	file = fopen(path, "w");
	assert_int_equal(fwrite(garbage, sizeof(garbage), 1, file), 1);
	fclose(file);
	assert_int_equal(try_open(fixture->directory, false), -DCPI_EDAMAGED);
	assert_int_equal(try_open(fixture->directory, true), -DCPI_EDAMAGED);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(try_open(fixture->directory, false), -DCPI_EFOREIGN);
}

static void
an_empty_file_is_no_database_yet(void **state)
{
	const struct profile_fixture *fixture = *state;
	char path[96];

	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	snprintf(path, sizeof(path), "%s/data.mdb", fixture->directory);
	close(creat(path, 0600));
	assert_int_equal(try_open(fixture->directory, false), -DCPI_ENODATABASE);
	assert_int_equal(try_open(fixture->directory, true), 0);
	assert_int_equal(try_open(fixture->directory, false), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(file_modes_do_not_depend_on_the_umask),
		TEST(a_directory_that_exists_keeps_its_mode),
		TEST(a_symbolic_link_in_the_place_of_the_directory_is_refused),
		TEST(a_directory_of_another_user_is_not_written),
		TEST(a_directory_that_all_may_write_is_not_written),
		TEST(files_of_another_user_are_not_written),
		TEST(data_that_others_may_write_are_not_written),
		TEST(a_group_may_write_where_it_is_the_owners_own),
		TEST(root_is_warned_of_a_database_that_another_user_can_change),
		TEST(a_reader_follows_no_link_to_the_data),
		TEST(symbolic_links_in_the_place_of_files_are_refused),
		TEST(a_missing_parent_is_told_from_a_missing_database),
		TEST(a_second_writer_is_refused_and_the_first_is_known),
		TEST(a_file_that_never_got_its_first_pages_is_begun_anew),
		TEST(a_lock_file_left_half_made_costs_no_transaction),
		TEST(a_directory_without_a_writer_ever_has_no_owner),
		TEST(the_group_may_read_and_others_may_not),
		TEST(a_read_only_file_system_can_be_read),
		TEST(a_reader_makes_and_changes_nothing),
		TEST(a_lock_file_that_others_could_write_is_replaced),
		TEST(a_lock_file_that_is_in_use_is_closed_to_others),
		TEST(what_root_makes_beside_the_data_belongs_to_their_owner),
		TEST(a_newer_schema_is_refused_and_left_alone),
		TEST(an_older_schema_is_read_and_a_writer_makes_it_the_present_one),
		TEST(a_schema_that_cannot_be_read_is_damage),
		TEST(a_table_that_is_missing_is_damage_to_a_reader),
		TEST(a_database_of_someone_else_is_refused_and_left_alone),
		TEST(a_database_that_is_overwritten_by_what_looks_like_a_leaf_is_damage),
		TEST(a_file_that_is_no_database_is_damage),
		TEST(an_empty_file_is_no_database_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
