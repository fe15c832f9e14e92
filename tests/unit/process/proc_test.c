/* /proc: the text of its files, and what processes have mapped: as text, asked of the kernel, of real processes. */
#include "tests/unit/process/fake.h"

#include <errno.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include "base/array.h"
#include "process/build_id.h"
#include "process/proc.h"

#define SEEN_MAX 64

struct seen_mappings {
	struct record_mmap mmaps[SEEN_MAX];
	char paths[SEEN_MAX][256];
	size_t count;
};

static int
see(void *context, const struct record_mmap *mmap)
{
	struct seen_mappings *seen = context;

	if (seen->count == SEEN_MAX)
		return 0;
	snprintf(seen->paths[seen->count], sizeof(seen->paths[0]), "%s", mmap->path);
	seen->mmaps[seen->count] = *mmap;
	seen->mmaps[seen->count].path = seen->paths[seen->count];
	seen->count++;
	return 0;
}

struct proc_maps_fixture {
	struct fake fake;
	struct proc_maps maps;
	struct seen_mappings seen;
	pid_t child;
};

static int
setup(void **state)
{
	struct proc_maps_fixture *ground = calloc(1, sizeof(*ground));

	fake_init(&ground->fake);
	ground->maps.procfs = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ground->maps.files = file_generations_new();
	ground->maps.lines = malloc(sizeof(*ground->maps.lines));
	*state = ground;
	return 0;
}

static int
teardown(void **state)
{
	struct proc_maps_fixture *ground = *state;

	if (ground->child > 0) {
		kill(ground->child, SIGKILL);
		waitpid(ground->child, NULL, 0);
	}
	close(ground->maps.procfs);
	file_generations_free(ground->maps.files);
	free(ground->maps.lines);
	fake_fini(&ground->fake);
	free(ground);
	return 0;
}

static void
a_line_is_read_field_by_field(void **state)
{
	char line[] = "7fcb684fd000-7fcb68653000 r-xp 00026000 fe:1f 332835                     /usr/lib/libc.so.6";
	struct record_mmap mmap;

	(void)state;
	assert_true(proc_maps_parse(line, &mmap));
	assert_int_equal(mmap.start, 0x7fcb684fd000);
	assert_int_equal(mmap.length, 0x156000);
	assert_int_equal(mmap.protection, PROT_READ | PROT_EXEC);
	assert_false(mmap.is_data);
	assert_int_equal(mmap.file_offset, 0x26000);
	assert_int_equal(mmap.device_major, 0xfe);
	assert_int_equal(mmap.device_minor, 0x1f);
	assert_int_equal(mmap.inode, 332835);
	assert_string_equal(mmap.path, "/usr/lib/libc.so.6");
}

static void
a_line_without_a_path_has_an_empty_one(void **state)
{
	char with_space[] = "7fcb684fd000-7fcb68653000 rwxp 00000000 00:00 0 ";
	char without[] = "7fcb684fd000-7fcb68653000 rw-p 00000000 00:00 0";
	struct record_mmap mmap;

	(void)state;
	assert_true(proc_maps_parse(with_space, &mmap));
	assert_string_equal(mmap.path, "");
	assert_true(proc_maps_parse(without, &mmap));
	assert_true(mmap.is_data);
}

static void
spaces_and_newlines_in_a_path_stay(void **state)
{
	char line[] = "1000-2000 r-xp 00000000 08:01 7                          /tmp/a b\\012c (deleted)";
	struct record_mmap mmap;

	(void)state;
	assert_true(proc_maps_parse(line, &mmap));
	assert_string_equal(mmap.path, "/tmp/a b\nc (deleted)");
}

static void
lines_of_another_form_are_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"1000",
		"1000-",
		"1000-2000",
		"2000-1000 r-xp 00000000 08:01 7 /a",
		"1000-1000 r-xp 00000000 08:01 7 /a",
		"1000-2000 r-x",
		"1000-2000 r-xpp 00000000 08:01 7 /a",
		"1000-2000 r-xp",
		"1000-2000 r-xp 00000000",
		"1000-2000 r-xp 00000000 08",
		"1000-2000 r-xp 00000000 08:01",
		"1000-2000 r-xp 00000000 08:01 x",
		"1000-2000 r-xp 00000000 08:01 7x",
		"1000-2000 r-xp 00000000 fffffffff:01 7 /a",
		"10000000000000000-2000 r-xp 00000000 08:01 7 /a",
	};
	struct record_mmap mmap;
	char line[128];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(line, sizeof(line), "%s", lines[i]);
		assert_false(proc_maps_parse(line, &mmap));
	}
}

static void
a_process_that_is_gone_is_an_error(void **state)
{
	struct proc_maps_fixture *ground = *state;

	assert_int_equal(proc_maps_read(&ground->maps, 0x7ffffffe, see, &ground->seen), -ENOENT);
}

/* Two ways through the kernel: its answers to PROCMAP_QUERY, and its text with our reading of the files. */
static void
text_and_answers_say_the_same_of_this_process(void **state)
{
	struct proc_maps_fixture *ground = *state;
	struct seen_mappings text = {0};
	size_t compared = 0;

	assert_int_equal(proc_maps_read(&ground->maps, (uint32_t)getpid(), see, &ground->seen), 0);
	if (ground->maps.no_query)
		skip_because("this kernel does not know PROCMAP_QUERY");
	ground->maps.no_query = true;
	assert_int_equal(proc_maps_read(&ground->maps, (uint32_t)getpid(), see, &text), 0);
	for (size_t i = 0; i < text.count; i++) {
		const struct record_mmap *a = &text.mmaps[i], *b = &ground->seen.mmaps[i];

		if (strcmp(a->path, "[vsyscall]") == 0)
			continue; /* no mapping of the process, only shown as one */
		assert_true(i < ground->seen.count);
		assert_int_equal(a->start, b->start);
		assert_int_equal(a->length, b->length);
		assert_int_equal(a->file_offset, b->file_offset);
		assert_string_equal(a->path, b->path);
		assert_int_equal(a->inode, b->inode);
		assert_int_equal(a->inode_generation, b->inode_generation);
		assert_int_equal(a->device_major, b->device_major);
		assert_int_equal(a->device_minor, b->device_minor);
		assert_int_equal(a->build_id_size + b->build_id_size, 0); /* it is asked for when there are samples */
		compared += a->inode > 0;
	}
	assert_true(compared > 0); /* libc, at least */
}

static void
copy_file(const char *from, const char *to)
{
	char buffer[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t got;

	assert_true(in >= 0 && out >= 0);
	while ((got = read(in, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(out, buffer, (size_t)got), got);
	close(in);
	close(out);
}

/* Run the program at `path` with "60"; returns when exec has happened. With `tmpfs`, in a mount namespace of its own
 * where `tmpfs` is an empty file system to which /bin/sleep is copied first. False: not allowed. */
static bool
run(struct proc_maps_fixture *ground, const char *path, const char *tmpfs)
{
	int ready[2];
	char byte;
	ssize_t got;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	ground->child = fork();
	if (ground->child == 0) {
		if (tmpfs) {
			if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
			    mount("none", tmpfs, "tmpfs", 0, NULL) != 0) {
				if (write(ready[1], "x", 1) != 1)
					_exit(2);
				_exit(1);
			}
			copy_file("/bin/sleep", path);
		}
		execl(path, path, "60", (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	got = read(ready[0], &byte, 1);
	close(ready[0]);
	return got == 0;
}

/* The mapping of `path`; NULL when there is none after two seconds: exec closes descriptors before it maps the program.
 */
static const struct record_mmap *
find_program(struct proc_maps_fixture *ground, const char *path)
{
	const struct timespec moment = {.tv_nsec = 10000000};

	for (int i = 0; i < 200; i++) {
		ground->seen.count = 0;
		assert_int_equal(proc_maps_read(&ground->maps, (uint32_t)ground->child, see, &ground->seen), 0);
		for (size_t j = 0; j < ground->seen.count; j++)
			if (strncmp(ground->seen.paths[j], path, sizeof(ground->seen.paths[j]) - 1) == 0)
				return &ground->seen.mmaps[j];
		nanosleep(&moment, NULL);
	}
	return NULL;
}

static void
assert_main_program(struct proc_maps_fixture *ground, const char *path, const char *same_build_as)
{
	uint8_t expected[BUILD_ID_SIZE_MAX] = {0};
	int fd = open(same_build_as, O_RDONLY | O_CLOEXEC), size = build_id_from_file(fd, expected);
	const struct record_mmap *found;
	struct record_mmap mmap;

	close(fd);
	assert_true(size > 0);
	found = find_program(ground, path);
	assert_non_null(found);
	assert_true(found->inode > 0);
	mmap = *found;
	mapped_file_complete(ground->maps.procfs, (uint32_t)ground->child, &mmap);
	assert_int_equal(mmap.build_id_size, size);
	assert_memory_equal(mmap.build_id, expected, (size_t)size);
}

static void
assert_both_ways(struct proc_maps_fixture *ground, const char *path, const char *same_build_as)
{
	assert_main_program(ground, path, same_build_as);
	ground->maps.no_query = true;
	assert_main_program(ground, path, same_build_as);
}

static void
a_deleted_program_still_has_its_build_id(void **state)
{
	struct proc_maps_fixture *ground = *state;
	char path[PATH_MAX], shown[PATH_MAX + 16];

	copy_file("/bin/sleep", fake_path(&ground->fake, "program", path));
	assert_true(run(ground, path, NULL));
	assert_int_equal(unlink(path), 0);
	snprintf(shown, sizeof(shown), "%s (deleted)", path);
	assert_both_ways(ground, shown, "/bin/sleep");
}

static void
the_file_that_replaced_a_program_is_not_taken_for_it(void **state)
{
	struct proc_maps_fixture *ground = *state;
	char path[PATH_MAX], other[PATH_MAX], shown[PATH_MAX + 16];

	copy_file("/bin/sleep", fake_path(&ground->fake, "program", path));
	copy_file("/bin/cat", fake_path(&ground->fake, "other", other));
	assert_true(run(ground, path, NULL));
	assert_int_equal(rename(other, path), 0);
	snprintf(shown, sizeof(shown), "%s (deleted)", path);
	assert_both_ways(ground, shown, "/bin/sleep");
}

static void
a_program_that_only_its_mount_namespace_has_is_read_there(void **state)
{
	struct proc_maps_fixture *ground = *state;
	char directory[PATH_MAX], path[PATH_MAX];

	fake_directory(&ground->fake, "mount");
	fake_path(&ground->fake, "mount", directory);
	copy_file("/bin/cat", fake_path(&ground->fake, "mount/program", path)); /* what we see at this path */
	if (!run(ground, path, directory))
		skip_because("no mount namespace can be made here");
	assert_both_ways(ground, path, "/bin/sleep");
}

/* A chroot around the program that runs: the file is where it was, but the process sees it elsewhere. */
static void
a_process_with_another_root_has_paths_below_it(void **state)
{
	struct proc_maps_fixture *ground = *state;
	char program[PATH_MAX] = "", root[PATH_MAX];
	bool found = false;
	int ready[2];
	char byte;

	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	snprintf(root, sizeof(root), "%s", program);
	*strrchr(root, '/') = '\0';
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	ground->child = fork();
	if (ground->child == 0) {
		byte = chroot(root) ? 'n' : 'y';
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (byte != 'y')
		skip_because("not allowed to change the root");
	assert_int_equal(proc_maps_read(&ground->maps, (uint32_t)ground->child, see, &ground->seen), 0);
	for (size_t i = 0; i < ground->seen.count; i++) {
		assert_string_not_equal(ground->seen.paths[i], program);
		found |= !strcmp(ground->seen.paths[i], strrchr(program, '/'));
	}
	assert_true(found);
}

/* `name` and `depth` long directories below each other in it; their path, below that of `ground`, is in `path`. */
static void
put_deep_directory(struct proc_maps_fixture *ground, const char *name, unsigned depth, char path[PATH_MAX])
{
	size_t length;

	snprintf(path, PATH_MAX, "%s", name);
	for (unsigned i = 0; i < depth; i++) {
		length = strlen(path);
		snprintf(path + length, PATH_MAX - length, "/%0*u", 200, i);
	}
	fake_directory(&ground->fake, path);
}

/* Two directories, one of which is then moved to the end of the other. */
static void
a_program_whose_path_is_too_long_is_known_and_so_is_what_follows(void **state)
{
	struct proc_maps_fixture *ground = *state;
	char name[PATH_MAX], moved[PATH_MAX], path[PATH_MAX], from[PATH_MAX], to[PATH_MAX];
	unsigned long_ones = 0, behind = 0;

	put_deep_directory(ground, "long", 15, name);
	assert_true(snprintf(moved, sizeof(moved), "%s/end", name) < PATH_MAX);
	put_deep_directory(ground, "moved", 10, name);
	assert_true(snprintf(to, sizeof(to), "%s/program", name) < PATH_MAX);
	copy_file("/bin/sleep", fake_path(&ground->fake, to, path));
	assert_true(run(ground, path, NULL));
	assert_non_null(find_program(ground, path)); /* else what is read below may be from before the exec */
	ground->seen.count = 0;
	assert_int_equal(rename(fake_path(&ground->fake, "moved", from), fake_path(&ground->fake, moved, to)), 0);
	assert_int_equal(proc_maps_read(&ground->maps, (uint32_t)ground->child, see, &ground->seen), 0);
	assert_int_equal(rename(to, from), 0); /* a path that can be removed */
	if (ground->maps.no_query)
		skip_because("this kernel does not know PROCMAP_QUERY");
	for (size_t i = 0; i < ground->seen.count; i++) {
		if (strcmp(ground->seen.paths[i], "//toolong") == 0) {
			assert_true(ground->seen.mmaps[i].inode > 0);
			long_ones++;
		}
		behind += strcmp(ground->seen.paths[i], "[vdso]") == 0;
	}
	assert_int_equal(long_ones, 1);
	assert_int_equal(behind, 1);
}

static void
a_file_without_a_build_id_has_its_inodes_generation(void **state)
{
	struct proc_maps_fixture *ground = *state;
	union {
		unsigned generation;
		long room;
	} answer = {0};
	const struct record_mmap *found = NULL;
	char path[PATH_MAX], page[4096] = "no ELF file";
	struct stat status;
	void *mapped;
	int fd;

	fake_bytes(&ground->fake, "data", page, sizeof(page));
	fd = open(fake_path(&ground->fake, "data", path), O_RDONLY | O_CLOEXEC);
	mapped = mmap(NULL, sizeof(page), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	assert_int_equal(fstat(fd, &status), 0);
	if (ioctl(fd, FS_IOC_GETVERSION, &answer) != 0)
		answer.generation = 0;
	close(fd);
	for (unsigned way = 0; way < 2; way++) {
		ground->seen.count = 0;
		ground->maps.no_query = way == 1;
		assert_int_equal(proc_maps_read(&ground->maps, (uint32_t)getpid(), see, &ground->seen), 0);
		for (size_t i = 0; i < ground->seen.count; i++)
			if (ground->seen.mmaps[i].start == (uintptr_t)mapped)
				found = &ground->seen.mmaps[i];
		assert_non_null(found);
		assert_int_equal(found->build_id_size, 0);
		assert_int_equal(found->inode, status.st_ino);
		assert_int_equal(found->inode_generation, answer.generation);
	}
	munmap(mapped, sizeof(page));
}

#define MAPS_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* ---- lines ---- */

static struct line_reader *
reader_of(void **state, const char *text, size_t size)
{
	struct line_reader *reader = *state;
	int fd = memfd_create("lines", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	line_reader_init(reader, fd);
	return reader;
}

static int
text_setup(void **state)
{
	*state = malloc(sizeof(struct line_reader));
	return *state ? 0 : -1;
}

static int
text_teardown(void **state)
{
	close(((struct line_reader *)*state)->fd);
	free(*state);
	return 0;
}

static void
each_line_is_given_without_its_newline(void **state)
{
	struct line_reader *reader = reader_of(state, "one\n\ntwo\nlast", 13);
	char *line;

	assert_int_equal(line_reader_next(reader, &line), 1);
	assert_string_equal(line, "one");
	assert_int_equal(line_reader_next(reader, &line), 1);
	assert_string_equal(line, "");
	assert_int_equal(line_reader_next(reader, &line), 1);
	assert_string_equal(line, "two");
	assert_int_equal(line_reader_next(reader, &line), 1);
	assert_string_equal(line, "last");
	assert_int_equal(line_reader_next(reader, &line), 0);
	assert_int_equal(line_reader_next(reader, &line), 0);
}

static void
lines_meet_the_end_of_the_buffer_whole(void **state)
{
	size_t size = 0, capacity = 400000;
	char *text = malloc(capacity), expected[64], *line;
	struct line_reader *reader;
	unsigned count = 0;

	while (size + 64 < capacity)
		size += (size_t)snprintf(text + size, capacity - size, "line %u of many\n", count++);
	reader = reader_of(state, text, size);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(line_reader_next(reader, &line), 1);
		snprintf(expected, sizeof(expected), "line %u of many", i);
		assert_string_equal(line, expected);
	}
	assert_int_equal(line_reader_next(reader, &line), 0);
	free(text);
}

static void
a_line_too_long_is_left_out_whole(void **state)
{
	size_t size = 3 * LINE_READER_SIZE;
	char *text = malloc(size + 16), *line;
	struct line_reader *reader;

	memcpy(text, "before\n", 7);
	memset(text + 7, 'x', size - 7);
	memcpy(text + size, "\nafter\n", 7);
	reader = reader_of(state, text, size + 7);
	assert_int_equal(line_reader_next(reader, &line), 1);
	assert_string_equal(line, "before");
	assert_int_equal(line_reader_next(reader, &line), 1);
	assert_string_equal(line, "after");
	assert_int_equal(line_reader_next(reader, &line), 0);
	free(text);
}

static void
an_error_of_reading_is_given(void **state)
{
	struct line_reader *reader = *state;
	char *line;

	line_reader_init(reader, open("/", O_RDONLY | O_CLOEXEC));
	assert_int_equal(line_reader_next(reader, &line), -EISDIR);
}

static void
numbers_are_read_up_to_64_bits(void **state)
{
	const char *at = "fFfFffffffffffff-1";
	uint64_t value;

	(void)state;
	assert_true(proc_text_hex(&at, &value));
	assert_true(value == UINT64_MAX);
	assert_string_equal(at, "-1");
	assert_false(proc_text_hex(&at, &value));
	at = "10000000000000000";
	assert_false(proc_text_hex(&at, &value));
	at = "18446744073709551615 ";
	assert_true(proc_text_decimal(&at, &value));
	assert_true(value == UINT64_MAX);
	at = "18446744073709551616";
	assert_false(proc_text_decimal(&at, &value));
	at = "a";
	assert_false(proc_text_decimal(&at, &value));
}

/* ---- /proc/PID/stat ---- */

/* What Linux 6.1 shows, but for the name. */
#define BEHIND_NAME                                                                                                    \
	" S 812 4711 4711 34816 4711 4194304 98 0 0 0 1 2 0 0 20 0 1 0 7654321 2703360 236 18446744073709551615 1 1 "  \
	"0 0 0 0 "                                                                                                     \
	"0 0 65536 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

static int
parse_stat(const char *text, struct proc_stat *birth)
{
	return proc_stat_parse(text, strlen(text), birth);
}

static void
parent_and_start_are_fields_4_and_22(void **state)
{
	struct proc_stat birth;

	(void)state;
	assert_int_equal(parse_stat("4711 (sleep)" BEHIND_NAME, &birth), 0);
	assert_int_equal(birth.parent, 812);
	assert_int_equal(birth.start_ticks, 7654321);
}

/* A process may call itself anything. */
static void
a_name_with_parentheses_and_numbers_misleads_nobody(void **state)
{
	struct proc_stat birth;

	(void)state;
	assert_int_equal(parse_stat("4711 (a) S 1 2 3) 4 )" BEHIND_NAME, &birth), 0);
	assert_int_equal(birth.parent, 812);
	assert_int_equal(birth.start_ticks, 7654321);
}

static void
what_is_cut_off_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"4711 (sleep",
		"4711 (sleep)",
		"4711 (sleep) S 812",
		"4711 (sleep) S -1 2",
		"4711 (sleep) S 812 4711 4711 34816 4711 4194304 98 0 0 0 1 2 0 0 20 0 1 0 7654321"};
	struct proc_stat birth;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(parse_stat(wrong[i], &birth), -EINVAL);
}

static void
a_child_of_ours_began_just_now(void **state)
{
	struct timespec before, after;
	struct proc_stat birth;
	int64_t start_ns;
	pid_t child;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &before);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		pause();
		_exit(0);
	}
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_int_equal(proc_stat_read("/proc", (uint32_t)child, &birth), 0);
	assert_int_equal(birth.parent, getpid());
	start_ns = proc_stat_monotonic_ns(birth.start_ticks);
	assert_true(start_ns >= (int64_t)before.tv_sec * 1000000000 + before.tv_nsec - 10000000); /* a tick */
	assert_true(start_ns <= (int64_t)after.tv_sec * 1000000000 + after.tv_nsec);
	/* what the machine has slept is read twice, some nanoseconds apart */
	assert_true(llabs((int64_t)(proc_stat_ticks((uint64_t)start_ns) - birth.start_ticks)) <= 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(proc_stat_read("/proc", (uint32_t)child, &birth) < 0);
}

static void
a_pid_namespace_is_known_by_its_number(void **state)
{
	char procfs[64] = "/tmp/dcpi-test.XXXXXX", path[128];
	const char *folders[] = {"", "/self", "/self/ns"};

	(void)state;
	assert_non_null(mkdtemp(procfs));
	for (int i = 1; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", procfs, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/self/ns/pid", procfs);
	assert_false(proc_text_is_nested(procfs)); /* not to be told: not claimed */
	assert_int_equal(symlink("pid:[4026531836]", path), 0);
	assert_false(proc_text_is_nested(procfs));
	unlink(path);
	assert_int_equal(symlink("pid:[4026532300]", path), 0);
	assert_true(proc_text_is_nested(procfs));
	unlink(path);
	for (int i = 2; i >= 0; i--) {
		snprintf(path, sizeof(path), "%s%s", procfs, folders[i]);
		rmdir(path);
	}
}

/* ---- threads ---- */

static void *
wait_at(void *barrier)
{
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

static void
all_threads_are_listed_and_more_of_them_need_more_room(void **state)
{
	pthread_t threads[40];
	pthread_barrier_t barrier;
	pid_t *tids = NULL;
	size_t room = 0;

	(void)state;
	assert_int_equal(proc_list_threads(getpid(), &tids, &room), 1);
	assert_int_equal(tids[0], getpid());
	pthread_barrier_init(&barrier, NULL, ARRAY_COUNT(threads) + 1);
	for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_at, &barrier), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(proc_list_threads(getpid(), &tids, &room), ARRAY_COUNT(threads) + 1);
	assert_true(room > ARRAY_COUNT(threads));
	assert_int_not_equal(tids[ARRAY_COUNT(threads)], 0);
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	assert_int_equal(proc_list_threads(INT32_MAX, &tids, &room), -ESRCH);
	free(tids);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_threads_are_listed_and_more_of_them_need_more_room),
		cmocka_unit_test(a_line_is_read_field_by_field),
		cmocka_unit_test(a_line_without_a_path_has_an_empty_one),
		cmocka_unit_test(spaces_and_newlines_in_a_path_stay),
		cmocka_unit_test(lines_of_another_form_are_refused),
		MAPS_TEST(a_process_that_is_gone_is_an_error),
		MAPS_TEST(text_and_answers_say_the_same_of_this_process),
		MAPS_TEST(a_deleted_program_still_has_its_build_id),
		MAPS_TEST(the_file_that_replaced_a_program_is_not_taken_for_it),
		MAPS_TEST(a_program_that_only_its_mount_namespace_has_is_read_there),
		MAPS_TEST(a_process_with_another_root_has_paths_below_it),
		MAPS_TEST(a_program_whose_path_is_too_long_is_known_and_so_is_what_follows),
		MAPS_TEST(a_file_without_a_build_id_has_its_inodes_generation),
		cmocka_unit_test_setup_teardown(each_line_is_given_without_its_newline, text_setup, text_teardown),
		cmocka_unit_test_setup_teardown(lines_meet_the_end_of_the_buffer_whole, text_setup, text_teardown),
		cmocka_unit_test_setup_teardown(a_line_too_long_is_left_out_whole, text_setup, text_teardown),
		cmocka_unit_test_setup_teardown(an_error_of_reading_is_given, text_setup, text_teardown),
		cmocka_unit_test(numbers_are_read_up_to_64_bits),
		cmocka_unit_test(parent_and_start_are_fields_4_and_22),
		cmocka_unit_test(a_name_with_parentheses_and_numbers_misleads_nobody),
		cmocka_unit_test(what_is_cut_off_is_refused),
		cmocka_unit_test(a_child_of_ours_began_just_now),
		cmocka_unit_test(a_pid_namespace_is_known_by_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
