/*
 * replay - recorded rings go through dcpid's own pipeline, without a clock and without a kernel
 *
 * replay RINGS KERNEL DATABASE
 *
 * RINGS is what tests/pipeline_cost/record made, KERNEL a directory with proc/ and sys/ of the recording machine. The
 * collection is dcpid's: sampler, attribution, tally, flusher's thread with LMDB, the thread that captures. Only what
 * is outside of it is played: the clock stands where the records say, counters are /dev/null, and a run of dcpi-capture
 * answers at once with names and the blocks that it was asked for. The recording is repeated, later each time, until
 * FLUSHES flushes of ten seconds have been made. It says on standard output how many samples went through and what
 * was written; tests/system/pipeline_cost.sh counts the instructions under valgrind's callgrind.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "collectord/capture_child.h"
#include "collectord/capture_thread.h"
#include "collectord/collection_internal.h"
#include "collectord/sampler_internal.h"
#include "collectord/worker.h"
#include "tests/scan_proc.h"

#define FLUSHES     6
#define KINDS       2 /* the sideband, the event */
#define CPUS        2
#define SECOND_NS   UINT64_C(1000000000)
#define STEP_NS     (SECOND_NS / 2) /* busy rings, or the alarm behind them, have dcpid look so often */
#define DRAIN_STEPS 10              /* dcpid's timer drains every 5 s */
#define FLUSH_STEPS 20
#define PERIOD_NS   192307
#define PIDS        (1u << 22)
#define NAMES_SIZE  4096

/* The records of one ring, as they were recorded; their times are moved on with each repetition. */
struct replayed_ring {
	uint8_t *records;
	size_t size, at; /* what the kernel has written of it */
	struct perf_event_mmap_page *header;
	size_t ring_size;
	bool has_samples;
};

struct replay {
	struct replayed_ring tapes[KINDS][CPUS];
	struct record_layout layouts[KINDS];
	uint64_t ids[KINDS][CPUS];
	uint64_t first_ns, length_ns;
	uint64_t samples;
};

static void
die(const char *what, int err)
{
	fprintf(stderr, "replay: %s: %s\n", what, error_text(err));
	exit(EXIT_FAILURE);
}

/* ---- what is played ---- */

static _Atomic uint64_t now_ns;

uint64_t __wrap_machine_clock_ns(int clock_id);
uint64_t
__wrap_machine_clock_ns(int clock_id)
{
	switch (clock_id) {
	case CLOCK_MONOTONIC:
	case CLOCK_BOOTTIME:
		return now_ns;
	case CLOCK_REALTIME:
		return UINT64_C(1700000000) * SECOND_NS + now_ns;
	default:
		return 0; /* processor time */
	}
}

static uint64_t
played_clock_ns(void)
{
	return now_ns;
}

uint64_t __wrap_machine_cpu_time_ns(void);
uint64_t
__wrap_machine_cpu_time_ns(void)
{
	return 0;
}

static bool has_exited[PIDS];

int __wrap_tgkill(pid_t process, pid_t thread, int signal);
int
__wrap_tgkill(pid_t process, pid_t thread, int signal)
{
	(void)thread;
	(void)signal;
	if ((uint32_t)process < PIDS && !has_exited[process])
		return 0;
	errno = ESRCH;
	return -1;
}

/* The workers that were started, each with the object whose thread it is. */
static struct {
	const struct worker_thread *worker;
	const void *context;
} workers[8];
static unsigned worker_count;

int __real_worker_start(struct worker_thread *worker, void *(*run)(void *), void *context);
int __wrap_worker_start(struct worker_thread *worker, void *(*run)(void *), void *context);
int
__wrap_worker_start(struct worker_thread *worker, void *(*run)(void *), void *context)
{
	if (worker_count == sizeof(workers) / sizeof(workers[0]))
		die("worker", -ENOSPC);
	workers[worker_count].worker = worker;
	workers[worker_count++].context = context;
	return __real_worker_start(worker, run, context);
}

/*
 * Waits end only with a change. The thread that captures has done all it can when it waits; for what
 * is due later it is woken after the flush that comes next.
 */
static const pthread_cond_t *capture_changed;
static atomic_bool capture_waits;
static atomic_uint_fast64_t capture_due_ns;

static void
find_capture_changed(const struct capture_thread *thread)
{
	for (unsigned i = 0; i < worker_count; i++)
		if (workers[i].context == thread)
			capture_changed = &workers[i].worker->changed;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock, const struct timespec *at);
int
__wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock, const struct timespec *at)
{
	if (changed == capture_changed) {
		capture_due_ns = (uint64_t)at->tv_sec * SECOND_NS + (uint64_t)at->tv_nsec;
		capture_waits = true;
	}
	return pthread_cond_wait(changed, lock);
}

int __real_pthread_cond_broadcast(pthread_cond_t *changed);
int __wrap_pthread_cond_broadcast(pthread_cond_t *changed);
int
__wrap_pthread_cond_broadcast(pthread_cond_t *changed)
{
	if (changed == capture_changed)
		capture_waits = false;
	return __real_pthread_cond_broadcast(changed);
}

int __wrap_capture_child_find(char path[PATH_MAX]);
int
__wrap_capture_child_find(char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "/nothing");
	return 0;
}

static void
say_value(struct byte_writer *reply, enum capture_message kind, const void *data, size_t size)
{
	uint8_t head[MESSAGE_HEAD_SIZE];

	capture_message_head(kind, size, head);
	write_bytes(reply, head, sizeof(head));
	write_bytes(reply, data, size);
}

/* The blocks that were asked for and are not there yet, in one parcel. */
static void
say_parcel(struct byte_writer *reply, const struct capture_request *request)
{
	static const uint8_t zeros[CAPTURED_BLOCK_SIZE];
	struct captured_block blocks[CAPTURED_PARCEL_MAX];
	struct byte_writer parcel = BYTE_WRITER_INIT;
	size_t count = 0, known = 0;

	for (size_t i = 0; i < request->place_count && count < CAPTURED_PARCEL_MAX; i++) {
		const uint32_t block = request->places[i].block;

		while (known < request->known_count && request->known[known] < block)
			known++;
		if (known == request->known_count || request->known[known] != block)
			blocks[count++] = (struct captured_block){block, zeros};
	}
	if (count == 0)
		return;
	for (unsigned byte = 0; byte < 4; byte++)
		write_u8(&parcel, (uint8_t)(blocks[0].number >> 8 * (3 - byte)));
	if (captured_parcel_encode(blocks, count, &parcel))
		die("parcel", -ENOMEM);
	say_value(reply, MESSAGE_PARCEL, parcel.data, parcel.size);
	writer_fini(&parcel);
}

static void
answer(const struct byte_writer *asked, struct capture_outcome *outcome)
{
	static const uint8_t names[NAMES_SIZE];
	const struct captured_layout layout = {.machine = 62};
	struct capture_request_room room = {.places = NULL};
	struct byte_writer reply = BYTE_WRITER_INIT, value = BYTE_WRITER_INIT;
	struct capture_request request;

	memset(outcome, 0, sizeof(*outcome));
	if (capture_request_decode(asked->data, asked->size, &request, &room))
		die("request", -EBADMSG);
	if (request.names) {
		say_value(&reply, MESSAGE_SYMBOLS, names, sizeof(names));
		captured_layout_encode(&layout, &value);
		say_value(&reply, MESSAGE_LAYOUT, value.data, value.size);
	}
	say_parcel(&reply, &request);
	say_value(&reply, MESSAGE_END, "", 1);
	capture_request_fini(&room);
	writer_fini(&value);
	outcome->bytes = reply.data;
	outcome->size = reply.size;
	outcome->error = capture_reply_decode(outcome->bytes, outcome->size, &outcome->reply);
	if (outcome->error)
		die("reply", outcome->error);
}

void __wrap_capture_child_start(struct capture_child *child, const char *program, const struct byte_writer *asked,
                                int file, struct capture_outcome *outcome);
void
__wrap_capture_child_start(struct capture_child *child, const char *program, const struct byte_writer *asked, int file,
                           struct capture_outcome *outcome)
{
	(void)program;
	(void)file;
	answer(asked, outcome);
	child->has_ended = true;
}

void __wrap_kernel_text_run(const char *procfs, const struct byte_writer *asked, struct capture_outcome *outcome);
void
__wrap_kernel_text_run(const char *procfs, const struct byte_writer *asked, struct capture_outcome *outcome)
{
	(void)procfs;
	answer(asked, outcome);
}

/* ---- the recording ---- */

static bool
is_sample(const struct perf_event_header *header)
{
	return header->type == PERF_RECORD_SAMPLE;
}

/* A sample begins with id, address, thread and time; any other record ends with thread, time and id. */
static uint8_t *
time_of(struct perf_event_header *header)
{
	return (uint8_t *)header + (is_sample(header) ? 32 : header->size - 16);
}

static uint64_t
load(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static struct replayed_ring *
tape_of(struct replay *replay, struct perf_event_header *header)
{
	const uint64_t id = load((uint8_t *)header + (is_sample(header) ? 8 : header->size - 8));

	for (int kind = 0; kind < KINDS; kind++)
		for (int cpu = 0; cpu < CPUS; cpu++)
			if (replay->ids[kind][cpu] == id)
				return &replay->tapes[kind][cpu];
	die("rings", -DCPI_EDAMAGED);
	abort();
}

static void
take_in(struct replay *replay, struct perf_event_header *header)
{
	struct replayed_ring *tape = tape_of(replay, header);
	const uint64_t time = load(time_of(header));
	const uint32_t *ids = (const uint32_t *)(header + 1);

	tape->records = realloc(tape->records, tape->size + header->size);
	if (!tape->records)
		die("rings", -ENOMEM);
	memcpy(tape->records + tape->size, header, header->size);
	tape->size += header->size;
	if (!replay->first_ns || time < replay->first_ns)
		replay->first_ns = time;
	if (time - replay->first_ns >= replay->length_ns)
		replay->length_ns = time - replay->first_ns + 1;
	if (header->type == PERF_RECORD_EXIT && ids[0] == ids[2] && ids[0] < PIDS)
		has_exited[ids[0]] = true;
}

static void
read_rings(struct replay *replay, const char *path)
{
	FILE *file = fopen(path, "re");
	uint64_t header[8]; /* magic, size, size of an attribute; offset and size of attributes, data */
	struct stat status;
	char *bytes;

	if (!file || fstat(fileno(file), &status))
		die(path, -errno);
	bytes = malloc((size_t)status.st_size);
	if (!bytes || fread(bytes, 1, (size_t)status.st_size, file) != (size_t)status.st_size)
		die(path, -EIO);
	fclose(file);
	memcpy(header, bytes, sizeof(header));
	if (header[4] != KINDS * header[2] || header[5] + header[6] != (uint64_t)status.st_size)
		die(path, -DCPI_EDAMAGED);
	memcpy(replay->ids, bytes + header[1], sizeof(replay->ids));
	for (int kind = 0; kind < KINDS; kind++) {
		struct perf_event_attr attr;

		memcpy(&attr, bytes + header[3] + (size_t)kind * header[2],
		       sizeof(attr) < header[2] ? sizeof(attr) : header[2]);
		replay->layouts[kind] = (struct record_layout){.sample_type = attr.sample_type, .sample_id_all = true};
	}
	for (uint64_t at = header[5]; at < (uint64_t)status.st_size;) {
		struct perf_event_header *record = (struct perf_event_header *)(bytes + at);

		at += record->size;
		take_in(replay, record);
	}
	free(bytes);
}

static void
write_to_ring(struct replayed_ring *tape, const uint8_t *bytes, size_t size)
{
	uint8_t *ring = (uint8_t *)tape->header + sysconf(_SC_PAGESIZE);
	const size_t at = tape->header->data_head & (tape->ring_size - 1);
	const size_t first = size < tape->ring_size - at ? size : tape->ring_size - at;

	if (tape->header->data_head + size - tape->header->data_tail > tape->ring_size)
		die("a ring is full", -ENOSPC);
	memcpy(ring + at, bytes, first);
	memcpy(ring, bytes + first, size - first);
	tape->header->data_head += size;
}

/* What the kernel would have written up to now. */
static void
play(struct replay *replay, struct replayed_ring *tape)
{
	while (tape->size > 0) {
		struct perf_event_header *header = (struct perf_event_header *)(tape->records + tape->at);
		uint8_t *time = time_of(header);
		const uint64_t later = load(time) + replay->length_ns;

		if (load(time) > now_ns)
			break;
		write_to_ring(tape, tape->records + tape->at, header->size);
		replay->samples += is_sample(header);
		memcpy(time, &later, sizeof(later));
		tape->at += header->size;
		if (tape->at == tape->size)
			tape->at = 0;
	}
}

static struct ring *
ring_of(struct replayed_ring *tape, size_t pages)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct ring *ring;

	tape->ring_size = pages * page_size;
	tape->header = aligned_alloc(page_size, page_size + tape->ring_size);
	if (!tape->header)
		die("ring", -ENOMEM);
	memset(tape->header, 0, page_size);
	ring = ring_over(tape->header, pages);
	if (!ring)
		die("ring", -errno);
	return ring;
}

/* ---- the daemon ---- */

static struct sampler *
make_sampler(struct replay *replay, const struct config *config, const char *procfs, const char *sysfs)
{
	const struct attribution_options options = {
		.procfs = procfs,
		.sysfs = sysfs,
		.cgroupfs = procfs,
		.clock_ns = played_clock_ns,
		.tracks_jit = true,
	};
	struct sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler)
		die("sampler", -ENOMEM);
	sampler->event_count = 1;
	sampler->events[0] = (struct event){
		.name = "cpu-clock",
		.requested = "cpu-clock",
		.encoding = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .unit = "ns"},
		.period = PERIOD_NS,
		.rate = SECOND_NS / PERIOD_NS,
		.available = true,
		.user = true,
		.kernel = true,
	};
	sampler->features.cgroup = replay->layouts[1].sample_type & PERF_SAMPLE_CGROUP;
	sampler->ring_pages = config->ring_pages;
	sampler->merge = merge_new();
	sampler->images = image_table_new();
	sampler->contexts = context_table_new();
	sampler->tally = tally_new(config->tally_limit);
	sampler->attribution = attribution_new(&options, sampler->images, sampler->contexts);
	sampler->cpus = calloc(CPUS, sizeof(*sampler->cpus));
	if (!sampler->merge || !sampler->tally || !sampler->attribution || !sampler->cpus)
		die("sampler", -ENOMEM);
	sampler->cpu_count = sampler->cpu_capacity = CPUS;
	for (uint32_t i = 0; i < CPUS; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];

		sampler_cpu_init(cpu, i);
		cpu->open = true;
		cpu->sideband = ring_of(&replay->tapes[0][i], config->sideband_pages);
		cpu->samples = ring_of(&replay->tapes[1][i], config->ring_pages);
		cpu->sideband_counter.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		cpu->sideband_counter.id = replay->ids[0][i];
		cpu->counters[0].fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		cpu->counters[0].id = replay->ids[1][i];
		dither_begin(&cpu->counters[0].dither, PERIOD_NS, i, now_ns);
		if (merge_add(sampler->merge, cpu->sideband, &replay->layouts[0], i) ||
		    merge_add_samples(sampler->merge, cpu->samples, &replay->layouts[1], i))
			die("merge", -ENOMEM);
	}
	sampler->reader = proc_reader_new(procfs, sysfs, sampler->attribution, NULL);
	if (!sampler->reader || scan_proc(sampler->attribution, &options))
		die("scan", -EIO);
	return sampler;
}

static void
make_collection(struct collection *collection, struct replay *replay, const char *kernel, const char *database)
{
	static char procfs[PATH_MAX], sysfs[PATH_MAX];
	char why[1024];
	int err;

	dcpid_config_default(&collection->config);
	snprintf(collection->config.database, sizeof(collection->config.database), "%s", database);
	snprintf(procfs, sizeof(procfs), "%s/proc", kernel);
	snprintf(sysfs, sizeof(sysfs), "%s/sys", kernel);
	collection->tables_limit = COLLECTION_TABLES_LIMIT;
	collection->jit_files = jit_files_new(procfs, NULL);
	collection->sampler = make_sampler(replay, &collection->config, procfs, sysfs);
	err = collection_open_profile(collection, why, sizeof(why));
	if (!err)
		err = collection_start(collection, "", why, sizeof(why));
	if (err && err != -ENOTTY) /* /dev/null counts nothing */
		die(why, err);
	find_capture_changed(collection->capture_thread);
}

static void
wait_for_captures(void)
{
	while (!capture_waits)
		poll(NULL, 0, 1);
}

static void
flush(struct collection *collection)
{
	int err;

	collection_adjust_rates(collection);
	err = collection_flush(collection);
	if (err)
		die("flush", err);
	while (collection_is_busy(collection)) {
		struct pollfd bell = {.fd = flusher_descriptor(collection->flusher), .events = POLLIN};

		poll(&bell, 1, -1);
		collection_take_result(collection);
		if (collection->flush_error)
			die("flush", collection->flush_error);
	}
	if (capture_due_ns <= now_ns) {
		capture_thread_lock(collection->capture_thread);
		capture_thread_notify(collection->capture_thread);
		capture_thread_unlock(collection->capture_thread);
	}
	wait_for_captures();
}

/* As on_ring(), on_drain_timer() and on_flush_timer() of collectord/daemon.c. */
static void
run(struct collection *collection, struct replay *replay)
{
	for (unsigned step = 1; step <= FLUSHES * FLUSH_STEPS; step++) {
		now_ns += STEP_NS;
		for (int kind = 0; kind < KINDS; kind++)
			for (int cpu = 0; cpu < CPUS; cpu++)
				play(replay, &replay->tapes[kind][cpu]);
		sampler_dither(collection->sampler);
		if (sampler_drain_is_due(collection->sampler, STEP_NS) || step % DRAIN_STEPS == 0)
			if (collection_drain(collection))
				die("drain", -EIO);
		wait_for_captures();
		if (step % FLUSH_STEPS == 0)
			flush(collection);
	}
}

static uint64_t
bytes_written(void)
{
	FILE *file = fopen("/proc/self/io", "re");
	unsigned long long bytes = 0;

	if (!file || fscanf(file, "rchar: %*u wchar: %llu", &bytes) != 1)
		die("/proc/self/io", -EIO);
	fclose(file);
	return bytes;
}

int
main(int argc, char **argv)
{
	static struct replay replay;
	static struct collection collection;
	uint64_t began;

	if (argc != 4)
		die("usage: replay RINGS KERNEL DATABASE", -EINVAL);
	read_rings(&replay, argv[1]);
	now_ns = replay.first_ns;
	began = bytes_written();
	make_collection(&collection, &replay, argv[2], argv[3]);
	run(&collection, &replay);
	printf("samples %" PRIu64 "\n", replay.samples);
	printf("counted %" PRIu64 "\n", collection.samples - collection.unknown);
	printf("written %" PRIu64 "\n", bytes_written() - began);
	printf("file %" PRIu64 "\n", collection.profile_stats.used_bytes);
	collection_close_writer(&collection);
	return 0;
}
