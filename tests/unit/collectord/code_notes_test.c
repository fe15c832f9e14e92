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

#include "collectord/code_notes.h"
#include "collectord/machine.h"

struct fixture {
	struct code_notes *notes;
	pid_t child; /* lives */
	char map[64];
};

static int
setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->notes = code_notes_new("/proc");
	assert_non_null(fixture->notes);
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
end_child(struct fixture *fixture)
{
	kill(fixture->child, SIGKILL);
	waitpid(fixture->child, NULL, 0);
}

static int
teardown(void **state)
{
	struct fixture *fixture = *state;

	end_child(fixture);
	unlink(fixture->map);
	code_notes_free(fixture->notes);
	free(fixture);
	return 0;
}

static void
write_map(struct fixture *fixture, const char *text)
{
	int fd = open(fixture->map, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void
meet(struct fixture *fixture, uint64_t generation)
{
	const struct code_maker maker = {
		.pid = (uint32_t)fixture->child,
		.generation = generation,
		.base = 0x200000 * generation,
		.begun_ns = machine_clock_ns(CLOCK_MONOTONIC),
		.ancestors = {(uint32_t)getpid()},
		.ancestor_count = 1,
	};

	code_notes_meet(fixture->notes, &maker);
}

static struct image
image_of(const struct fixture *fixture, uint64_t generation)
{
	return (struct image){
		.kind = IMAGE_JIT, .inode = (uint64_t)fixture->child, .inode_generation = generation, .path = "[jit]"};
}

static bool
tells(struct fixture *fixture, uint64_t generation)
{
	const struct image image = image_of(fixture, generation);

	return code_notes_tells(fixture->notes, &image);
}

static void
a_process_with_a_map_tells(void **state)
{
	struct fixture *fixture = *state;

	write_map(fixture, "1000 10 f\n");
	assert_false(tells(fixture, 1));
	meet(fixture, 1);
	assert_true(code_notes_wants_look(fixture->notes));
	code_notes_look(fixture->notes);
	assert_false(code_notes_wants_look(fixture->notes));
	assert_true(tells(fixture, 1));
	assert_false(tells(fixture, 2));
}

static void
what_it_told_is_there_when_it_and_its_file_are_gone(void **state)
{
	struct fixture *fixture = *state;
	const struct image image = image_of(fixture, 1);
	struct code_note note;
	char text[32];

	write_map(fixture, "1000 10 f\n");
	meet(fixture, 1);
	code_notes_look(fixture->notes);
	end_child(fixture);
	unlink(fixture->map);
	code_notes_look(fixture->notes);
	assert_int_equal(code_notes_open(fixture->notes, &image, &note), 0);
	assert_int_equal(note.base, 0x200000);
	assert_false(note.lives);
	assert_int_equal(read(note.fd, text, sizeof(text)), 10);
	close(note.fd);
}

static void
a_file_is_news_when_it_has_grown(void **state)
{
	struct fixture *fixture = *state;
	const struct image image = image_of(fixture, 1);
	struct code_note note;

	write_map(fixture, "1000 10 f\n");
	meet(fixture, 1);
	code_notes_look(fixture->notes);
	for (unsigned i = 0; i < 4; i++) {
		if (i == 2)
			write_map(fixture, "2000 10 g\n");
		assert_int_equal(code_notes_open(fixture->notes, &image, &note), 0);
		assert_int_equal(note.is_changed, i % 2 == 0);
		assert_int_equal(note.size, i < 2 ? 10 : 20);
		assert_true(note.lives);
		close(note.fd);
	}
}

/* It was written under the image of all who tell nothing: that cannot be mended, so it gets another. */
static void
one_that_tells_late_is_renewed(void **state)
{
	struct fixture *fixture = *state;
	uint64_t generation;
	uint32_t pid;

	meet(fixture, 7);
	code_notes_look(fixture->notes);
	assert_false(tells(fixture, 7));
	write_map(fixture, "1000 10 f\n");
	assert_false(tells(fixture, 7)); /* it was said already */
	assert_false(code_notes_take_renewal(fixture->notes, &pid, &generation));
	meet(fixture, 7); /* it mapped a jitdump, perhaps */
	code_notes_look(fixture->notes);
	assert_true(code_notes_take_renewal(fixture->notes, &pid, &generation));
	assert_int_equal(pid, fixture->child);
	assert_int_equal(generation, 7);
	assert_false(code_notes_take_renewal(fixture->notes, &pid, &generation));
}

static void
one_that_told_in_time_is_not_renewed(void **state)
{
	struct fixture *fixture = *state;
	uint64_t generation;
	uint32_t pid;

	write_map(fixture, "1000 10 f\n");
	meet(fixture, 7);
	code_notes_look(fixture->notes);
	assert_true(tells(fixture, 7));
	meet(fixture, 7);
	code_notes_look(fixture->notes);
	assert_false(code_notes_take_renewal(fixture->notes, &pid, &generation));
}

static void
one_that_tells_before_it_was_asked_for_tells(void **state)
{
	struct fixture *fixture = *state;

	meet(fixture, 7);
	code_notes_look(fixture->notes);
	write_map(fixture, "1000 10 f\n");
	assert_true(tells(fixture, 7));
}

/* Ten seconds after it was met at the earliest. */
static void
code_is_not_renewed_all_the_time(void **state)
{
	struct fixture *fixture = *state;
	const struct image image = image_of(fixture, 7), other = image_of(fixture, 8);

	write_map(fixture, "1000 10 f\n");
	meet(fixture, 7);
	code_notes_look(fixture->notes);
	assert_false(code_notes_renew(fixture->notes, &image));
	assert_false(code_notes_renew(fixture->notes, &other));
}

static void
one_that_ended_and_told_nothing_is_forgotten(void **state)
{
	struct fixture *fixture = *state;
	const struct image image = image_of(fixture, 1);
	struct code_note note;

	end_child(fixture);
	meet(fixture, 1);
	code_notes_look(fixture->notes);
	assert_int_equal(code_notes_open(fixture->notes, &image, &note), -ENOENT);
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
	struct fixture *fixture = *state;
	const unsigned before = count_descriptors();

	write_map(fixture, "1000 10 f\n");
	for (uint64_t generation = 1; generation <= CODE_FILES_MAX + 1; generation++)
		meet(fixture, generation);
	code_notes_look(fixture->notes);
	assert_int_equal(count_descriptors(), before + CODE_FILES_MAX);
	assert_true(tells(fixture, CODE_FILES_MAX + 1));
	for (uint64_t generation = 1000; generation < 1000 + CODE_NOTES_MAX; generation++)
		meet(fixture, generation);
	assert_false(tells(fixture, 2));
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
