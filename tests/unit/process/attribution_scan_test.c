/* What was there before us: processes on a fake /proc, and this very process on the real one. */
#include "tests/unit/process/story.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sys/wait.h>

static void
put_process(struct story *story, const char *pid, const char *comm, const char *maps)
{
	char name[64];

	snprintf(name, sizeof(name), "%s/comm", pid);
	fake_text(&story->fake, name, comm);
	snprintf(name, sizeof(name), "%s/maps", pid);
	fake_text(&story->fake, name, maps);
}

static void
what_was_mapped_before_is_found(void **state)
{
	struct story *story = *state;

	put_process(story, "42", "gzip\n",
	            "00400000-00401000 r--p 00000000 08:01 77       /usr/bin/gzip\n"
	            "00401000-00404000 r-xp 00001000 08:01 77       /usr/bin/gzip\n"
	            "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
	            "7ffc00001000-7ffc00003000 r-xp 00000000 00:00 0                          [vdso]\n");
	assert_int_equal(story_scan(story), 0);
	assert_sample(story, 1, 42, 0x401010, "/usr/bin/gzip", 0x1010);
	assert_comm(story, 1, 42, 0x401010, "gzip");
	assert_sample(story, 1, 42, 0x7f0000000010, "[anon]", 0x10);
	assert_sample(story, 1, 42, 0x7ffc00001010, "[vdso]", 0x10);
	assert_unknown(story, 1, 42, 0x400010, UNKNOWN_ADDRESS); /* not executable */
	assert_true(story_stats(story).scan_ns > 0);
}

/* What the kernel shows of a process whose main thread has ended: nothing of it, all of the others. */
static void
a_process_without_its_main_thread_has_its_threads_mappings(void **state)
{
	struct story *story = *state;

	put_process(story, "42", "server\n", "");
	fake_directory(&story->fake, "42/task/42");
	fake_directory(&story->fake, "42/task/45");
	fake_text(&story->fake, "45/maps", "00401000-00404000 r-xp 00001000 08:01 77 /usr/bin/server\n");
	assert_int_equal(story_scan(story), 0);
	assert_sample(story, 1, 42, 0x401010, "/usr/bin/server", 0x1010);
	assert_comm(story, 1, 42, 0x401010, "server");
}

static void
text_that_was_moved_to_huge_pages_before_is_the_files(void **state)
{
	struct story *story = *state;

	put_process(story, "1", "whole\n", /* the file before it and behind it */
	            "00401000-00600000 r-xp 00001000 08:01 77 /bin/big\n"
	            "00600000-00a00000 r-xp 00000000 00:00 0 \n"
	            "00a00000-00a01000 r-xp 00600000 08:01 77 /bin/big\n");
	put_process(story, "2", "aligned\n", /* text that begins on a huge page */
	            "00600000-00a00000 r-xp 00000000 00:00 0 \n"
	            "00a00000-00a01000 r-xp 00600000 08:01 77 /bin/big\n");
	assert_int_equal(story_scan(story), 0);
	for (uint32_t pid = 1; pid <= 2; pid++) {
		assert_sample(story, 1, pid, 0x600010, "/bin/big", 0x200010);
		assert_sample(story, 1, pid, 0x9fffff, "/bin/big", 0x5fffff);
	}
}

static void
memory_beside_text_is_memory(void **state)
{
	struct story *story = *state;

	put_process(story, "1", "first\n", /* the file begins behind it */
	            "00600000-00a00000 r-xp 00000000 00:00 0 \n"
	            "00a00000-00a01000 r-xp 00000000 08:01 77 /bin/big\n");
	put_process(story, "2", "small\n", /* a patched page */
	            "00401000-00600000 r-xp 00001000 08:01 77 /bin/big\n"
	            "00600000-00601000 r-xp 00000000 00:00 0 \n"
	            "00601000-00a01000 r-xp 00201000 08:01 77 /bin/big\n");
	put_process(story, "3", "other\n", /* two files, one before and one behind it */
	            "00401000-00600000 r-xp 00001000 08:01 78 /bin/other\n"
	            "00600000-00a00000 r-xp 00000000 00:00 0 \n"
	            "00a00000-00a01000 r-xp 00600000 08:01 77 /bin/big\n");
	put_process(story, "4", "gap\n", /* the file does not go on where it was left */
	            "00401000-00600000 r-xp 00001000 08:01 77 /bin/big\n"
	            "00600000-00a00000 r-xp 00000000 00:00 0 \n"
	            "00a00000-00a01000 r-xp 00700000 08:01 77 /bin/big\n");
	assert_int_equal(story_scan(story), 0);
	for (uint32_t pid = 1; pid <= 4; pid++)
		assert_sample(story, 1, pid, 0x600010, "[anon]", 0x10);
}

static void
entries_that_are_no_processes_are_passed_by(void **state)
{
	struct story *story = *state;

	fake_text(&story->fake, "uptime", "1 2\n");
	fake_text(&story->fake, "12x/comm", "no\n");
	fake_text(&story->fake, "0/comm", "no\n");
	fake_text(&story->fake, "4294967295/comm", "no\n");
	fake_text(&story->fake, "99999999999999999999/comm", "no\n");
	put_process(story, "1", "init\n", "");
	assert_int_equal(story_scan(story), 0);
	assert_int_equal(story_stats(story).processes, 1);
}

static void
a_process_that_ends_while_it_is_read_is_no_error(void **state)
{
	struct story *story = *state;

	fake_directory(&story->fake, "42"); /* neither name nor maps any more */
	put_process(story, "43", "next\n", "00401000-00404000 r-xp 00001000 08:01 77 /bin/next\n");
	assert_int_equal(story_scan(story), 0);
	assert_sample(story, 1, 43, 0x401000, "/bin/next", 0x1000);
}

static void
without_proc_there_is_nothing_to_begin_with(void **state)
{
	struct attribution_options options = {.procfs = "/no/such", .sysfs = "/no/such", .cgroupfs = "/no/such"};
	struct image_table *images = image_table_new();
	struct context_table *contexts = context_table_new();
	struct attribution *attribution = attribution_new(&options, images, contexts);

	(void)state;
	assert_int_equal(scan_proc(attribution, &options), -ENOENT);
	attribution_free(attribution);
	context_table_free(contexts);
	image_table_free(images);
}

static void
records_go_on_where_the_scan_ended(void **state)
{
	struct story *story = *state;

	put_process(story, "42", "gzip\n", "00401000-00404000 r-xp 00001000 08:01 77 /usr/bin/gzip\n");
	assert_int_equal(story_scan(story), 0);
	story_fork(story, 1, 42, 43);
	assert_sample(story, 2, 43, 0x401010, "/usr/bin/gzip", 0x1010);
	story_exec(story, 3, 42, "other");
	story_map(story, 3, 42, "/usr/bin/other", 2, 0x401000, 0x1000, 0);
	assert_sample(story, 4, 42, 0x401010, "/usr/bin/other", 0x10);
	assert_sample(story, 4, 43, 0x401010, "/usr/bin/gzip", 0x1010);
}

static void
a_fork_replaces_what_the_scan_saw_under_its_pid(void **state)
{
	struct story *story = *state;

	put_process(story, "42", "gzip\n", "00401000-00404000 r-xp 00001000 08:01 77 /usr/bin/gzip\n");
	put_process(story, "10", "sh\n", "00501000-00504000 r-xp 00001000 08:01 78 /bin/sh\n");
	assert_int_equal(story_scan(story), 0);
	story_fork(story, 1, 10, 42); /* the scan saw the pid's user before or after this one */
	assert_unknown(story, 2, 42, 0x401010, UNKNOWN_ADDRESS);
	assert_sample(story, 2, 42, 0x501010, "/bin/sh", 0x1010);
}

static void
a_kernel_worker_is_named_without_its_work(void **state)
{
	struct story *story = *state;
	struct sample_key key;

	fake_text(&story->fake, "kallsyms", "ffffffff81000000 T _stext\nffffffff82000000 T _etext\n");
	put_process(story, "7", "kworker/0:1-events_power_efficient\n", "");
	put_process(story, "8", "kworker/R-netns\n", "");
	assert_int_equal(story_scan(story), 0);
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, 7, 0xffffffff81000000, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->comm, "kworker/0:1");
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, 8, 0xffffffff81000000, &key), 0);
	assert_string_equal(context_table_get(story->contexts, key.context)->comm, "kworker/R-netns");
}

/* Whoever wants their text need not look for it. */
static void
where_kernel_and_modules_lie_is_known_of_those_with_samples(void **state)
{
	struct story *story = *state;
	struct image_place place;
	struct sample_key key;

	fake_text(&story->fake, "kallsyms", "ffffffff81000000 T _stext\nffffffff82000000 T _etext\n");
	fake_text(&story->fake, "modules", "toy 8192 0 - Live 0xffffffffc0000000\n");
	assert_int_equal(story_scan(story), 0);
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, 0, 0xffffffff81234567, &key), 0);
	place = attribution_place(story->attribution, key.image);
	assert_int_equal(place.pid, 0);
	assert_int_equal(place.start, 0xffffffff81000000);
	assert_int_equal(place.end, 0xffffffff82000000);
	assert_int_equal(story_sample(story, 1, CPU_MODE_KERNEL, 0, 0xffffffffc0000123, &key), 0);
	place = attribution_place(story->attribution, key.image);
	assert_int_equal(place.start, 0xffffffffc0000000);
	assert_int_equal(place.end, 0xffffffffc0002000);
}

/* The record of its end was lost: the kernel knows that it is gone. */
static void
a_process_whose_end_was_lost_is_found_out(void **state)
{
	struct story *story = *state;
	pid_t gone = fork();

	if (gone == 0)
		_exit(0);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	assert_int_equal(story_scan(story), 0);
	story_exec(story, 0, (uint32_t)gone, "gone");
	story_map(story, 0, (uint32_t)gone, "/bin/gone", 1, 0x400000, 0x1000, 0);
	story_exec(story, 0, (uint32_t)getpid(), "here");
	story_map(story, 0, (uint32_t)getpid(), "/bin/here", 2, 0x400000, 0x1000, 0);
	attribution_expire(story->attribution, 1000 * MS);
	assert_sample(story, 1000, (uint32_t)gone, 0x400000, "/bin/gone", 0); /* late samples may still come */
	attribution_expire(story->attribution, 2000 * MS);
	assert_unknown(story, 2000, (uint32_t)gone, 0x400000, UNKNOWN_PROCESS);
	attribution_expire(story->attribution, 60000 * MS);
	assert_sample(story, 60000, (uint32_t)getpid(), 0x400000, "/bin/here", 0);
}

static uint64_t scan_ns;

static uint64_t
clock_of_scan(void)
{
	return scan_ns;
}

/* A story in which /proc is read at 5 ms. */
static int
setup_scan_at_5_ms(void **state)
{
	struct attribution_options options = {.exit_grace_ns = 1000 * MS, .clock_ns = clock_of_scan};
	struct story *story;
	int err = story_setup(state);

	scan_ns = 5 * MS;
	story = *state;
	attribution_free(story->attribution);
	options.procfs = options.sysfs = options.cgroupfs = story->fake.path;
	story->options = options;
	story->attribution = attribution_new(&options, story->images, story->contexts);
	return err;
}

/* Records that wait in the rings while /proc is read tell what is known already. */
static void
what_happened_before_the_scan_is_not_applied_to_what_it_saw(void **state)
{
	struct story *story = *state;

	put_process(story, "42", "gzip\n", "00401000-00404000 r-xp 00001000 08:01 77 /usr/bin/gzip\n");
	put_process(story, "43", "child\n", "00401000-00404000 r-xp 00001000 08:01 78 /usr/bin/sh\n");
	assert_int_equal(story_scan(story), 0);
	story_fork(story, 1, 42, 43); /* when 42 was another program */
	story_exec(story, 2, 42, "gzip");
	story_exit(story, 3, 42, 42); /* of a process that had the number before */
	assert_sample(story, 6, 42, 0x401010, "/usr/bin/gzip", 0x1010);
	assert_sample(story, 6, 43, 0x401010, "/usr/bin/sh", 0x1010);
	assert_comm(story, 6, 43, 0x401010, "child");
	attribution_expire(story->attribution, 5000 * MS);
	assert_sample(story, 5000, 42, 0x401010, "/usr/bin/gzip", 0x1010);
	story_exec(story, 5001, 42, "next");
	assert_unknown(story, 5002, 42, 0x401010, UNKNOWN_ADDRESS);
}

static void
a_number_used_again_after_the_scan_is_a_fresh_process(void **state)
{
	struct story *story = *state;

	put_process(story, "42", "gzip\n", "00401000-00404000 r-xp 00001000 08:01 77 /usr/bin/gzip\n");
	assert_int_equal(story_scan(story), 0);
	story_fork(story, 6, 1, 42);
	story_exec(story, 4, 42, "late"); /* told by another CPU, with an earlier time */
	story_map(story, 7, 42, "/bin/late", 1, 0x500000, 0x1000, 0);
	assert_sample(story, 8, 42, 0x500010, "/bin/late", 0x10);
	assert_unknown(story, 8, 42, 0x401010, UNKNOWN_ADDRESS);
}

/* A fork, an exec and their mappings have no record. */
static void
what_lost_records_would_have_told_is_read_again(void **state)
{
	struct story *story = *state;

	put_process(story, "42", "sh\n", "00401000-00404000 r-xp 00001000 08:01 77 /bin/sh\n");
	assert_int_equal(story_scan(story), 0);
	story_fork(story, 6, 42, 43);
	put_process(story, "43", "gzip\n", "00501000-00504000 r-xp 00001000 08:01 78 /bin/gzip\n");
	put_process(story, "44", "new\n", "00601000-00604000 r-xp 00001000 08:01 79 /bin/new\n");
	scan_ns = 7 * MS;
	assert_int_equal(story_rescan(story), 0);
	assert_sample(story, 7, 42, 0x401010, "/bin/sh", 0x1010);
	assert_sample(story, 7, 43, 0x501010, "/bin/gzip", 0x1010);
	assert_comm(story, 7, 43, 0x501010, "gzip");
	assert_unknown(story, 7, 43, 0x401010, UNKNOWN_ADDRESS);
	assert_sample(story, 7, 44, 0x601010, "/bin/new", 0x1010);
}

static void
what_nobody_told_is_unknown_for_that(void **state)
{
	struct story *story = *state;

	put_process(story, "42", "sh\n", "00401000-00404000 r-xp 00001000 08:01 77 /bin/sh\n");
	assert_int_equal(story_scan(story), 0);
	assert_unknown(story, 1, 43, 0x401010, UNKNOWN_PROCESS);
	attribution_records_lost(story->attribution);
	assert_unknown(story, 2, 43, 0x401010, UNKNOWN_RECORDS);
	assert_unknown(story, 2, 42, 0x500010, UNKNOWN_RECORDS);
	assert_sample(story, 2, 42, 0x401010, "/bin/sh", 0x1010);
	assert_int_equal(story_rescan(story), 0); /* at 5 ms */
	assert_unknown(story, 4, 43, 0x401010, UNKNOWN_RECORDS);
	assert_unknown(story, 5, 43, 0x401010, UNKNOWN_PROCESS);
	assert_unknown(story, 5, 42, 0x500010, UNKNOWN_ADDRESS);
}

/* Its mappings are not shown: it may not be looked at, or only its main thread has ended. */
static void
reading_again_keeps_what_cannot_be_seen(void **state)
{
	struct story *story = *state;

	story_exec(story, 6, 42, "secret");
	story_map(story, 6, 42, "/bin/secret", 1, 0x400000, 0x1000, 0);
	put_process(story, "42", "secret\n", "");
	scan_ns = 7 * MS;
	assert_int_equal(story_rescan(story), 0);
	assert_sample(story, 7, 42, 0x400010, "/bin/secret", 0x10);
}

/* Threads of this very process are what outlives a main thread that is said to have ended. */
static void
a_process_whose_threads_sleep_outlives_its_main_thread(void **state)
{
	struct story *story = *state;
	uint32_t pid = (uint32_t)getpid();

	assert_int_equal(story_scan(story), 0);
	story_exec(story, 0, pid, "here");
	story_map(story, 0, pid, "/bin/here", 2, 0x400000, 0x1000, 0);
	story_exit(story, 1, pid, pid);
	for (uint64_t at = 1001; at < 10000; at += 1001)
		attribution_expire(story->attribution, at * MS);
	assert_sample(story, 10000, pid, 0x400000, "/bin/here", 0);
}

static void *
tell_thread_number(void *number)
{
	int *pipes = number;
	pid_t tid = gettid();
	char byte;

	assert_int_equal(write(pipes[1], &tid, sizeof(tid)), sizeof(tid));
	assert_int_equal(read(pipes[2], &byte, 1), 0); /* until the test closes it */
	return NULL;
}

static void
the_number_of_a_thread_is_not_a_process_that_lives(void **state)
{
	struct story *story = *state;
	int pipes[4];
	pthread_t thread;
	pid_t tid;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(pipe2(pipes + 2, O_CLOEXEC), 0);
	assert_int_equal(pthread_create(&thread, NULL, tell_thread_number, pipes), 0);
	assert_int_equal(read(pipes[0], &tid, sizeof(tid)), sizeof(tid));
	assert_int_equal(story_scan(story), 0);
	story_exec(story, 0, (uint32_t)tid, "before"); /* whose end was lost before its number was used again */
	attribution_expire(story->attribution, 1000 * MS);
	attribution_expire(story->attribution, 2000 * MS);
	assert_int_equal(story_stats(story).processes, 0);
	close(pipes[3]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (int i = 0; i < 3; i++)
		close(pipes[i]);
}

/* A function of this program, to be found; and where its file holds it, from the program headers. */
static uint64_t
function_to_find(void)
{
	return (uint64_t)(uintptr_t)function_to_find;
}

static int
find_file_offset(struct dl_phdr_info *info, size_t size, void *context)
{
	uint64_t *offset = context, address = function_to_find() - info->dlpi_addr;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && address - segment->p_vaddr < segment->p_filesz)
			*offset = address - segment->p_vaddr + segment->p_offset;
	}
	return 1; /* the program itself comes first */
}

static void
this_process_is_found_on_the_real_proc(void **state)
{
	struct attribution_options options = {.procfs = "/proc", .sysfs = "/sys", .cgroupfs = "/sys/fs/cgroup"};
	struct story *fake = *state, story = {.images = fake->images, .contexts = fake->contexts};
	char program[PATH_MAX] = "";
	const struct image *image;
	struct stat status;
	struct sample_key key;
	uint64_t offset = 0;

	dl_iterate_phdr(find_file_offset, &offset);
	assert_int_equal(stat("/proc/self/exe", &status), 0);
	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);

	story.attribution = attribution_new(&options, story.images, story.contexts);
	assert_int_equal(scan_proc(story.attribution, &options), 0);
	assert_int_equal(story_sample(&story, 1, CPU_MODE_USER, (uint32_t)getpid(), function_to_find(), &key), 0);
	assert_int_equal(key.offset, offset);
	image = image_table_get(story.images, key.image);
	assert_string_equal(image->path, program);
	assert_int_equal(image->build_id_size, 0); /* its file is asked for it later */
	assert_int_equal(image->inode, status.st_ino);
	attribution_free(story.attribution);
}

#define STORY_TEST(test)        cmocka_unit_test_setup_teardown(test, story_setup, story_teardown)
#define SCAN_AT_5_MS_TEST(test) cmocka_unit_test_setup_teardown(test, setup_scan_at_5_ms, story_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_TEST(what_was_mapped_before_is_found),
		STORY_TEST(a_process_without_its_main_thread_has_its_threads_mappings),
		STORY_TEST(text_that_was_moved_to_huge_pages_before_is_the_files),
		STORY_TEST(memory_beside_text_is_memory),
		STORY_TEST(entries_that_are_no_processes_are_passed_by),
		STORY_TEST(a_process_that_ends_while_it_is_read_is_no_error),
		cmocka_unit_test(without_proc_there_is_nothing_to_begin_with),
		STORY_TEST(records_go_on_where_the_scan_ended),
		STORY_TEST(a_fork_replaces_what_the_scan_saw_under_its_pid),
		STORY_TEST(a_kernel_worker_is_named_without_its_work),
		STORY_TEST(where_kernel_and_modules_lie_is_known_of_those_with_samples),
		STORY_TEST(a_process_whose_end_was_lost_is_found_out),
		SCAN_AT_5_MS_TEST(what_happened_before_the_scan_is_not_applied_to_what_it_saw),
		SCAN_AT_5_MS_TEST(a_number_used_again_after_the_scan_is_a_fresh_process),
		SCAN_AT_5_MS_TEST(what_lost_records_would_have_told_is_read_again),
		SCAN_AT_5_MS_TEST(what_nobody_told_is_unknown_for_that),
		SCAN_AT_5_MS_TEST(reading_again_keeps_what_cannot_be_seen),
		STORY_TEST(a_process_whose_threads_sleep_outlives_its_main_thread),
		STORY_TEST(the_number_of_a_thread_is_not_a_process_that_lives),
		STORY_TEST(this_process_is_found_on_the_real_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
