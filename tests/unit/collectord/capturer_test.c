/*
 * Tests of collectord/capturer.h on a real database. In the place of dcpi-capture are programs that write a reply that
 * was laid out by hand, or none, and note that they ran.
 */
#include "tests/unit/profile/slice_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "capture/protocol.h"
#include "collectord/capturer.h"
#include "collectord/machine.h"
#include "profile/captured.h"

#define HURRY_NS UINT64_C(60000000000)

/* What CLOCK_MONOTONIC is ahead of the kernel's; what a look at a thread's processor time adds to it. */
static _Atomic time_t ahead_s, look_costs_s, looks_cost_s;

/* In the place of libc's. */
int
clock_gettime(clockid_t clock, struct timespec *time)
{
	const int result = (int)syscall(SYS_clock_gettime, clock, time);

	if (result == 0 && clock == CLOCK_MONOTONIC)
		time->tv_sec += ahead_s;
	if (result == 0 && clock == CLOCK_THREAD_CPUTIME_ID) {
		looks_cost_s += look_costs_s;
		time->tv_sec += looks_cost_s;
	}
	return result;
}

/* Where packages put nothing, and where they do. */
static const struct image built = {.kind = IMAGE_USER, .build_id = {7}, .build_id_size = 1, .path = "/home/u/a.out"};
static const struct image packaged = {.kind = IMAGE_USER, .build_id = {8}, .build_id_size = 1, .path = "/usr/bin/x"};

struct capturer_stage {
	struct profile_fixture *fixture;
	char program[128], reply[128], ran[128];
	struct image_table *images;
	struct context_table *contexts;
	struct attribution *attribution;
	struct writer writer;
	struct capture_thread *thread;
	struct capturer *capturer;
	struct log log;
	char said[1024];
};

static void
take_line(void *context, enum log_level level, const char *text)
{
	struct capturer_stage *stage = context;

	(void)level;
	snprintf(stage->said + strlen(stage->said), sizeof(stage->said) - strlen(stage->said), "%s\n", text);
}

static int
set_up(void **state)
{
	static const struct attribution_options options = {.procfs = "/proc", .sysfs = "/sys", .cgroupfs = "/sys"};
	static struct capturer_stage stage;
	void *made;

	memset(&stage, 0, sizeof(stage));
	ahead_s = look_costs_s = 0;
	if (fixture_setup(&made))
		return -1;
	stage.fixture = made;
	snprintf(stage.program, sizeof(stage.program), "%s/program", stage.fixture->parent);
	snprintf(stage.reply, sizeof(stage.reply), "%s/reply", stage.fixture->parent);
	snprintf(stage.ran, sizeof(stage.ran), "%s/ran", stage.fixture->parent);
	stage.images = image_table_new();
	stage.contexts = context_table_new();
	stage.attribution = attribution_new(&options, stage.images, stage.contexts);
	stage.log = (struct log){.limit = LOG_LEVEL_DEBUG, .hook = take_line, .context = &stage};
	*state = &stage;
	return stage.images && stage.contexts && stage.attribution ? 0 : -1;
}

static void
stop_capturer(struct capturer_stage *stage)
{
	capture_thread_free(stage->thread);
	capturer_free(stage->capturer);
	stage->thread = NULL;
	stage->capturer = NULL;
}

static int
tear_down(void **state)
{
	struct capturer_stage *stage = *state;
	void *made = stage->fixture;

	stop_capturer(stage);
	profile_close(stage->writer.profile);
	attribution_free(stage->attribution);
	image_table_free(stage->images);
	context_table_free(stage->contexts);
	return fixture_teardown(&made);
}

static void
write_file(const char *path, const void *data, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	close(fd);
}

static void
set_program(const struct capturer_stage *stage, const char *commands)
{
	char script[1024];
	int length = snprintf(script, sizeof(script), "#!/bin/sh\necho x >>'%s'\n%s\n", stage->ran, commands);

	write_file(stage->program, script, (size_t)length, 0700);
}

static void
add_message(struct byte_writer *writer, enum capture_message kind, const void *data, size_t size)
{
	uint8_t head[MESSAGE_HEAD_SIZE];

	capture_message_head(kind, size, head);
	write_bytes(writer, head, sizeof(head));
	write_bytes(writer, data, size);
}

/* One function, and perhaps one block: number 1. `owner` is said unless it is negative. */
static void
write_reply_of(const char *path, bool has_text, int owner)
{
	static const struct profile_symbol name = {0x1000, "captured_way", 64};
	static uint8_t page[CAPTURED_BLOCK_SIZE];
	const struct captured_block block = {1, page};
	const struct captured_layout layout = {.machine = 62};
	struct byte_writer reply = BYTE_WRITER_INIT, value = BYTE_WRITER_INIT;

	if (owner >= 0)
		add_message(&reply, MESSAGE_OWNER, owner ? "\1" : "\0", 1);
	assert_int_equal(captured_symbols_encode(&name, 1, &value), 0);
	add_message(&reply, MESSAGE_SYMBOLS, value.data, value.size);
	writer_reset(&value);
	assert_int_equal(captured_layout_encode(&layout, &value), 0);
	add_message(&reply, MESSAGE_LAYOUT, value.data, value.size);
	if (has_text) {
		writer_reset(&value);
		write_bytes(&value, "\0\0\0\1", 4);
		assert_int_equal(captured_parcel_encode(&block, 1, &value), 0);
		add_message(&reply, MESSAGE_PARCEL, value.data, value.size);
	}
	add_message(&reply, MESSAGE_END, "\0", 1);
	write_file(path, reply.data, reply.size, 0600);
	writer_fini(&reply);
	writer_fini(&value);
}

static void
write_reply(const char *path, bool has_text)
{
	write_reply_of(path, has_text, -1);
}

static void
set_program_of(struct capturer_stage *stage, int owner)
{
	char commands[256];

	write_reply_of(stage->reply, true, owner);
	snprintf(commands, sizeof(commands), "cat >/dev/null; cat '%s'", stage->reply);
	set_program(stage, commands);
}

static void
set_good_program(struct capturer_stage *stage)
{
	set_program_of(stage, -1);
}

/* Its text only to those who ask again: a large one, of which nobody knew at first where samples would be. */
static void
set_large_program(struct capturer_stage *stage)
{
	char commands[1024], names[160];

	snprintf(names, sizeof(names), "%s.names", stage->reply);
	write_reply(names, false);
	write_reply(stage->reply, true);
	snprintf(commands, sizeof(commands), "cat >/dev/null; [ -e '%s' ] && cat '%s' && rm '%s' || cat '%s'", names,
	         names, names, stage->reply);
	set_program(stage, commands);
}

static void
start_capturer_waiting(struct capturer_stage *stage, uint64_t limit, uint64_t packages_wait_ns)
{
	struct capturer_options options = {
		.limit = limit,
		.overhead_limit_ppm = 500000,
		.cpu_count = 64, /* shells cost more than dcpi-capture */
		.packages_wait_ns = packages_wait_ns,
		.log = &stage->log,
	};

	stage->writer = make_writer(stage->fixture->directory);
	stage->thread = options.thread = capture_thread_new(stage->program);
	assert_non_null(stage->thread);
	stage->capturer = capturer_new(&options);
	assert_non_null(stage->capturer);
}

/* As the flusher calls the capturer; events from number 1 on are sums. */
static void
after_flush(struct capturer_stage *stage, const struct tally_entry *entries, size_t count)
{
	const struct flush flush = {.table = stage->images, .entries = entries, .entry_count = count, .first_sum = 1};
	const struct flush_hook hook = capturer_hook(stage->capturer);

	hook.after(hook.context, stage->writer.profile, &flush);
}

/* Samples of an image that nobody asks about. */
static void
pay_for(struct capturer_stage *stage, uint64_t seconds)
{
	const struct tally_entry entry = {.image = UINT32_MAX, .count = seconds * 100000000};

	after_flush(stage, &entry, 1);
}

/* Packages need not wait for anything. */
static void
start_capturer(struct capturer_stage *stage, uint64_t limit)
{
	start_capturer_waiting(stage, limit, 0);
	pay_for(stage, 30);
}

/* Samples of `image`, seen and flushed: it is the first, or the one behind `packaged`. */
static void
sample_at(struct capturer_stage *stage, const struct image *image, uint32_t place, uint64_t offset, uint64_t count)
{
	const struct tally_entry entry = {.image = place, .offset = offset, .count = count};
	const struct image *images[] = {place ? &packaged : image, image};
	struct slice slice = {.epoch = stage->writer.epoch, .start_ns = 1, .end_ns = 2, .event_count = 1};
	struct profile_batch batch = {
		.entries = &entry,
		.entry_count = 1,
		.images = images,
		.image_count = place + 1,
		.contexts = two_contexts,
		.context_count = 1,
		.slice = &slice,
	};
	uint32_t number;

	slice.events[0].samples = count;
	assert_int_equal(image_table_intern(stage->images, image, &number), 0);
	assert_int_equal(number, place);
	capturer_track_images(stage->capturer, stage->images, stage->attribution);
	profile_reset_session(stage->writer.profile);
	assert_int_equal(profile_flush(stage->writer.profile, &batch), 0);
	after_flush(stage, &entry, 1);
}

static void
sample_often(struct capturer_stage *stage, const struct image *image, uint32_t place, uint64_t count)
{
	sample_at(stage, image, place, 0x1010, count);
}

/* As often as it takes to be worth a run. */
static void
sample(struct capturer_stage *stage, const struct image *image)
{
	sample_often(stage, image, 0, CAPTURE_FIRST_SAMPLES);
}

static void
settle(struct capturer_stage *stage)
{
	after_flush(stage, NULL, 0);
}

static size_t
runs(const struct capturer_stage *stage)
{
	struct stat status;

	return stat(stage->ran, &status) < 0 ? 0 : (size_t)status.st_size / 2;
}

/* Until so many answers came, or images were given up; what they cost has no limit in time. */
static void
wait_for(struct capturer_stage *stage, uint64_t taken, uint64_t failed)
{
	struct capturer_stats stats;

	do {
		usleep(10000);
		capturer_stats(stage->capturer, &stats);
	} while (stats.taken < taken || stats.failed < failed);
}

static void
assert_captured(struct capturer_stage *stage)
{
	struct profile_symbol *symbols;
	struct captured_extent extent;
	size_t count;

	assert_int_equal(profile_get_symbols(stage->writer.profile, 1, &symbols, &count), 0);
	assert_int_equal(count, 1);
	assert_string_equal(symbols[0].name, "captured_way");
	profile_free_symbols(symbols);
	assert_int_equal(profile_get_extent(stage->writer.profile, 1, &extent), 0);
	assert_true(extent.has_layout);
	assert_int_equal(extent.count, 1);
	assert_int_equal(extent.blocks[0], 1);
	free(extent.blocks);
	assert_clean(stage->writer.profile);
}

/* It is asked about before it is in the database, and what was taken waits. */
static void
a_build_is_captured_at_first_sight(void **state)
{
	struct capturer_stage *stage = *state;
	struct capturer_stats stats;
	uint32_t number;

	set_good_program(stage);
	start_capturer(stage, 1 << 20);
	assert_int_equal(image_table_intern(stage->images, &built, &number), 0);
	capturer_track_images(stage->capturer, stage->images, stage->attribution);
	assert_true(capturer_expects_flush(stage->capturer)); /* where its samples are is known after one */
	capturer_drain(stage->capturer, HURRY_NS);
	assert_int_equal(runs(stage), 1);
	settle(stage); /* no such image yet */
	sample(stage, &built);
	assert_captured(stage);
	assert_true(capturer_start_cpu_ns(stage->capturer) > 0); /* the first is paid for in advance */
	capturer_stats(stage->capturer, &stats);
	assert_int_equal(stats.taken, 1);
	assert_int_equal(stats.failed, 0);
	assert_true(stats.bytes > 0);
}

/* Its file may be gone ten seconds later, when it would be asked about again. */
static void
text_of_a_build_is_asked_for_as_soon_as_samples_tell_where(void **state)
{
	struct capturer_stage *stage = *state;
	struct profile_symbol *symbols;
	uint32_t number;
	size_t count;

	set_large_program(stage);
	start_capturer(stage, 1 << 20);
	assert_int_equal(image_table_intern(stage->images, &built, &number), 0);
	capturer_track_images(stage->capturer, stage->images, stage->attribution);
	capturer_drain(stage->capturer, HURRY_NS);
	assert_int_equal(runs(stage), 1);
	sample(stage, &built);
	assert_int_equal(profile_get_symbols(stage->writer.profile, 1, &symbols, &count), 0);
	profile_free_symbols(symbols);
	capturer_drain(stage->capturer, HURRY_NS);
	assert_int_equal(runs(stage), 2);
	settle(stage);
	assert_captured(stage);
}

/* A run costs as much as a hundred thousand samples; who reads instructions can draw nothing from a few. */
static void
text_of_a_build_with_few_samples_can_wait(void **state)
{
	struct capturer_stage *stage = *state;
	uint32_t number;

	set_large_program(stage);
	start_capturer(stage, 1 << 20);
	assert_int_equal(image_table_intern(stage->images, &built, &number), 0);
	capturer_track_images(stage->capturer, stage->images, stage->attribution);
	capturer_drain(stage->capturer, HURRY_NS);
	assert_int_equal(runs(stage), 1); /* for its names */
	sample_often(stage, &built, 0, CAPTURE_FIRST_SAMPLES - 1);
	capturer_drain(stage->capturer, HURRY_NS);
	assert_int_equal(runs(stage), 1);
	sample_often(stage, &built, 0, 1);
	capturer_drain(stage->capturer, HURRY_NS);
	assert_int_equal(runs(stage), 2);
	settle(stage);
	assert_captured(stage);
}

/* Text that cannot be had is no reason to ask all the time. */
static void
text_that_was_not_given_is_asked_for_again_later(void **state)
{
	struct capturer_stage *stage = *state;
	char commands[256];

	write_reply(stage->reply, false);
	snprintf(commands, sizeof(commands), "cat >/dev/null; cat '%s'", stage->reply);
	set_program(stage, commands);
	start_capturer(stage, 1 << 20);
	sample(stage, &built);
	for (int i = 0; i < 8; i++) {
		capturer_drain(stage->capturer, HURRY_NS);
		settle(stage);
	}
	assert_in_range(runs(stage), 1, 4); /* the first may have been at first sight; the machine may be slow */
}

static void
a_package_is_captured_when_it_is_in_the_database(void **state)
{
	struct capturer_stage *stage = *state;
	uint32_t number;

	set_good_program(stage);
	start_capturer(stage, 1 << 20);
	assert_int_equal(image_table_intern(stage->images, &packaged, &number), 0);
	capturer_track_images(stage->capturer, stage->images, stage->attribution);
	capturer_drain(stage->capturer, HURRY_NS);
	assert_int_equal(runs(stage), 0);
	assert_false(capturer_expects_flush(stage->capturer)); /* packages can wait */
	sample(stage, &packaged);
	wait_for(stage, 1, 0);
	assert_false(capturer_expects_flush(stage->capturer)); /* its result, too */
	settle(stage);
	assert_captured(stage);
}

#define LARGE_PARCELS 10 /* 2.5 MiB: more than half of what may wait, and less than all of it */

/* Text that does not compress, and nothing else. */
static void
write_large_reply(const char *path)
{
	static uint8_t pages[CAPTURED_PARCEL_MAX][CAPTURED_BLOCK_SIZE];
	struct captured_block blocks[CAPTURED_PARCEL_MAX];
	struct byte_writer reply = BYTE_WRITER_INIT, value = BYTE_WRITER_INIT;
	unsigned random = 1;

	for (uint32_t i = 0; i < LARGE_PARCELS; i++) {
		const uint8_t first[] = {0, 0, (uint8_t)(i * CAPTURED_PARCEL_MAX >> 8),
		                         (uint8_t)(i * CAPTURED_PARCEL_MAX)};

		for (uint32_t j = 0; j < CAPTURED_PARCEL_MAX; j++) {
			for (size_t k = 0; k < CAPTURED_BLOCK_SIZE; k++) {
				random = random * 1664525 + 1013904223;
				pages[j][k] = (uint8_t)(random >> 24);
			}
			blocks[j] = (struct captured_block){i * CAPTURED_PARCEL_MAX + j, pages[j]};
		}
		writer_reset(&value);
		write_bytes(&value, first, sizeof(first));
		assert_int_equal(captured_parcel_encode(blocks, CAPTURED_PARCEL_MAX, &value), 0);
		add_message(&reply, MESSAGE_PARCEL, value.data, value.size);
	}
	add_message(&reply, MESSAGE_END, "\0", 1);
	assert_in_range(reply.size, (2 << 20) + 1, (4 << 20) - 1);
	write_file(path, reply.data, reply.size, 0600);
	writer_fini(&reply);
	writer_fini(&value);
}

static void
a_large_result_is_a_reason_to_flush_until_it_is_stored(void **state)
{
	struct capturer_stage *stage = *state;
	struct captured_extent extent;
	char commands[256];
	uint32_t number;

	write_large_reply(stage->reply);
	snprintf(commands, sizeof(commands), "cat >/dev/null; cat '%s'", stage->reply);
	set_program(stage, commands);
	start_capturer(stage, 16 << 20);
	assert_int_equal(image_table_intern(stage->images, &packaged, &number), 0);
	capturer_track_images(stage->capturer, stage->images, stage->attribution);
	assert_false(capturer_expects_flush(stage->capturer));
	sample(stage, &packaged);
	wait_for(stage, 1, 0);
	assert_true(capturer_expects_flush(stage->capturer));
	settle(stage);
	assert_false(capturer_expects_flush(stage->capturer));
	assert_int_equal(profile_get_extent(stage->writer.profile, 1, &extent), 0);
	assert_int_equal(extent.count, LARGE_PARCELS * CAPTURED_PARCEL_MAX);
	free(extent.blocks);
}

/* It may have been run and deleted by half a minute after its first sample; then it does not matter any more. */
static void
a_build_is_a_reason_to_flush_for_half_a_minute(void **state)
{
	struct capturer_stage *stage = *state;
	uint32_t number;

	set_good_program(stage);
	start_capturer(stage, 1 << 20);
	assert_int_equal(image_table_intern(stage->images, &built, &number), 0);
	capturer_track_images(stage->capturer, stage->images, stage->attribution);
	assert_true(capturer_expects_flush(stage->capturer));
	ahead_s = 20; /* the test itself may take some seconds */
	assert_true(capturer_expects_flush(stage->capturer));
	ahead_s = 31;
	assert_false(capturer_expects_flush(stage->capturer));
}

/* A build is not: its file may be gone by then. */
static void
a_package_is_not_captured_before_its_time(void **state)
{
	const uint64_t wait_ns = 1500000000, began_ns = machine_clock_ns(CLOCK_MONOTONIC);
	struct capturer_stage *stage = *state;

	set_good_program(stage);
	start_capturer_waiting(stage, 1 << 20, wait_ns);
	pay_for(stage, 30);
	sample(stage, &packaged);
	wait_for(stage, 1, 0);
	assert_true(machine_clock_ns(CLOCK_MONOTONIC) >= began_ns + wait_ns);
	settle(stage);
	assert_captured(stage);
}

static void
a_build_does_not_wait_for_packages(void **state)
{
	struct capturer_stage *stage = *state;

	set_good_program(stage);
	start_capturer_waiting(stage, 1 << 20, 1000 * HURRY_NS);
	sample(stage, &built);
	wait_for(stage, 1, 0);
	settle(stage);
	assert_captured(stage);
}

/* A compiler's names take as long as the samples of minutes may: until these are there, it waits. */
static void
a_large_package_waits_until_samples_have_paid_for_it(void **state)
{
	struct capturer_stage *stage = *state;
	struct image large = packaged;
	struct stat status;

	set_good_program(stage);
	start_capturer_waiting(stage, 1 << 20, 0);
	large.path = "/usr/bin/perl";
	assert_int_equal(stat(large.path, &status), 0);
	assert_true(status.st_size > 1 << 20);
	large.inode = status.st_ino;
	sample_often(stage, &large, 0, 700000); /* enough for a small one */
	usleep(200000);
	assert_int_equal(runs(stage), 0);
	sample_often(stage, &large, 0, (uint64_t)status.st_size * 2);
	wait_for(stage, 1, 0);
	assert_int_equal(runs(stage), 1);
}

/* So does code at many places: 101 granules are expected to take 36 ms. */
static void
much_code_of_a_package_waits_until_samples_have_paid_for_it(void **state)
{
	struct capturer_stage *stage = *state;
	struct tally_entry entries[100];

	set_good_program(stage);
	start_capturer_waiting(stage, 1 << 20, 0);
	sample(stage, &packaged);
	for (uint64_t i = 0; i < 100; i++)
		entries[i] = (struct tally_entry){.offset = 0x2000 + 64 * i, .count = 1};
	after_flush(stage, entries, 100);
	entries[0].count = 3600000 - 32 - 200;
	after_flush(stage, entries, 1);
	usleep(200000);
	assert_int_equal(runs(stage), 0);
	sample_often(stage, &packaged, 0, 100000);
	wait_for(stage, 1, 0);
	assert_int_equal(runs(stage), 1);
}

/* What the flusher takes to store the first is owed then; the other has to wait for as many samples. */
static void
packages_are_captured_as_samples_pay_for_them(void **state)
{
	struct capturer_stage *stage = *state;
	const struct tally_entry sum = {.image = 1, .offset = 0x1010, .event = 1, .count = 1000000000}; /* no samples */
	struct image other = packaged;
	struct capturer_stats stats;

	set_good_program(stage);
	start_capturer_waiting(stage, 1 << 20, 0);
	sample(stage, &packaged);
	after_flush(stage, &sum, 1);
	usleep(200000);
	assert_int_equal(runs(stage), 0);
	capturer_stats(stage->capturer, &stats);
	assert_int_equal(stats.waiting, 1);
	pay_for(stage, 1);
	wait_for(stage, 1, 0);
	look_costs_s = 10;
	settle(stage);
	look_costs_s = 0;
	assert_captured(stage);
	other.path = "/usr/bin/other";
	other.build_id[0]++;
	sample_often(stage, &other, 1, CAPTURE_FIRST_SAMPLES);
	pay_for(stage, 8);
	usleep(200000);
	assert_int_equal(runs(stage), 1);
	capturer_stats(stage->capturer, &stats);
	assert_int_equal(stats.waiting, 1);
	pay_for(stage, 3);
	wait_for(stage, 2, 0);
	assert_int_equal(runs(stage), 2);
}

/* Another dcpid begins on the same database. */
static void
begin_again(struct capturer_stage *stage)
{
	stop_capturer(stage);
	profile_close(stage->writer.profile);
	image_table_free(stage->images);
	stage->images = image_table_new();
	attribution_reset_ids(stage->attribution, stage->images, stage->contexts);
	start_capturer(stage, 1 << 20);
	stage->writer.bare = true;
	capturer_track_images(stage->capturer, stage->images, stage->attribution);
}

/* There are always some in code that is not there yet: CAPTURE_MORE_SAMPLES are worth a run, or an hour's. */
static void
a_few_samples_beside_what_is_there_can_wait(void **state)
{
	struct capturer_stage *stage = *state;

	set_good_program(stage);
	start_capturer(stage, 1 << 20);
	sample(stage, &packaged);
	wait_for(stage, 1, 0);
	settle(stage);
	begin_again(stage);
	sample_often(stage, &packaged, 0, CAPTURE_MORE_SAMPLES - 1);
	usleep(200000);
	assert_int_equal(runs(stage), 1);
	sample_often(stage, &packaged, 0, 1);
	wait_for(stage, 1, 0);
	assert_int_equal(runs(stage), 2);
}

/* Beside 2,000,000 samples, 71,000 at new places can wait for the hour; 171,000 are more than a sixteenth. An image is
 * asked about again after 10 s. */
static void
a_small_part_at_new_places_can_wait(void **state)
{
	struct capturer_stage *stage = *state;

	set_good_program(stage);
	start_capturer(stage, 1 << 20);
	sample_often(stage, &packaged, 0, 2000000);
	wait_for(stage, 1, 0);
	settle(stage);
	sample_at(stage, &packaged, 0, 0x9010, 71000);
	sleep(11);
	assert_int_equal(runs(stage), 1);
	sample_at(stage, &packaged, 0, 0xa010, 100000);
	wait_for(stage, 2, 0);
	assert_int_equal(runs(stage), 2);
}

/* What the database has from before, it is not given twice. */
static void
blocks_that_are_there_are_not_stored_again(void **state)
{
	struct capturer_stage *stage = *state;
	struct captured_text text;

	a_build_is_captured_at_first_sight(state);
	begin_again(stage);
	sample(stage, &built);
	wait_for(stage, 1, 0);
	settle(stage);
	assert_int_equal(profile_get_text(stage->writer.profile, 1, &text), 0);
	assert_int_equal(text.count, 1);
	captured_text_fini(&text);
	assert_captured(stage);
}

static void
who_dies_is_named_once_and_left_alone(void **state)
{
	struct capturer_stage *stage = *state;
	struct profile_symbol *symbols;
	size_t count;

	set_program(stage, "kill -SEGV $$");
	start_capturer(stage, 1 << 20);
	sample(stage, &built);
	wait_for(stage, 0, 1);
	for (int i = 0; i < 3; i++)
		settle(stage);
	assert_int_equal(runs(stage), 1);
	assert_string_equal(stage->said, "/home/u/a.out: its names and text are not captured: dcpi-capture died of it "
	                                 "(Segmentation fault)\n");
	assert_int_equal(profile_get_symbols(stage->writer.profile, 1, &symbols, &count), -ENOENT);
}

static void
a_limit_that_is_reached_is_said(void **state)
{
	struct capturer_stage *stage = *state;
	struct capturer_stats stats;
	struct profile_symbol *symbols;
	size_t count;

	set_good_program(stage);
	start_capturer(stage, 4096); /* one page of the database */
	sample(stage, &built);
	wait_for(stage, 1, 0);
	settle(stage);
	capturer_stats(stage->capturer, &stats);
	assert_true(stats.is_full);
	assert_non_null(strstr(stage->said, "capture_limit_mib"));
	assert_int_equal(profile_get_symbols(stage->writer.profile, 1, &symbols, &count), -ENOENT);
}

/* Its process may have it again, or another. */
static void
a_file_that_is_not_found_is_looked_for_again_later(void **state)
{
	struct capturer_stage *stage = *state;
	struct capturer_stats stats;

	set_program(stage, "printf '\\004\\000\\000\\000\\001\\002'"); /* the end: ENOENT */
	start_capturer(stage, 1 << 20);
	sample(stage, &built);
	capturer_drain(stage->capturer, HURRY_NS);
	capturer_stats(stage->capturer, &stats);
	assert_int_equal(stats.failed, 0);
	assert_int_equal(stats.waiting, 1);
	assert_int_equal(runs(stage), 1); /* ten seconds later, not now */
	assert_string_equal(stage->said, "");
}

static void
a_new_database_gets_all_again(void **state)
{
	struct capturer_stage *stage = *state;
	struct flush_hook hook;

	a_build_is_captured_at_first_sight(state);
	hook = capturer_hook(stage->capturer);
	hook.begin_database(hook.context);
	wait_for(stage, 2, 0);
	assert_int_equal(runs(stage), 2);
}

/* The image is in the database with the name "another_way", a layout and block 2, of a file of `owner`. */
static void
store_before(struct capturer_stage *stage, const struct image *image, enum captured_owner owner)
{
	static const struct profile_symbol name = {0x1000, "another_way", 64};
	static const struct captured_layout layout = {.machine = 62};
	static uint8_t page[CAPTURED_BLOCK_SIZE];
	const struct captured_block block = {2, page};
	const struct tally_entry entry = {.offset = 0x2010, .count = 1};
	struct byte_writer symbols = BYTE_WRITER_INIT, shape = BYTE_WRITER_INIT, text = BYTE_WRITER_INIT;
	struct slice slice = {.epoch = stage->writer.epoch, .start_ns = 1, .end_ns = 2, .event_count = 1};
	const struct profile_batch batch = {
		.entries = &entry,
		.entry_count = 1,
		.images = &image,
		.image_count = 1,
		.contexts = two_contexts,
		.context_count = 1,
		.slice = &slice,
	};

	slice.events[0].samples = 1;
	assert_int_equal(profile_flush(stage->writer.profile, &batch), 0);
	assert_int_equal(captured_symbols_encode(&name, 1, &symbols), 0);
	assert_int_equal(captured_layout_encode(&layout, &shape), 0);
	assert_int_equal(captured_parcel_encode(&block, 1, &text), 0);
	assert_int_equal(
		profile_put_captured(stage->writer.profile, 1,
	                             &(struct captured){.owner = owner,
	                                                .symbols = {0, symbols.data, symbols.size},
	                                                .layout = {0, shape.data, shape.size},
	                                                .parcels = &(struct captured_value){2, text.data, text.size},
	                                                .parcel_count = 1},
	                             0),
		0);
	writer_fini(&symbols);
	writer_fini(&shape);
	writer_fini(&text);
}

/* It is asked for more text first, as if the other had been right: what it says then is not the whole, so again. */
static void
what_roots_file_says_replaces_what_anothers_said(void **state)
{
	struct capturer_stage *stage = *state;

	set_program_of(stage, 1);
	start_capturer(stage, 1 << 20);
	store_before(stage, &packaged, CAPTURED_OTHERS);
	sample_often(stage, &packaged, 0, 1000000000);
	wait_for(stage, 1, 0);
	settle(stage);
	wait_for(stage, 2, 0);
	settle(stage);
	assert_captured(stage);
	for (int i = 0; i < 3; i++) {
		usleep(20000);
		settle(stage);
	}
	assert_int_equal(runs(stage), 2);
}

static void
what_anothers_file_says_leaves_what_roots_said(void **state)
{
	struct capturer_stage *stage = *state;
	struct captured_extent extent;
	struct profile_symbol *symbols;
	uint32_t number;
	size_t count;

	set_program_of(stage, 0);
	start_capturer(stage, 1 << 20);
	store_before(stage, &built, CAPTURED_ROOTS);
	assert_int_equal(image_table_intern(stage->images, &built, &number), 0);
	capturer_track_images(stage->capturer, stage->images, stage->attribution);
	capturer_drain(stage->capturer, HURRY_NS); /* at first sight nobody knows what there is */
	assert_int_equal(runs(stage), 1);
	for (int i = 0; i < 4; i++) {
		sample(stage, &built);
		capturer_drain(stage->capturer, HURRY_NS);
	}
	assert_int_equal(runs(stage), 1); /* and nothing more is wanted of it */
	assert_int_equal(profile_get_symbols(stage->writer.profile, 1, &symbols, &count), 0);
	assert_string_equal(symbols[0].name, "another_way");
	profile_free_symbols(symbols);
	assert_int_equal(profile_get_extent(stage->writer.profile, 1, &extent), 0);
	assert_int_equal(extent.count, 1);
	assert_int_equal(extent.blocks[0], 2);
	free(extent.blocks);
}

static void
images_of_a_session_are_forgotten_with_it(void **state)
{
	struct capturer_stage *stage = *state;
	struct capturer_stats stats;
	struct flush_hook hook;

	set_good_program(stage);
	start_capturer(stage, 1 << 20);
	hook = capturer_hook(stage->capturer);
	sample(stage, &built);
	hook.end_session(hook.context, stage->images);
	capturer_stats(stage->capturer, &stats);
	assert_int_equal(stats.waiting, 0);
	settle(stage); /* an answer may have come for whom nobody asks any more */
}

#undef CASE
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_build_is_captured_at_first_sight),
		CASE(text_of_a_build_is_asked_for_as_soon_as_samples_tell_where),
		CASE(text_of_a_build_with_few_samples_can_wait),
		CASE(text_that_was_not_given_is_asked_for_again_later),
		CASE(a_package_is_captured_when_it_is_in_the_database),
		CASE(a_large_result_is_a_reason_to_flush_until_it_is_stored),
		CASE(a_build_is_a_reason_to_flush_for_half_a_minute),
		CASE(a_package_is_not_captured_before_its_time),
		CASE(a_build_does_not_wait_for_packages),
		CASE(a_large_package_waits_until_samples_have_paid_for_it),
		CASE(much_code_of_a_package_waits_until_samples_have_paid_for_it),
		CASE(packages_are_captured_as_samples_pay_for_them),
		CASE(a_few_samples_beside_what_is_there_can_wait),
		CASE(a_small_part_at_new_places_can_wait),
		CASE(blocks_that_are_there_are_not_stored_again),
		CASE(who_dies_is_named_once_and_left_alone),
		CASE(a_limit_that_is_reached_is_said),
		CASE(a_file_that_is_not_found_is_looked_for_again_later),
		CASE(a_new_database_gets_all_again),
		CASE(what_roots_file_says_replaces_what_anothers_said),
		CASE(what_anothers_file_says_leaves_what_roots_said),
		CASE(images_of_a_session_are_forgotten_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
