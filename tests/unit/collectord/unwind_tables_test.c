/* Tests of collectord/unwind_tables.h on a real database, with the real dcpi-capture. */
#include "tests/unit/profile/slice_writer.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "capture/protocol.h"
#include "collectord/machine.h"
#include "collectord/unwind_tables.h"
#include "process/build_id.h"
#include "profile/captured.h"
#include "unwind/table.h"

#define WAIT_NS (20 * SECOND_NS)

struct tables_stage {
	struct profile_fixture *fixture;
	char program[PATH_MAX]; /* the real one */
	struct profile *profile;
	struct image image; /* /usr/bin/sleep */
	struct image_table *images;
	struct context_table *contexts;
	struct attribution *attribution;
	struct capture_thread *thread;
	struct unwind_tables *tables;
	struct file_ids *files;
	uint64_t limit_ppm; /* 0: the default */
	unsigned lookups;   /* that were asked for */
	uint32_t number;    /* of the image */
};

static void
count_lookup(void *context)
{
	struct tables_stage *stage = context;

	stage->lookups++;
}

/* As the kernel would tell of a mapping of `path`, with its build-id. */
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
	image.build_id_size = size > 0 ? (uint8_t)size : 0;
	image.device_major = major(status.st_dev);
	image.device_minor = minor(status.st_dev);
	image.inode = status.st_ino;
	return image;
}

static int
set_up(void **state)
{
	static const struct attribution_options options = {.procfs = "/proc", .sysfs = "/sys", .cgroupfs = "/sys"};
	static struct tables_stage stage;
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	void *made;

	memset(&stage, 0, sizeof(stage));
	if (length < 0 || fixture_setup(&made))
		return -1;
	stage.fixture = made;
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(stage.program, sizeof(stage.program), "%.3000s/../../../lib/dcpi/" CAPTURE_PROGRAM, self);
	stage.image = image_at("/usr/bin/sleep");
	stage.images = image_table_new();
	stage.contexts = context_table_new();
	stage.attribution = attribution_new(&options, stage.images, stage.contexts);
	stage.profile = open_writer(stage.fixture->directory, 0);
	*state = &stage;
	return stage.images && stage.contexts && stage.attribution ? 0 : -1;
}

static void
begin_tables(struct tables_stage *stage, const char *program, size_t memory_limit)
{
	const struct unwind_tables_options options = {
		.files = stage->files,
		.memory_limit = memory_limit,
		.capture_limit = UINT64_C(64) << 20,
		.overhead_limit_ppm = stage->limit_ppm ? stage->limit_ppm : 10000,
		.cpu_count = 2,
		.ready = count_lookup,
		.context = stage,
	};
	struct unwind_tables_options with_thread = options;

	stage->thread = capture_thread_new(program);
	assert_non_null(stage->thread);
	with_thread.thread = stage->thread;
	stage->tables = unwind_tables_new(&with_thread);
	assert_non_null(stage->tables);
	unwind_tables_sync(stage->tables, stage->images, stage->attribution);
}

static void
end_tables(struct tables_stage *stage)
{
	capture_thread_free(stage->thread);
	unwind_tables_free(stage->tables);
	stage->thread = NULL;
	stage->tables = NULL;
}

static int
tear_down(void **state)
{
	struct tables_stage *stage = *state;
	void *made = stage->fixture;

	end_tables(stage);
	profile_close(stage->profile);
	attribution_free(stage->attribution);
	image_table_free(stage->images);
	context_table_free(stage->contexts);
	return fixture_teardown(&made);
}

/* The image gets samples, in the database as well. */
static void
write_image(struct tables_stage *stage)
{
	static const char *const names[] = {"cpu-clock"};
	static const struct tally_entry entry = {.offset = 16, .count = 1};
	static const struct context *const contexts[] = {&awk_context};
	const struct image *const images[] = {&stage->image};
	struct slice slice = {.start_ns = START_NS, .end_ns = START_NS + SECOND_NS, .event_count = 1};
	struct profile_batch batch = {
		.entries = &entry,
		.entry_count = 1,
		.image_count = 1,
		.images = images,
		.context_count = 1,
		.contexts = contexts,
		.slice = &slice,
	};

	slice.epoch = begin_epoch(stage->profile, START_NS, "", names, 1);
	slice.events[0].samples = 1;
	assert_int_equal(profile_flush(stage->profile, &batch), 0);
	assert_int_equal(image_table_intern(stage->images, &stage->image, &stage->number), 0);
}

static enum unwind_code
find_code(struct tables_stage *stage, const struct unwind_table **table)
{
	return unwind_tables_find(stage->tables, stage->number, table);
}

static void
sync_tables(struct tables_stage *stage)
{
	unwind_tables_sync(stage->tables, stage->images, stage->attribution);
}

/* What the flusher does between flushes, and after one. */
static void
run_hook(struct tables_stage *stage, bool flushed)
{
	static const struct flush flush = {0};
	const struct flush_hook hook = unwind_tables_hook(stage->tables);

	if (flushed)
		hook.after(hook.context, stage->profile, &flush);
	hook.store(hook.context, stage->profile);
}

static bool
wait_for_table(struct tables_stage *stage)
{
	const uint64_t until_ns = machine_clock_ns(CLOCK_MONOTONIC) + WAIT_NS;
	const struct timespec pause = {.tv_nsec = 1000000};
	struct unwind_tables_stats stats;
	const struct unwind_table *table;

	while (find_code(stage, &table) != UNWIND_CODE_TABLE) {
		unwind_tables_stats(stage->tables, &stats);
		if (stats.without || machine_clock_ns(CLOCK_MONOTONIC) > until_ns)
			return false;
		sync_tables(stage);
		nanosleep(&pause, NULL);
	}
	assert_true(table->row_count > 10);
	return true;
}

/* Its first stacks end there. Then it is made once, and a later dcpid finds it in the database. */
static void
a_table_is_made_once_and_kept_in_the_database(void **state)
{
	struct tables_stage *stage = *state;
	const struct unwind_table *table;
	struct unwind_tables_stats stats;

	write_image(stage);
	begin_tables(stage, stage->program, 1 << 20);
	assert_false(unwind_tables_expect(stage->tables));
	assert_false(unwind_tables_await(stage->tables, stage->number));
	assert_int_equal(find_code(stage, &table), UNWIND_CODE_WITHOUT_TABLE);
	assert_true(unwind_tables_await(stage->tables, stage->number));
	sync_tables(stage);
	assert_int_equal(stage->lookups, 1);
	assert_true(unwind_tables_expect(stage->tables));
	assert_true(unwind_tables_await(stage->tables, stage->number));
	run_hook(stage, false);
	assert_true(wait_for_table(stage));
	unwind_tables_stats(stage->tables, &stats);
	assert_int_equal(stats.made, 1);
	assert_int_equal(stats.loaded, 1);
	assert_true(stats.memory > 0);
	assert_false(unwind_tables_expect(stage->tables));
	assert_false(unwind_tables_await(stage->tables, stage->number));
	run_hook(stage, true);
	assert_clean(stage->profile);
	end_tables(stage);

	begin_tables(stage, "/bin/false", 1 << 20); /* nothing is made any more */
	assert_int_equal(find_code(stage, &table), UNWIND_CODE_WITHOUT_TABLE);
	sync_tables(stage);
	run_hook(stage, false);
	assert_true(wait_for_table(stage));
	unwind_tables_stats(stage->tables, &stats);
	assert_int_equal(stats.made, 0);
}

static void
find_code_often(struct tables_stage *stage)
{
	const struct unwind_table *table;

	for (int i = 0; i < 100000; i++)
		(void)find_code(stage, &table);
}

static void
load_table(struct tables_stage *stage)
{
	const struct unwind_table *table;

	(void)find_code(stage, &table);
	sync_tables(stage);
	run_hook(stage, false);
	assert_true(wait_for_table(stage));
}

/* Room for either of two tables, not for both. */
static void
tables_of_more_use_take_the_place_of_others(void **state)
{
	struct tables_stage *stage = *state;
	const struct image other = image_at("/usr/bin/cat");
	const struct unwind_table *table;
	struct unwind_tables_stats stats;
	uint32_t sleep, cat;

	write_image(stage);
	begin_tables(stage, stage->program, 1 << 20);
	sleep = stage->number;
	assert_int_equal(image_table_intern(stage->images, &other, &cat), 0);
	load_table(stage);
	stage->number = cat;
	load_table(stage);
	unwind_tables_stats(stage->tables, &stats);
	assert_int_equal(stats.loaded, 2);
	end_tables(stage);

	begin_tables(stage, stage->program, stats.memory - 1);
	stage->number = sleep;
	load_table(stage);
	stage->number = cat;
	find_code_often(stage);
	load_table(stage);
	unwind_tables_stats(stage->tables, &stats);
	assert_int_equal(stats.evicted, 1);
	assert_int_equal(stats.loaded, 1);
	stage->number = sleep;
	stage->lookups = 0;
	assert_int_equal(find_code(stage, &table), UNWIND_CODE_WITHOUT_TABLE);
	sync_tables(stage);
	assert_int_equal(stage->lookups, 0); /* it would not stay */
	for (int i = 0; i < 10; i++)
		find_code_often(stage);
	load_table(stage);
	unwind_tables_stats(stage->tables, &stats);
	assert_int_equal(stats.evicted, 2);
	assert_int_equal(stats.loaded, 1);
}

/* In a new session, an image alone. */
static void
begin_session_of(struct tables_stage *stage, const struct image *image)
{
	unwind_tables_end_session(stage->tables);
	image_table_free(stage->images);
	stage->images = image_table_new();
	assert_int_equal(image_table_intern(stage->images, image, &stage->number), 0);
	sync_tables(stage);
}

static void
files_with_one_build_id_have_one_table(void **state)
{
	struct tables_stage *stage = *state;
	struct image copy = stage->image;
	struct unwind_tables_stats stats;
	const struct unwind_table *table;

	write_image(stage);
	begin_tables(stage, stage->program, 1 << 20);
	load_table(stage);
	copy.inode++;
	begin_session_of(stage, &copy);
	assert_int_equal(find_code(stage, &table), UNWIND_CODE_TABLE);
	unwind_tables_stats(stage->tables, &stats);
	assert_int_equal(stats.images, 1);
}

/* Anybody can write a file that has libc's build-id: its table serves that file, and is not stored. */
static void
a_users_file_gives_no_table_to_other_files(void **state)
{
	struct tables_stage *stage = *state;
	const struct image roots = stage->image;
	const struct unwind_table *table;
	struct unwind_tables_stats stats;
	char path[PATH_MAX];
	int from, to;

	if (getuid() != 0)
		skip_because("a file of another user's is made by root");
	snprintf(path, sizeof(path), "%.3000s/copy", stage->fixture->directory);
	from = open("/usr/bin/sleep", O_RDONLY | O_CLOEXEC);
	to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	assert_true(from >= 0 && to >= 0);
	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	assert_int_equal(fchown(to, 1000, 1000), 0);
	close(from);
	close(to);
	stage->image = image_at(path);
	assert_memory_equal(stage->image.build_id, roots.build_id, roots.build_id_size);
	write_image(stage);
	begin_tables(stage, stage->program, 1 << 20);
	load_table(stage);
	run_hook(stage, true);
	assert_int_equal(profile_get_unwind(stage->profile, 1, &(struct unwind_table *){NULL}), -ENOENT);

	begin_session_of(stage, &roots);
	assert_int_equal(find_code(stage, &table), UNWIND_CODE_WITHOUT_TABLE);
	load_table(stage);
	run_hook(stage, true);
	unwind_tables_stats(stage->tables, &stats);
	assert_int_equal(stats.made, 2);
	assert_int_equal(stats.loaded, 2);
	begin_session_of(stage, &stage->image);
	assert_int_equal(find_code(stage, &table), UNWIND_CODE_TABLE);
	end_tables(stage);

	/* what is in the database is of root's file */
	begin_tables(stage, "/bin/false", 1 << 20);
	begin_session_of(stage, &roots);
	load_table(stage);
}

/* Otherwise it had two tables: one for the file, and one for its build-id. */
static void
a_file_waits_until_its_build_id_was_looked_for(void **state)
{
	struct tables_stage *stage = *state;
	const struct unwind_table *table;
	struct unwind_tables_stats stats;
	struct file_ids *files = file_ids_new(NULL);
	struct sampled_file file;

	assert_non_null(files);
	write_image(stage);
	stage->image.build_id_size = 0;
	assert_int_equal(image_table_intern(stage->images, &stage->image, &stage->number), 0);
	stage->files = files;
	begin_tables(stage, stage->program, 1 << 20);
	assert_int_equal(find_code(stage, &table), UNWIND_CODE_WITHOUT_TABLE);
	sync_tables(stage);
	unwind_tables_stats(stage->tables, &stats);
	assert_int_equal(stats.images, 0);
	(void)find_code(stage, &table);
	assert_true(unwind_tables_expect(stage->tables));
	file = (struct sampled_file){.image = &stage->image, .place = {.pid = (uint32_t)getpid()}};
	file_ids_ask(files, &file);
	file_ids_wait(files, WAIT_NS);
	sync_tables(stage);
	(void)find_code(stage, &table);
	unwind_tables_stats(stage->tables, &stats);
	assert_int_equal(stats.images, 1);
	end_tables(stage);
	file_ids_free(files);
}

/* Those that are in use stay. */
static void
of_too_many_images_the_last_ones_have_no_table(void **state)
{
	struct tables_stage *stage = *state;
	struct image image = {.kind = IMAGE_USER, .path = "/usr/bin/many"};
	const struct unwind_table *table;
	struct unwind_tables_stats stats;

	begin_tables(stage, "/bin/false", 1 << 20);
	for (image.inode = 1; image.inode <= UNWIND_TABLES_IMAGES_MAX + 2; image.inode++) {
		assert_int_equal(image_table_intern(stage->images, &image, &stage->number), 0);
		assert_int_equal(find_code(stage, &table), UNWIND_CODE_WITHOUT_TABLE);
	}
	unwind_tables_stats(stage->tables, &stats);
	assert_int_equal(stats.images, UNWIND_TABLES_IMAGES_MAX);
}

/* A process maps 100 MB of a program, and a sample is there: it is stage->number from then on. */
static void
map_large_image(struct tables_stage *stage)
{
	struct record record = {.type = RECORD_COMM, .pid = 4242, .tid = 4242, .time = SECOND_NS};
	struct sample_key key;

	record.comm.name = "large";
	record.comm.is_exec = true;
	assert_int_equal(attribution_apply(stage->attribution, &record), 0);
	record = (struct record){.type = RECORD_MMAP, .pid = 4242, .tid = 4242, .time = SECOND_NS};
	record.mmap.start = 0x10000000;
	record.mmap.length = 100000000;
	record.mmap.path = "/usr/bin/large";
	record.mmap.inode = 78;
	assert_int_equal(attribution_apply(stage->attribution, &record), 0);
	record = (struct record){.type = RECORD_SAMPLE, .pid = 4242, .tid = 4242, .time = 2 * SECOND_NS};
	record.mode = CPU_MODE_USER;
	record.sample.address = 0x10000010;
	assert_int_equal(attribution_sample(stage->attribution, &record, &key), 0);
	stage->number = key.image;
}

/* With 0.01 % of two CPUs, there is 0.25 s for the start, but not for what a program of 100 MB would take. */
static void
a_table_is_made_when_there_is_enough_for_it(void **state)
{
	struct tables_stage *stage = *state;
	const struct unwind_table *table;
	struct unwind_tables_stats stats;
	const struct timespec pause = {.tv_nsec = 300000000};

	write_image(stage);
	stage->limit_ppm = 100;
	begin_tables(stage, stage->program, 1 << 20);
	load_table(stage); /* which is paid for: there is less than the most now */
	map_large_image(stage);
	(void)find_code(stage, &table);
	sync_tables(stage);
	run_hook(stage, false);
	nanosleep(&pause, NULL);
	unwind_tables_stats(stage->tables, &stats);
	assert_int_equal(stats.made, 1);
	assert_int_equal(stats.waiting, 1);
	assert_false(unwind_tables_expect(stage->tables));
}

static void
a_file_without_a_table_is_tried_once(void **state)
{
	struct tables_stage *stage = *state;
	const struct unwind_table *table;
	struct unwind_tables_stats stats;

	write_image(stage);
	begin_tables(stage, "/bin/false", 1 << 20);
	(void)find_code(stage, &table);
	sync_tables(stage);
	run_hook(stage, false);
	assert_false(wait_for_table(stage));
	unwind_tables_stats(stage->tables, &stats);
	assert_int_equal(stats.without, 1);
	assert_int_equal(stats.waiting, 0);
	(void)find_code(stage, &table);
	assert_false(unwind_tables_await(stage->tables, stage->number));
	sync_tables(stage);
	assert_int_equal(stage->lookups, 1);
}

static void
code_that_no_file_has_is_unwound_by_frame_pointers(void **state)
{
	static const struct image made = {.kind = IMAGE_JIT, .inode = 42, .path = "[jit:node]"},
				  memory = {.kind = IMAGE_ANON, .path = "[anon]"},
				  kernel = {.kind = IMAGE_KERNEL, .path = "[kernel]"};
	struct tables_stage *stage = *state;
	const struct unwind_table *table;

	begin_tables(stage, "/bin/false", 1 << 20);
	assert_int_equal(image_table_intern(stage->images, &made, &stage->number), 0);
	assert_int_equal(find_code(stage, &table), UNWIND_CODE_FRAME_POINTER);
	assert_int_equal(image_table_intern(stage->images, &memory, &stage->number), 0);
	assert_int_equal(find_code(stage, &table), UNWIND_CODE_FRAME_POINTER);
	assert_int_equal(image_table_intern(stage->images, &kernel, &stage->number), 0);
	assert_int_equal(find_code(stage, &table), UNWIND_CODE_WITHOUT_TABLE);
	sync_tables(stage);
	assert_int_equal(stage->lookups, 0);
}

#define TABLES_CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TABLES_CASE(a_table_is_made_once_and_kept_in_the_database),
		TABLES_CASE(tables_of_more_use_take_the_place_of_others),
		TABLES_CASE(files_with_one_build_id_have_one_table),
		TABLES_CASE(a_users_file_gives_no_table_to_other_files),
		TABLES_CASE(a_file_waits_until_its_build_id_was_looked_for),
		TABLES_CASE(of_too_many_images_the_last_ones_have_no_table),
		TABLES_CASE(a_table_is_made_when_there_is_enough_for_it),
		TABLES_CASE(a_file_without_a_table_is_tried_once),
		TABLES_CASE(code_that_no_file_has_is_unwound_by_frame_pointers),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
