#include "tests/unit/process/fake.h"

#include <errno.h>
#include <stdbool.h>

#include "process/cgroup_table.h"

struct cgroup_table_fixture {
	struct fake fake;
	struct cgroup_table *table;
};

static int
setup(void **state)
{
	struct cgroup_table_fixture *ground = calloc(1, sizeof(*ground));

	fake_init(&ground->fake);
	ground->table = cgroup_table_new();
	*state = ground;
	return 0;
}

static int
teardown(void **state)
{
	struct cgroup_table_fixture *ground = *state;

	cgroup_table_free(ground->table);
	fake_fini(&ground->fake);
	free(ground);
	return 0;
}

static uint64_t
inode_of(struct cgroup_table_fixture *ground, const char *name)
{
	char path[PATH_MAX];
	struct stat status;

	assert_int_equal(stat(fake_path(&ground->fake, name, path), &status), 0);
	return status.st_ino;
}

static void
a_path_is_known_by_its_number(void **state)
{
	struct cgroup_table_fixture *ground = *state;

	assert_int_equal(cgroup_table_set(ground->table, 7, "/user.slice"), 0);
	assert_int_equal(cgroup_table_set(ground->table, 8, "/system.slice"), 0);
	assert_string_equal(cgroup_table_find(ground->table, 7), "/user.slice");
	assert_string_equal(cgroup_table_find(ground->table, 8), "/system.slice");
	assert_string_equal(cgroup_table_find(ground->table, 9), "");
	assert_int_equal(cgroup_table_set(ground->table, 7, "/renamed"), 0);
	assert_string_equal(cgroup_table_find(ground->table, 7), "/renamed");
	assert_int_equal(cgroup_table_size(ground->table), 2);
}

static void
directories_are_cgroups_numbered_by_inode(void **state)
{
	struct cgroup_table_fixture *ground = *state;

	fake_text(&ground->fake, "system.slice/cron.service/cgroup.procs", "");
	fake_directory(&ground->fake, "user.slice");
	assert_int_equal(cgroup_table_scan(ground->table, ground->fake.path), 0);
	assert_int_equal(cgroup_table_size(ground->table), 4);
	assert_string_equal(cgroup_table_find(ground->table, inode_of(ground, ".")), "/");
	assert_string_equal(cgroup_table_find(ground->table, inode_of(ground, "system.slice")), "/system.slice");
	assert_string_equal(cgroup_table_find(ground->table, inode_of(ground, "system.slice/cron.service")),
	                    "/system.slice/cron.service");
	assert_string_equal(cgroup_table_find(ground->table, inode_of(ground, "user.slice")), "/user.slice");
}

static void
in_a_hybrid_layout_the_unified_hierarchy_is_read(void **state)
{
	struct cgroup_table_fixture *ground = *state;

	fake_directory(&ground->fake, "cpu/docker");
	fake_directory(&ground->fake, "unified/a");
	assert_int_equal(cgroup_table_scan(ground->table, ground->fake.path), 0);
	assert_int_equal(cgroup_table_size(ground->table), 2);
	assert_string_equal(cgroup_table_find(ground->table, inode_of(ground, "unified")), "/");
	assert_string_equal(cgroup_table_find(ground->table, inode_of(ground, "unified/a")), "/a");
}

static void
a_perf_event_hierarchy_goes_before_it(void **state)
{
	struct cgroup_table_fixture *ground = *state;

	fake_directory(&ground->fake, "unified/a");
	fake_directory(&ground->fake, "perf_event/b");
	assert_int_equal(cgroup_table_scan(ground->table, ground->fake.path), 0);
	assert_string_equal(cgroup_table_find(ground->table, inode_of(ground, "perf_event/b")), "/b");
	assert_string_equal(cgroup_table_find(ground->table, inode_of(ground, "unified/a")), "");
}

static void
a_loop_of_links_is_not_followed(void **state)
{
	struct cgroup_table_fixture *ground = *state;
	char path[PATH_MAX];

	fake_directory(&ground->fake, "a");
	assert_int_equal(symlink("..", fake_path(&ground->fake, "a/up", path)), 0);
	assert_int_equal(cgroup_table_scan(ground->table, ground->fake.path), 0);
	assert_int_equal(cgroup_table_size(ground->table), 2);
}

static void
a_file_system_that_is_not_there_is_an_error(void **state)
{
	struct cgroup_table_fixture *ground = *state;

	assert_int_equal(cgroup_table_scan(ground->table, "/no/such/directory"), -ENOENT);
}

static void
long_paths_have_a_limit_of_their_own(void **state)
{
	struct cgroup_table_fixture *ground = *state;
	char path[4096];

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	for (uint64_t id = 1; id <= 2000; id++)
		assert_int_equal(cgroup_table_set(ground->table, id, path), 0);
	assert_int_equal(cgroup_table_size(ground->table), 1024); /* of 4 KiB each in 4 MiB */
	assert_string_equal(cgroup_table_find(ground->table, 2000 - 1024), "");
	assert_string_equal(cgroup_table_find(ground->table, 2000 - 1023), path);
	assert_int_equal(cgroup_table_set(ground->table, 2000, "/short"), 0);
	assert_int_equal(cgroup_table_size(ground->table), 1024);
}

static void
beyond_the_limit_the_longest_unused_is_forgotten(void **state)
{
	struct cgroup_table_fixture *ground = *state;

	for (uint64_t id = 1; id <= CGROUP_TABLE_MAX; id++)
		assert_int_equal(cgroup_table_set(ground->table, id, "/x"), 0);
	assert_string_equal(cgroup_table_find(ground->table, 1), "/x"); /* in use */
	assert_int_equal(cgroup_table_set(ground->table, CGROUP_TABLE_MAX + 1, "/x"), 0);
	assert_int_equal(cgroup_table_size(ground->table), CGROUP_TABLE_MAX);
	assert_string_equal(cgroup_table_find(ground->table, 1), "/x");
	assert_string_equal(cgroup_table_find(ground->table, 2), "");
}

#define SECOND UINT64_C(1000000000)

static void
expire(struct cgroup_table_fixture *ground, uint64_t now_s)
{
	cgroup_table_expire(ground->table, ground->fake.path, now_s * SECOND, 10 * SECOND);
}

static void
one_whose_directory_is_gone_is_forgotten_after_the_grace(void **state)
{
	struct cgroup_table_fixture *ground = *state;
	char path[PATH_MAX];
	uint64_t gone;

	fake_directory(&ground->fake, "stays");
	fake_directory(&ground->fake, "goes");
	assert_int_equal(cgroup_table_scan(ground->table, ground->fake.path), 0);
	gone = inode_of(ground, "goes");
	expire(ground, 5);
	expire(ground, 100);
	assert_int_equal(cgroup_table_size(ground->table), 3);
	assert_int_equal(rmdir(fake_path(&ground->fake, "goes", path)), 0);
	expire(ground, 101);
	expire(ground, 110);
	assert_string_equal(cgroup_table_find(ground->table, gone), "/goes"); /* samples of it may still come */
	expire(ground, 111);
	assert_string_equal(cgroup_table_find(ground->table, gone), "");
	assert_string_equal(cgroup_table_find(ground->table, inode_of(ground, "stays")), "/stays");
	assert_string_equal(cgroup_table_find(ground->table, inode_of(ground, ".")), "/");
}

static void
one_that_is_made_again_is_another(void **state)
{
	struct cgroup_table_fixture *ground = *state;
	uint64_t now;

	fake_directory(&ground->fake, "a");
	now = inode_of(ground, "a");
	assert_int_equal(cgroup_table_set(ground->table, now + 1, "/a"), 0); /* the one before it */
	assert_int_equal(cgroup_table_set(ground->table, now, "/a"), 0);
	expire(ground, 1);
	expire(ground, 20);
	assert_string_equal(cgroup_table_find(ground->table, now), "/a");
	assert_string_equal(cgroup_table_find(ground->table, now + 1), "");
}

static void
one_that_comes_back_begins_a_new_grace(void **state)
{
	struct cgroup_table_fixture *ground = *state;

	assert_int_equal(cgroup_table_set(ground->table, 7, "/a"), 0);
	expire(ground, 1);
	assert_int_equal(cgroup_table_set(ground->table, 7, "/a"), 0); /* a record tells it again */
	expire(ground, 20);
	assert_string_equal(cgroup_table_find(ground->table, 7), "/a");
	expire(ground, 30);
	assert_string_equal(cgroup_table_find(ground->table, 7), "");
}

/* A day of a machine that makes two a second: how many were ever made does not matter. */
static void
those_that_come_and_go_do_not_add_up(void **state)
{
	struct cgroup_table_fixture *ground = *state;
	size_t most = 0;

	for (uint64_t now_s = 1; now_s <= 86400; now_s += 5) {
		for (uint64_t id = 0; id < 10; id++)
			assert_int_equal(cgroup_table_set(ground->table, 1000 + 10 * now_s + id, "/gone/at/once"), 0);
		expire(ground, now_s);
		if (cgroup_table_size(ground->table) > most)
			most = cgroup_table_size(ground->table);
	}
	assert_in_range(most, 10, 100);
}

static void
without_a_hierarchy_to_look_at_nothing_is_forgotten(void **state)
{
	struct cgroup_table_fixture *ground = *state;

	assert_int_equal(cgroup_table_set(ground->table, 7, "/a"), 0);
	for (uint64_t now_s = 1; now_s < 100; now_s += 10)
		cgroup_table_expire(ground->table, "/no/such/directory", now_s * SECOND, SECOND);
	assert_string_equal(cgroup_table_find(ground->table, 7), "/a");
}

static void
a_directory_that_is_no_hierarchy_is_not_the_machines(void **state)
{
	struct cgroup_table_fixture *ground = *state;

	assert_false(cgroup_table_sees_all(ground->fake.path));
	assert_false(cgroup_table_sees_all("/no/such/directory"));
}

/* The directory of a cgroup made for the purpose, on the real file system. */
static void
a_real_cgroup_is_found(void **state)
{
	static const char *const roots[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
	struct cgroup_table_fixture *ground = *state;
	char path[PATH_MAX], expected[64];
	struct stat status;
	bool made = false;

	if (access("/sys/fs/cgroup/perf_event", F_OK) == 0)
		skip_because("perf_event is in a version 1 hierarchy");
	snprintf(expected, sizeof(expected), "/dcpi-unit-test-%d", getpid());
	for (unsigned i = 0; i < 2 && !made; i++) {
		snprintf(path, sizeof(path), "%s%s", roots[i], expected);
		made = (i == 0 || access("/sys/fs/cgroup/cgroup.procs", F_OK) == 0) && mkdir(path, 0755) == 0;
	}
	if (!made)
		skip_because("no cgroup can be made here");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(cgroup_table_scan(ground->table, "/sys/fs/cgroup"), 0);
	cgroup_table_expire(ground->table, "/sys/fs/cgroup", SECOND, SECOND);
	cgroup_table_expire(ground->table, "/sys/fs/cgroup", 2 * SECOND, SECOND);
	assert_int_equal(rmdir(path), 0);
	assert_string_equal(cgroup_table_find(ground->table, status.st_ino), expected);
	assert_int_not_equal(cgroup_table_size(ground->table), 0);
	/* a round looks at a share of them */
	for (uint64_t round = 3; round < 200; round++)
		cgroup_table_expire(ground->table, "/sys/fs/cgroup", round * SECOND, SECOND);
	assert_string_equal(cgroup_table_find(ground->table, status.st_ino), "");
	assert_int_not_equal(cgroup_table_size(ground->table), 0);
}

#define CGROUP_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CGROUP_TEST(a_path_is_known_by_its_number),
		CGROUP_TEST(directories_are_cgroups_numbered_by_inode),
		CGROUP_TEST(in_a_hybrid_layout_the_unified_hierarchy_is_read),
		CGROUP_TEST(a_perf_event_hierarchy_goes_before_it),
		CGROUP_TEST(a_loop_of_links_is_not_followed),
		CGROUP_TEST(a_file_system_that_is_not_there_is_an_error),
		CGROUP_TEST(beyond_the_limit_the_longest_unused_is_forgotten),
		CGROUP_TEST(a_real_cgroup_is_found),
		CGROUP_TEST(long_paths_have_a_limit_of_their_own),
		CGROUP_TEST(one_whose_directory_is_gone_is_forgotten_after_the_grace),
		CGROUP_TEST(one_that_is_made_again_is_another),
		CGROUP_TEST(one_that_comes_back_begins_a_new_grace),
		CGROUP_TEST(those_that_come_and_go_do_not_add_up),
		CGROUP_TEST(without_a_hierarchy_to_look_at_nothing_is_forgotten),
		CGROUP_TEST(a_directory_that_is_no_hierarchy_is_not_the_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
