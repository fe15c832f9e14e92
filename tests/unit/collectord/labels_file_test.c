#include "collectord/labels_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/test.h"

#define BOOT "a655c3f8-facb-4cd0-b034-211b2517dd94"

static int
parse(const char *text, struct labelled_processes *labelled)
{
	return labels_file_parse(text, strlen(text), BOOT, labelled);
}

static void
processes_are_read_with_their_labels(void **state)
{
	struct labelled_processes labelled = {0};

	(void)state;
	assert_int_equal(parse("dcpid-labels/1 " BOOT " 4834866\n24576 4834884 run1\n812 77 two words\n", &labelled),
	                 0);
	assert_int_equal(labelled.known_ticks, 4834866);
	assert_int_equal(labelled.count, 2);
	assert_int_equal(labelled.list[0].pid, 24576);
	assert_int_equal(labelled.list[0].start_ticks, 4834884);
	assert_string_equal(labelled.list[0].label, "run1");
	assert_int_equal(labelled.list[1].pid, 812);
	assert_string_equal(labelled.list[1].label, "two words");
	labelled_processes_fini(&labelled);
}

/* Pids are given anew when the machine begins. */
static void
another_run_of_the_machine_has_labelled_nobody(void **state)
{
	struct labelled_processes labelled = {0};

	(void)state;
	assert_int_equal(parse("dcpid-labels/1 b655c3f8-facb-4cd0-b034-211b2517dd94 1\n812 77 run1\n", &labelled), 0);
	assert_int_equal(labelled.count, 0);
	assert_int_equal(labels_file_parse("dcpid-labels/1  1\n812 77 run1\n", 30, "", &labelled), 0);
	assert_int_equal(labelled.count, 0);
}

static void
what_is_no_such_file_is_refused_whole(void **state)
{
	static const char *const wrong[] = {
		"",
		"dcpid-labels/2 " BOOT " 1\n",
		"dcpid-labels/1 " BOOT,
		"dcpid-labels/1 " BOOT " x\n",
		"dcpid-labels/1 " BOOT " 1",
		"dcpid-labels/1 " BOOT " 1\n812 77 run1",
		"dcpid-labels/1 " BOOT " 1\n812 77 \n",
		"dcpid-labels/1 " BOOT " 1\n812 77\n",
		"dcpid-labels/1 " BOOT " 1\n0 77 run1\n",
		"dcpid-labels/1 " BOOT " 1\n2147483648 77 run1\n",
		"dcpid-labels/1 " BOOT " 1\n812 x run1\n",
		"dcpid-labels/1 " BOOT " 1\n812 77 a/b\n",
		"dcpid-labels/1 " BOOT " 1\n812 77 run1\n\n",
		"dcpid-labels/1 " BOOT " 1\n812 77 0123456789012345678901234567890123456789012345678901234567890123\n",
	};
	struct labelled_processes labelled = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(parse(wrong[i], &labelled), -EINVAL);
		assert_int_equal(labelled.count, 0);
	}
}

static void
what_is_written_is_read_again(void **state)
{
	static struct labelled_process processes[2] = {
		{.pid = 1, .start_ticks = 2, .label = "run1"},
		{.pid = 2147483647, .start_ticks = UINT64_MAX, .label = "wave5.8 \xc3\xa4"}};
	const struct labelled_processes written = {.known_ticks = 99, .count = 2, .list = processes}, none = {0};
	struct labelled_processes labelled = {0};
	char directory[] = "/tmp/dcpi-labels.XXXXXX", path[64];
	struct stat status;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/labels", directory);
	assert_int_equal(labels_file_read(path, &labelled), -ENOENT);
	assert_int_equal(labels_file_write(path, &written), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(labels_file_read(path, &labelled), 0);
	assert_int_equal(labelled.known_ticks, 99);
	assert_int_equal(labelled.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(labelled.list[i].pid, processes[i].pid);
		assert_int_equal(labelled.list[i].start_ticks, processes[i].start_ticks);
		assert_string_equal(labelled.list[i].label, processes[i].label);
	}
	labelled_processes_fini(&labelled);
	assert_int_equal(labels_file_write(path, &none), 0);
	assert_int_equal(stat(path, &status), -1);
	assert_int_equal(labels_file_write(path, &none), 0);
	assert_int_equal(rmdir(directory), 0); /* nothing else is left there */
}

/* The directory may be one that anybody writes to. */
static void
a_file_that_is_not_ours_is_not_read(void **state)
{
	char directory[] = "/tmp/dcpi-labels.XXXXXX", path[64], target[64];
	const struct labelled_processes written = {
		.count = 1, .list = &(struct labelled_process){.pid = 1, .start_ticks = 2, .label = "run1"}};
	struct labelled_processes labelled = {0};

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/labels", directory);
	snprintf(target, sizeof(target), "%s/target", directory);
	assert_int_equal(labels_file_write(target, &written), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(labels_file_read(path, &labelled), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(labels_file_read(path, &labelled), -EPERM);
	assert_int_equal(unlink(path), 0);
	if (geteuid() == 0) {
		assert_int_equal(rename(target, path), 0);
		assert_int_equal(chown(path, 4712, 4712), 0);
		assert_int_equal(labels_file_read(path, &labelled), -EPERM);
		assert_int_equal(rename(path, target), 0);
	}
	unlink(target);
	rmdir(directory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_are_read_with_their_labels),
		cmocka_unit_test(another_run_of_the_machine_has_labelled_nobody),
		cmocka_unit_test(what_is_no_such_file_is_refused_whole),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(a_file_that_is_not_ours_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
