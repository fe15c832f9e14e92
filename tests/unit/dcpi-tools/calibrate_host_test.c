#include "dcpi-tools/emu/calibrate/host.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#include "tests/unit/test.h"

#define CACHE "devices/system/cpu/cpu0/cache/index"

static char *root; /* of a made-up /sys */

static int
make_root(void **state)
{
	static char path[] = "/tmp/dcpi-host-XXXXXX";

	(void)state;
	memcpy(strrchr(path, '-'), "-XXXXXX", 7);
	root = mkdtemp(path);
	return root ? 0 : -1;
}

static int
remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status;
	(void)type;
	(void)at;
	return remove(path);
}

static int
remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
put(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	assert_true((size_t)snprintf(path, sizeof(path), "%s/%s", root, name) < sizeof(path));
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fprintf(file, "%s\n", text) > 0);
	assert_int_equal(fclose(file), 0);
}

static void
put_cache(unsigned index, const char *level, const char *type, const char *size, const char *ways)
{
	const char *const names[] = {"level", "type", "size", "ways_of_associativity"};
	const char *const values[] = {level, type, size, ways};

	for (unsigned i = 0; i < 4; i++) {
		char name[128];

		snprintf(name, sizeof(name), CACHE "%u/%s", index, names[i]);
		put(name, values[i]);
	}
}

static void
read_host(struct host *host)
{
	char why[256] = "";

	if (host_read(root, "/proc", host, why, sizeof(why)))
		fail_msg("%s", why);
}

static void
caches_are_those_that_the_kernel_tells_of(void **state)
{
	struct host host;

	(void)state;
	put("devices/system/cpu/online", "0");
	put_cache(0, "1", "Data", "48K", "12");
	put_cache(1, "1", "Instruction", "32K", "8");
	put_cache(2, "2", "Unified", "2048K", "16");
	put_cache(3, "3", "Unified", "46080K", "20");
	put(CACHE "0/coherency_line_size", "128");
	read_host(&host);
	assert_int_equal(host.cores, 1);
	assert_int_equal(host.nodes, 1);
	assert_int_equal(host.line_bytes, 128);
	assert_int_equal(host.level_count, 3);
	assert_int_equal(host.code.bytes, 32768);
	assert_int_equal(host.levels[0].bytes, 49152);
	assert_int_equal(host.levels[0].ways, 12);
	assert_int_equal(host.levels[2].bytes, 46080 << 10);
	assert_int_equal(host.levels[2].ways, 20);
}

/* 12 MiB in 11 ways: no whole number of sets. Ways of 0: the kernel does not know. */
static void
what_a_file_cannot_say_becomes_what_it_can(void **state)
{
	struct host host;

	(void)state;
	put("devices/system/cpu/online", "0");
	put_cache(0, "1", "Data", "32K", "0");
	put_cache(1, "2", "Unified", "12M", "11");
	read_host(&host);
	assert_int_equal(host.level_count, 2);
	assert_int_equal(host.levels[0].ways, 8);
	assert_int_equal(host.levels[1].bytes, 12 << 20);
	assert_int_equal(host.levels[1].ways, 8);
	assert_int_equal(host.code.bytes, 32768);
}

/* Only the first CPU of a core counts; which ones this process may use is not made up. */
static void
a_core_of_two_threads_is_one(void **state)
{
	struct host host;

	(void)state;
	put("devices/system/cpu/online", "0-1");
	put("devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1");
	put("devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1");
	put_cache(0, "1", "Data", "32K", "8");
	put(CACHE "0/shared_cpu_list", "0-1");
	read_host(&host);
	assert_int_equal(host.cores, 1);
	assert_int_equal(host.levels[0].cores, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(caches_are_those_that_the_kernel_tells_of, make_root, remove_root),
		cmocka_unit_test_setup_teardown(what_a_file_cannot_say_becomes_what_it_can, make_root, remove_root),
		cmocka_unit_test_setup_teardown(a_core_of_two_threads_is_one, make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
