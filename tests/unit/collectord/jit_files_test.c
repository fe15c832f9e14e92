/* Real processes, which tell what they made, or do not. */
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collectord/jit_files.h"
#include "process/mapped_file.h"
#include "tests/unit/process/fake.h"

struct jit_files_fixture {
	struct jit_files *files;
	pid_t child; /* lives */
	char map[64];
};

static int
setup(void **state)
{
	struct jit_files_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->files = jit_files_new("/proc", NULL);
	assert_non_null(fixture->files);
	fixture->child = fork();
	if (fixture->child == 0)
		for (;;)
			pause();
	assert_true(fixture->child > 0);
	snprintf(fixture->map, sizeof(fixture->map), "/tmp/perf-%d.map", (int)fixture->child);
	*state = fixture;
	return 0;
}

static void
end_child(struct jit_files_fixture *fixture)
{
	kill(fixture->child, SIGKILL);
	waitpid(fixture->child, NULL, 0);
}

static int
teardown(void **state)
{
	struct jit_files_fixture *fixture = *state;

	end_child(fixture);
	unlink(fixture->map);
	jit_files_free(fixture->files);
	free(fixture);
	return 0;
}

static void
write_map(struct jit_files_fixture *fixture, const char *text)
{
	int fd = open(fixture->map, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void
meet(struct jit_files_fixture *fixture, uint64_t generation)
{
	const struct jit_process maker = {
		.pid = (uint32_t)fixture->child,
		.generation = generation,
		.base = 0x200000 * generation,
		.begun_ns = monotonic_ns(),
		.ancestors = {(uint32_t)getpid()},
		.ancestor_count = 1,
	};

	jit_files_add(fixture->files, &maker);
}

static struct image
image_of(const struct jit_files_fixture *fixture, uint64_t generation)
{
	return (struct image){
		.kind = IMAGE_JIT, .inode = (uint64_t)fixture->child, .inode_generation = generation, .path = "[jit]"};
}

static void
settle(struct jit_files_fixture *fixture)
{
	jit_files_wait(fixture->files, 20 * SECOND_NS);
}

/* As the flusher asks. */
static bool
tells(struct jit_files_fixture *fixture, uint64_t generation)
{
	const struct image image = image_of(fixture, generation);

	jit_files_retry(fixture->files, &image);
	settle(fixture);
	return jit_files_has_map(fixture->files, &image);
}

static void
a_process_with_a_map_tells(void **state)
{
	struct jit_files_fixture *fixture = *state;

	write_map(fixture, "1000 10 f\n");
	assert_false(tells(fixture, 1));
	meet(fixture, 1);
	assert_true(tells(fixture, 1));
	assert_false(tells(fixture, 2));
}

static void
what_it_told_is_there_when_it_and_its_file_are_gone(void **state)
{
	struct jit_files_fixture *fixture = *state;
	const struct image image = image_of(fixture, 1);
	struct jit_open_file note;
	char text[32];
	int fd;

	write_map(fixture, "1000 10 f\n");
	meet(fixture, 1);
	settle(fixture);
	end_child(fixture);
	unlink(fixture->map);
	settle(fixture);
	assert_true(jit_files_is_alive(fixture->files, &image));
	assert_int_equal(jit_files_open(fixture->files, &image, &note), 0);
	assert_int_equal(note.base, 0x200000);
	assert_false(jit_files_is_alive(fixture->files, &image));
	fd = mapped_file_reopen(note.fd);
	assert_int_equal(read(fd, text, sizeof(text)), 10);
	close(fd);
	jit_files_close(fixture->files, note.fd);
}

static void
a_file_is_news_when_it_has_grown(void **state)
{
	struct jit_files_fixture *fixture = *state;
	const struct image image = image_of(fixture, 1);
	struct jit_open_file note;

	write_map(fixture, "1000 10 f\n");
	meet(fixture, 1);
	settle(fixture);
	for (unsigned i = 0; i < 4; i++) {
		if (i == 2)
			write_map(fixture, "2000 10 g\n");
		assert_int_equal(jit_files_open(fixture->files, &image, &note), 0);
		assert_int_equal(note.is_changed, i % 2 == 0);
		assert_int_equal(note.size, i < 2 ? 10 : 20);
		assert_true(jit_files_is_alive(fixture->files, &image));
		jit_files_close(fixture->files, note.fd);
	}
}

/* It was written under the image of all who tell nothing: that cannot be mended, so it gets another. */
static void
one_that_tells_late_is_renewed(void **state)
{
	struct jit_files_fixture *fixture = *state;
	uint64_t generation;
	uint32_t pid;

	meet(fixture, 7);
	settle(fixture);
	assert_false(tells(fixture, 7));
	write_map(fixture, "1000 10 f\n");
	assert_false(tells(fixture, 7)); /* it was said already */
	assert_false(jit_files_take_renewal(fixture->files, &pid, &generation));
	meet(fixture, 7); /* it mapped a jitdump, perhaps */
	settle(fixture);
	assert_true(jit_files_take_renewal(fixture->files, &pid, &generation));
	assert_int_equal(pid, fixture->child);
	assert_int_equal(generation, 7);
	assert_false(jit_files_take_renewal(fixture->files, &pid, &generation));
}

static void
one_that_told_in_time_is_not_renewed(void **state)
{
	struct jit_files_fixture *fixture = *state;
	uint64_t generation;
	uint32_t pid;

	write_map(fixture, "1000 10 f\n");
	meet(fixture, 7);
	settle(fixture);
	assert_true(tells(fixture, 7));
	meet(fixture, 7);
	settle(fixture);
	assert_false(jit_files_take_renewal(fixture->files, &pid, &generation));
}

static void
one_that_tells_before_it_was_asked_for_tells(void **state)
{
	struct jit_files_fixture *fixture = *state;

	meet(fixture, 7);
	settle(fixture);
	write_map(fixture, "1000 10 f\n");
	assert_true(tells(fixture, 7));
}

/* Ten seconds after it was first seen, at the earliest. */
static void
code_is_not_renewed_all_the_time(void **state)
{
	struct jit_files_fixture *fixture = *state;
	const struct image image = image_of(fixture, 7), other = image_of(fixture, 8);

	write_map(fixture, "1000 10 f\n");
	meet(fixture, 7);
	settle(fixture);
	assert_false(jit_files_renew(fixture->files, &image));
	assert_false(jit_files_renew(fixture->files, &other));
}

static void
one_that_ended_and_told_nothing_is_forgotten(void **state)
{
	struct jit_files_fixture *fixture = *state;
	const struct image image = image_of(fixture, 1);
	struct jit_open_file note;

	end_child(fixture);
	meet(fixture, 1);
	settle(fixture);
	assert_int_equal(jit_files_open(fixture->files, &image, &note), -ENOENT);
	assert_false(tells(fixture, 1));
}

static unsigned
count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void
those_not_heard_of_for_longest_give_way(void **state)
{
	struct jit_files_fixture *fixture = *state;
	const unsigned before = count_descriptors();

	write_map(fixture, "1000 10 f\n");
	for (uint64_t generation = 1; generation <= JIT_FILES_MAX + 1; generation++)
		meet(fixture, generation);
	settle(fixture);
	/* the child closes the one that gave way */
	for (unsigned i = 0; i < 2000 && count_descriptors() != before + JIT_FILES_MAX; i++)
		usleep(10000);
	assert_int_equal(count_descriptors(), before + JIT_FILES_MAX);
	assert_true(tells(fixture, JIT_FILES_MAX + 1));
	for (uint64_t generation = 1000; generation < 1000 + JIT_FILES_PROCESSES_MAX; generation++)
		meet(fixture, generation);
	assert_false(tells(fixture, 2));
}

/* A process whose /proc/PID/stat nobody ever writes: whoever opens it waits. */
static void
make_silent(const struct fake *fake, const char *name)
{
	char path[PATH_MAX];

	fake_directory(fake, name);
	snprintf(path, sizeof(path), "%s/%s/stat", fake->path, name);
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void
one_that_does_not_answer_delays_nobody_who_waits(void **state)
{
	struct jit_files_fixture *fixture = *state;
	const struct jit_process silent = {.pid = 77, .generation = 1};
	const struct image image = {.kind = IMAGE_JIT, .inode = 77, .inode_generation = 1, .path = "[jit]"};
	char target[64], link[PATH_MAX], name[32];
	struct jit_open_file note;
	struct fake fake = {0};
	uint64_t began_ns;

	fake_init(&fake);
	make_silent(&fake, "77");
	snprintf(name, sizeof(name), "%d", (int)fixture->child);
	snprintf(target, sizeof(target), "/proc/%d", (int)fixture->child);
	assert_int_equal(symlink(target, fake_path(&fake, name, link)), 0);
	jit_files_free(fixture->files);
	fixture->files = jit_files_new(fake.path, NULL);
	assert_non_null(fixture->files);
	write_map(fixture, "1000 10 f\n");

	began_ns = monotonic_ns();
	jit_files_add(fixture->files, &silent);
	usleep(100000); /* it is being looked at */
	meet(fixture, 1);
	jit_files_retry(fixture->files, &image);
	jit_files_wait(fixture->files, SECOND_NS / 10);
	assert_true(jit_files_has_map(fixture->files, &image)); /* it may: it keeps its image */
	assert_false(jit_files_is_alive(fixture->files, &image));
	assert_int_equal(jit_files_open(fixture->files, &image, &note), -ENOENT);
	assert_true(monotonic_ns() - began_ns < JIT_FILES_PATIENCE_NS);
	assert_true(tells(fixture, 1));
	began_ns = monotonic_ns();
	jit_files_add(fixture->files, &silent);
	usleep(100000);
	jit_files_free(fixture->files);
	fixture->files = NULL;
	assert_true(monotonic_ns() - began_ns < JIT_FILES_PATIENCE_NS);
	fake_fini(&fake);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_with_a_map_tells),
		TEST(what_it_told_is_there_when_it_and_its_file_are_gone),
		TEST(a_file_is_news_when_it_has_grown),
		TEST(one_that_tells_late_is_renewed),
		TEST(one_that_told_in_time_is_not_renewed),
		TEST(one_that_tells_before_it_was_asked_for_tells),
		TEST(code_is_not_renewed_all_the_time),
		TEST(one_that_ended_and_told_nothing_is_forgotten),
		TEST(those_not_heard_of_for_longest_give_way),
		TEST(one_that_does_not_answer_delays_nobody_who_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
