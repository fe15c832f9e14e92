/* Tests of collectord/capture_child.h with the real dcpi-capture, and with programs that misbehave in its place. */
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "collectord/capture_child.h"
#include "process/build_id.h"
#include "profile/captured.h"
#include "tests/remove_tree.h"
#include "unwind/table.h"

struct capture_child_stage {
	char directory[64];
	char program[PATH_MAX]; /* the real one */
	char path[PATH_MAX];    /* a copy of sleep(1) */
	struct image image;     /* that copy */
	pid_t sleeper;
	struct capture_outcome outcome;
};

/* As the kernel would tell of a mapping of `path`. */
static struct image
image_at(const char *path)
{
	struct image image = {.kind = IMAGE_USER, .path = path};
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC), size;

	assert_true(fd >= 0);
	size = build_id_from_file(fd, image.build_id);
	assert_int_equal(fstat(fd, &status), 0);
	close(fd);
	if (size > 0) {
		image.build_id_size = (uint8_t)size;
		return image;
	}
	image.device_major = major(status.st_dev);
	image.device_minor = minor(status.st_dev);
	image.inode = status.st_ino;
	return image;
}

static void
copy_file(const char *from, const char *to)
{
	char command[2 * PATH_MAX + 32];

	snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): of a test's own */
}

static int
set_up(void **state)
{
	static struct capture_child_stage stage;
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	memset(&stage, 0, sizeof(stage));
	if (length < 0)
		return -1;
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(stage.program, sizeof(stage.program), "%.3000s/../../../lib/dcpi/" CAPTURE_PROGRAM, self);
	snprintf(stage.directory, sizeof(stage.directory), "/tmp/capture-test-XXXXXX");
	if (!mkdtemp(stage.directory))
		return -1;
	snprintf(stage.path, sizeof(stage.path), "%s/sleeper", stage.directory);
	copy_file("/bin/sleep", stage.path);
	stage.image = image_at(stage.path);
	*state = &stage;
	return 0;
}

static int
tear_down(void **state)
{
	struct capture_child_stage *stage = *state;

	capture_outcome_fini(&stage->outcome);
	if (stage->sleeper > 0) {
		kill(stage->sleeper, SIGKILL);
		waitpid(stage->sleeper, NULL, 0);
	}
	return remove_tree(stage->directory);
}

static const struct capture_outcome *
run_program(struct capture_child_stage *stage, const char *program, const struct capture_request *request, int stop)
{
	struct byte_writer writer = BYTE_WRITER_INIT;

	assert_int_equal(capture_request_encode(request, &writer), 0);
	capture_child_run(program, &writer, stop, &stage->outcome);
	writer_fini(&writer);
	return &stage->outcome;
}

static const struct capture_outcome *
run(struct capture_child_stage *stage, const struct capture_request *request)
{
	return run_program(stage, stage->program, request, -1);
}

/* A block with samples of a process's own code. */
static struct capture_request
request_of_code(const struct request_place *place)
{
	return (struct capture_request){
		.image = {.kind = IMAGE_JIT, .inode = 42, .path = "[jit:node]"},
		.start = 0x200000,
		.names = true,
		.places = place,
		.place_count = 1,
	};
}

static const struct capture_outcome *
run_with(struct capture_child_stage *stage, const struct capture_request *request, const char *text)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int file = open(stage->path, O_RDWR | O_TRUNC | O_CLOEXEC);
	struct capture_child child, *const children[] = {&child};

	assert_true(file >= 0);
	assert_int_equal(write(file, text, strlen(text)), strlen(text));
	assert_int_equal(capture_request_encode(request, &writer), 0);
	capture_child_start(&child, stage->program, &writer, file, &stage->outcome);
	while (!child.has_ended)
		capture_children_serve(children, 1, -1, UINT64_MAX);
	writer_fini(&writer);
	close(file);
	return &stage->outcome;
}

static void
what_a_process_told_about_its_code_is_taken(void **state)
{
	const struct request_place place = {.block = 0, .granules = 1};
	struct capture_child_stage *stage = *state;
	struct capture_request request = request_of_code(&place);
	const struct capture_outcome *outcome = run_with(stage, &request, "200010 20 f\n209000 20 elsewhere\n");
	struct profile_symbol *symbols;
	size_t count;

	assert_int_equal(outcome->error, 0);
	assert_int_equal(captured_symbols_decode(outcome->reply.captured.symbols.data,
	                                         outcome->reply.captured.symbols.size, &symbols, &count),
	                 0);
	assert_int_equal(count, 1);
	assert_int_equal(symbols[0].offset, 0x10);
	assert_string_equal(symbols[0].name, "f");
	assert_int_equal(outcome->reply.captured.parcel_count, 0);
	free(symbols);
}

static void
memory_that_a_process_used_again_is_told(void **state)
{
	const struct request_place place = {.block = 0, .granules = 1};
	struct capture_child_stage *stage = *state;
	struct capture_request request = request_of_code(&place);
	const struct capture_outcome *outcome;

	request.end = 12;
	outcome = run_with(stage, &request, "200010 20 f\n200010 20 g\n");
	assert_int_equal(outcome->error, CAPTURE_REUSED);
	assert_non_null(outcome->reply.captured.symbols.data);
}

static void
without_a_file_nothing_is_taken_of_code(void **state)
{
	const struct request_place place = {.block = 0, .granules = 1};
	struct capture_request request = request_of_code(&place);
	const struct capture_outcome *outcome = run(*state, &request);

	assert_int_equal(outcome->error, -EBADF);
}

static void
start_sleeper(struct capture_child_stage *stage)
{
	char link[64], target[PATH_MAX];

	stage->sleeper = fork();
	if (stage->sleeper == 0) {
		execl(stage->path, "sleep", "600", (char *)NULL);
		_exit(127);
	}
	snprintf(link, sizeof(link), "/proc/%d/exe", stage->sleeper);
	do
		memset(target, 0, sizeof(target));
	while (readlink(link, target, sizeof(target) - 1) > 0 && strcmp(target, stage->path) != 0);
}

static void
assert_taken(const struct capture_outcome *outcome)
{
	assert_int_equal(outcome->error, 0);
	assert_non_null(outcome->reply.captured.symbols.data);
	assert_non_null(outcome->reply.captured.layout.data);
	assert_true(outcome->cpu_ns > 0);
}

/* sleep(1) has some 20 KiB of code: a small image. */
static void
names_and_text_of_a_file_are_taken(void **state)
{
	struct capture_child_stage *stage = *state;
	const struct request_place place = {.block = 2, .granules = 1};
	const struct capture_request request = {
		.image = stage->image, .names = true, .places = &place, .place_count = 1};
	const struct capture_outcome *outcome = run(stage, &request);
	uint32_t numbers[CAPTURED_PARCEL_MAX];

	assert_taken(outcome);
	assert_true(outcome->reply.captured.parcel_count >= 1);
	assert_true(captured_parcel_blocks(outcome->reply.parcels[0].data, outcome->reply.parcels[0].size, numbers) >
	            3);
}

static void
what_was_taken_is_not_taken_again(void **state)
{
	struct capture_child_stage *stage = *state;
	uint32_t known[1000];
	const struct capture_request request = {.image = stage->image, .known = known, .known_count = 1000};
	const struct capture_outcome *outcome;

	for (uint32_t i = 0; i < 1000; i++)
		known[i] = i;
	outcome = run(stage, &request);
	assert_int_equal(outcome->error, 0);
	assert_null(outcome->reply.captured.symbols.data);
	assert_null(outcome->reply.captured.layout.data);
	assert_int_equal(outcome->reply.captured.parcel_count, 0);
}

/* More than a pipe holds. */
static void
a_large_request_arrives(void **state)
{
	struct capture_child_stage *stage = *state;
	const size_t count = 200000;
	uint32_t *known = calloc(count, sizeof(*known));
	const struct capture_request request = {
		.image = stage->image, .names = true, .known = known, .known_count = count};

	assert_non_null(known);
	for (size_t i = 0; i < count; i++)
		known[i] = (uint32_t)(1000000 + i * 1000);
	assert_taken(run(stage, &request));
	free(known);
}

static void
a_deleted_file_is_taken_from_its_process(void **state)
{
	struct capture_child_stage *stage = *state;
	struct capture_request request = {.image = stage->image, .names = true};

	start_sleeper(stage);
	assert_int_equal(unlink(stage->path), 0);
	assert_int_equal(run(stage, &request)->error, -ENOENT);
	capture_outcome_fini(&stage->outcome);
	request.pid = (uint32_t)stage->sleeper;
	assert_taken(run(stage, &request));
}

static void
another_build_is_refused(void **state)
{
	struct capture_child_stage *stage = *state;
	const struct capture_request request = {.image = stage->image, .names = true};

	assert_int_equal(unlink(stage->path), 0);
	copy_file("/bin/cat", stage->path);
	assert_int_equal(run(stage, &request)->error, -DCPI_EBUILDID);
}

static void
without_a_build_id_another_inode_is_refused(void **state)
{
	struct capture_child_stage *stage = *state;
	struct capture_request request = {.image = {.kind = IMAGE_USER, .path = stage->path}, .names = true};
	struct stat status;

	assert_int_equal(stat(stage->path, &status), 0);
	request.image.device_major = major(status.st_dev);
	request.image.device_minor = minor(status.st_dev);
	request.image.inode = status.st_ino;
	assert_taken(run(stage, &request));
	capture_outcome_fini(&stage->outcome);
	request.image.inode++;
	assert_int_equal(run(stage, &request)->error, -DCPI_EBUILDID);
}

/* Nobody writes to it: whoever opened it for reading would wait. */
static void
a_pipe_in_the_files_place_is_not_opened(void **state)
{
	struct capture_child_stage *stage = *state;
	const struct capture_request request = {.image = stage->image, .names = true};

	assert_int_equal(unlink(stage->path), 0);
	assert_int_equal(mkfifo(stage->path, 0600), 0);
	assert_int_not_equal(run(stage, &request)->error, 0);
}

static void
a_link_in_the_files_place_is_not_followed(void **state)
{
	struct capture_child_stage *stage = *state;
	const struct capture_request request = {.image = stage->image, .names = true};

	assert_int_equal(unlink(stage->path), 0);
	assert_int_equal(symlink("/bin/sleep", stage->path), 0);
	assert_int_not_equal(run(stage, &request)->error, 0);
}

static void
what_is_no_elf_file_is_said_to_be_none(void **state)
{
	struct capture_child_stage *stage = *state;
	struct capture_request request = {.names = true};
	FILE *file = fopen(stage->path, "we");

	assert_non_null(file);
	assert_true(fputs("#!/bin/sh\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
	request.image = image_at(stage->path);
	assert_int_equal(run(stage, &request)->error, -DCPI_EDAMAGED);
}

static void
the_vdso_is_taken_from_memory(void **state)
{
	struct capture_child_stage *stage = *state;
	struct capture_request request = {.image = {.kind = IMAGE_VDSO, .path = "[vdso]"}, .names = true};

	/* its build-id is not told: the one of the kernel's that runs is asked for by dcpid, and another is refused */
	request.image.build_id_size = 1;
	assert_int_equal(run(stage, &request)->error, -DCPI_EBUILDID);
}

#define CORPUS "tests/fuzz/corpus/capture"

/* Ask for what `request` asks of the file. */
static int
run_on_file(struct capture_child_stage *stage, struct capture_request request, const char *path)
{
	struct stat status;
	char *real = realpath(path, NULL);
	int err;

	assert_non_null(real);
	assert_int_equal(stat(real, &status), 0);
	request.image = (struct image){
		.kind = IMAGE_USER,
		.device_major = major(status.st_dev),
		.device_minor = minor(status.st_dev),
		.inode = status.st_ino,
		.path = real,
	};
	err = run(stage, &request)->error;
	free(real);
	return err;
}

static const struct request_place first_block[] = {{0, UINT64_MAX}};
static const struct capture_request all_of_it = {.names = true, .places = first_block, .place_count = 1},
				    unwind_table = {.unwind = true};

/* Each file of `directory` has its reader's time and memory bounded, and costs its life at most. */
static void
assert_harmless(struct capture_child_stage *stage, const struct capture_request *request, const char *directory,
                size_t least)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	size_t count = 0;
	DIR *corpus = opendir(directory);

	if (!corpus)
		skip_because("not run from the top of the source");
	while ((entry = readdir(corpus))) {
		int err;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		err = run_on_file(stage, *request, path);
		if (err != 0 && err != -DCPI_EDAMAGED && err != -ECHILD && err != -EFBIG && err != -ENOENT &&
		    err != -ENOTSUP)
			fail_msg("%s: %s", entry->d_name, error_text(err));
		if (stage->outcome.cpu_ns > UINT64_C(10000000000))
			fail_msg("%s: %.1f s", entry->d_name, (double)stage->outcome.cpu_ns / 1e9);
		capture_outcome_fini(&stage->outcome);
		count++;
	}
	closedir(corpus);
	assert_true(count >= least);
}

static void
hostile_files_do_no_harm(void **state)
{
	assert_harmless(*state, &all_of_it, CORPUS, 20);
}

static void
hostile_frame_descriptions_do_no_harm(void **state)
{
	assert_harmless(*state, &unwind_table, CORPUS, 20);
	assert_harmless(*state, &unwind_table, "tests/fuzz/corpus/unwind_build", 4);
}

/* gcc's compiler has 430,000 rows. */
static void
the_unwind_table_of_a_large_program_is_taken_in_bounds(void **state)
{
	struct capture_child_stage *stage = *state;
	const struct capture_reply *reply = &stage->outcome.reply;
	struct unwind_table *table;
	char path[PATH_MAX] = "";
	FILE *pipe = popen("gcc -print-prog-name=cc1", "re"); /* NOLINT(cert-env33-c): of a test's own */

	assert_non_null(pipe);
	if (!fgets(path, sizeof(path), pipe))
		path[0] = '\0';
	pclose(pipe);
	path[strcspn(path, "\n")] = '\0';
	if (path[0] != '/')
		skip_because("there is no cc1");
	assert_int_equal(run_on_file(stage, unwind_table, path), 0);
	assert_int_equal(reply->captured.owner, CAPTURED_ROOTS);
	assert_null(reply->captured.symbols.data);
	assert_int_equal(reply->captured.parcel_count, 0);
	assert_true(reply->captured.unwind.size < 2 << 20);
	assert_true(stage->outcome.cpu_ns < 10 * SECOND_NS); /* 0.2 s, unless it is sanitized */
	assert_int_equal(captured_unwind_decode(reply->captured.unwind.data, reply->captured.unwind.size, &table), 0);
	assert_true(table->row_count > 100000);
	assert_true(table->memory < 8 << 20);
	unwind_table_free(table);
}

/* The vdso has frame descriptions, too: signals return through it on aarch64, and clocks are read in it. */
static void
the_unwind_table_of_the_vdso_is_taken(void **state)
{
	struct capture_child_stage *stage = *state;
	struct capture_request request = unwind_table;
	struct unwind_table *table;
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	int build_id_size;

	request.image = (struct image){.kind = IMAGE_VDSO, .path = "[vdso]"};
	if (!vdso)
		skip_because("there is no vdso");
	build_id_size = build_id_from_memory(vdso, (size_t)sysconf(_SC_PAGESIZE), request.image.build_id);
	assert_true(build_id_size > 0);
	request.image.build_id_size = (uint8_t)build_id_size;
	assert_int_equal(run(stage, &request)->error, 0);
	assert_int_equal(captured_unwind_decode(stage->outcome.reply.captured.unwind.data,
	                                        stage->outcome.reply.captured.unwind.size, &table),
	                 0);
	assert_true(table->row_count > 0);
	unwind_table_free(table);
}

static void
the_file_that_they_were_made_from_is_taken(void **state)
{
	struct capture_child_stage *stage = *state;

	if (access(CORPUS "/whole", R_OK))
		skip_because("not run from the top of the source");
	assert_int_equal(run_on_file(stage, all_of_it, CORPUS "/whole"), 0);
	assert_taken(&stage->outcome);
	assert_int_equal(stage->outcome.reply.captured.parcel_count, 1);
}

/* ---- a program in its place ---- */

static const char *
script(struct capture_child_stage *stage, const char *text, char path[PATH_MAX])
{
	FILE *file;

	snprintf(path, PATH_MAX, "%s/script", stage->directory);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fprintf(file, "#!/bin/sh\n%s\n", text) > 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0700), 0);
	return path;
}

static void
a_process_that_dies_is_told_from_one_that_ends(void **state)
{
	struct capture_child_stage *stage = *state;
	const struct capture_request request = {.image = stage->image};
	char path[PATH_MAX];

	assert_int_equal(run_program(stage, script(stage, "kill -SEGV $$", path), &request, -1)->error, -ECHILD);
	assert_int_equal(stage->outcome.signal, SIGSEGV);
	capture_outcome_fini(&stage->outcome);
	assert_int_equal(run_program(stage, script(stage, "exit 1", path), &request, -1)->error, -ECHILD);
	assert_int_equal(stage->outcome.signal, 0);
}

static void
what_makes_no_sense_is_refused(void **state)
{
	struct capture_child_stage *stage = *state;
	const struct capture_request request = {.image = stage->image};
	char path[PATH_MAX];

	assert_int_equal(run_program(stage, script(stage, "echo nonsense", path), &request, -1)->error, -EBADMSG);
}

static void
a_program_that_is_not_there_is_said(void **state)
{
	struct capture_child_stage *stage = *state;
	const struct capture_request request = {.image = stage->image};

	assert_int_equal(run_program(stage, "/nonexistent/dcpi-capture", &request, -1)->error, -ENOENT);
}

static void
who_must_stop_does_not_wait(void **state)
{
	struct capture_child_stage *stage = *state;
	const struct capture_request request = {.image = stage->image};
	int stop = eventfd(1, EFD_CLOEXEC);
	char path[PATH_MAX];

	assert_true(stop >= 0);
	assert_int_equal(run_program(stage, script(stage, "exec sleep 600", path), &request, stop)->error, -ECANCELED);
	close(stop);
}

/* As one does that reads from a file system that does not answer. */
static void
who_waits_for_something_is_ended_soon(void **state)
{
	struct capture_child_stage *stage = *state;
	const struct capture_request request = {.image = stage->image};
	const uint64_t began_ns = monotonic_ns();
	char path[PATH_MAX];

	assert_int_equal(run_program(stage, script(stage, "exec sleep 600", path), &request, -1)->error, -ETIMEDOUT);
	assert_true(monotonic_ns() - began_ns < CAPTURE_CHILD_S * SECOND_NS / 2);
}

/* The child's own limit, 3 s of processor time, ends it: that is more than the time for which one may wait without
 * work. */
static void
who_computes_for_longer_is_waited_for(void **state)
{
	struct capture_child_stage *stage = *state;
	const struct capture_request request = {.image = stage->image};
	char path[PATH_MAX];

	run_program(stage, script(stage, "ulimit -t 3; while :; do :; done", path), &request, -1);
	assert_int_equal(stage->outcome.error, -ECHILD);
}

static void
who_says_too_much_is_ended(void **state)
{
	struct capture_child_stage *stage = *state;
	const struct capture_request request = {.image = stage->image};
	char path[PATH_MAX];

	assert_int_equal(run_program(stage, script(stage, "exec cat /dev/zero", path), &request, -1)->error, -EFBIG);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(names_and_text_of_a_file_are_taken),
		CASE(what_a_process_told_about_its_code_is_taken),
		CASE(memory_that_a_process_used_again_is_told),
		CASE(without_a_file_nothing_is_taken_of_code),
		CASE(what_was_taken_is_not_taken_again),
		CASE(a_large_request_arrives),
		CASE(a_deleted_file_is_taken_from_its_process),
		CASE(another_build_is_refused),
		CASE(without_a_build_id_another_inode_is_refused),
		CASE(a_pipe_in_the_files_place_is_not_opened),
		CASE(a_link_in_the_files_place_is_not_followed),
		CASE(what_is_no_elf_file_is_said_to_be_none),
		CASE(the_vdso_is_taken_from_memory),
		CASE(hostile_files_do_no_harm),
		CASE(hostile_frame_descriptions_do_no_harm),
		CASE(the_unwind_table_of_a_large_program_is_taken_in_bounds),
		CASE(the_unwind_table_of_the_vdso_is_taken),
		CASE(the_file_that_they_were_made_from_is_taken),
		CASE(a_process_that_dies_is_told_from_one_that_ends),
		CASE(what_makes_no_sense_is_refused),
		CASE(a_program_that_is_not_there_is_said),
		CASE(who_must_stop_does_not_wait),
		CASE(who_waits_for_something_is_ended_soon),
		CASE(who_computes_for_longer_is_waited_for),
		CASE(who_says_too_much_is_ended),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
