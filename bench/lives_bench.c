/*
 * lives_bench - what the records of a short process cost
 *
 * A shell that starts /bin/true again and again, as the kernel tells it: fork, exec, the mappings of program, loader,
 * vdso and library, exit. The records lie in one ring as the kernel would have written them; what is measured is
 * decoding, merging and applying them, and forgetting the processes. A figure is the best of several rounds.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/bench.h"
#include "process/attribution.h"
#include "stream/merge.h"

#define PAGES         4096
#define LIFE_NS       UINT64_C(400000) /* 2500 a second */
#define LIVES_A_DRAIN 250
#define GRACE_NS      UINT64_C(1000000000)
#define ROUNDS        5
#define SHELL         999
#define PID_FIRST     1000
#define PID_LAST      32767

static const struct record_layout layout = {
	.sample_type = BENCH_SAMPLE_TYPE,
	.sample_id_all = true,
};

/* What the kernel writes to. */
struct lives_tape {
	uint8_t *data;
	size_t size, used;
	uint32_t pid;
	uint64_t time;
	uint64_t lives, records;
};

struct drain {
	struct attribution *attribution;
	uint64_t records;
};

static void
put(struct lives_tape *tape, const void *data, size_t size)
{
	if (tape->size - tape->used < size)
		abort();
	memcpy(tape->data + tape->used, data, size);
	tape->used += size;
}

static void
put_record(struct lives_tape *tape, uint32_t type, uint16_t misc, const void *body, size_t size, const char *text)
{
	const uint64_t trailer[3] = {(uint64_t)tape->pid << 32 | tape->pid, tape->time, 7};
	const size_t length = text ? strlen(text) / 8 * 8 + 8 : 0;
	const struct perf_event_header header = {type, misc,
	                                         (uint16_t)(sizeof(header) + size + length + sizeof(trailer))};
	char padded[64] = "";

	if (length)
		memcpy(padded, text, strlen(text));
	put(tape, &header, sizeof(header));
	put(tape, body, size);
	put(tape, padded, length);
	put(tape, trailer, sizeof(trailer));
	tape->records++;
}

static void
put_task(struct lives_tape *tape, uint32_t type)
{
	struct {
		uint32_t pid, parent_pid, tid, parent_tid;
		uint64_t time;
	} body = {tape->pid, SHELL, tape->pid, SHELL, tape->time};

	put_record(tape, type, 0, &body, sizeof(body), NULL);
}

static void
put_exec(struct lives_tape *tape, const char *name)
{
	const uint32_t body[2] = {tape->pid, tape->pid};

	put_record(tape, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, body, sizeof(body), name);
}

static void
put_map(struct lives_tape *tape, uint64_t start, const char *path)
{
	struct {
		uint32_t pid, tid;
		uint64_t start, length, offset;
		uint8_t build_id_size, reserved[3], build_id[BUILD_ID_SIZE_MAX];
		uint32_t protection, flags;
	} body = {tape->pid, tape->pid, start, 0x20000, 0x1000, BUILD_ID_SIZE_MAX, {0}, {0}, PROT_EXEC, 0};

	snprintf((char *)body.build_id, sizeof(body.build_id), "%.19s", path + strlen(path) / 2);
	put_record(tape, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID, &body, sizeof(body),
	           path);
}

static void
put_shell(struct lives_tape *tape)
{
	tape->pid = SHELL;
	put_exec(tape, "bash");
	put_map(tape, 0x555500000000, "/usr/bin/bash");
	put_map(tape, 0x7f0000000000, "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
	put_map(tape, 0x7f0000100000, "/usr/lib/x86_64-linux-gnu/libtinfo.so.6.4");
	put_map(tape, 0x7f0000200000, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	put_map(tape, 0x7fff00000000, "[vdso]");
}

static void
put_life(struct lives_tape *tape)
{
	tape->time += LIFE_NS;
	tape->pid = PID_FIRST + (uint32_t)(tape->lives++ % (PID_LAST - PID_FIRST));
	put_task(tape, PERF_RECORD_FORK);
	put_exec(tape, "true");
	put_map(tape, 0x555500000000, "/usr/bin/true");
	put_map(tape, 0x7f0000000000, "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
	put_map(tape, 0x7fff00000000, "[vdso]");
	put_map(tape, 0x7f0000200000, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	put_task(tape, PERF_RECORD_EXIT);
}

static int
take(void *context, uint32_t cpu, const struct record *record)
{
	struct drain *drain = context;

	(void)cpu;
	drain->records++;
	return attribution_apply(drain->attribution, record);
}

/* Drain the whole ring, some lives at a time, as the daemon does. */
static uint64_t
drain_all(struct ring *ring, struct drain *drain, const struct lives_tape *tape)
{
	struct merge *merge = merge_new();
	uint64_t start;

	if (!merge || merge_add(merge, ring, &layout, 0))
		abort();
	start = bench_clock_ns(CLOCK_MONOTONIC);
	for (uint64_t time = 0; time < tape->time; time += LIFE_NS * LIVES_A_DRAIN) {
		uint64_t horizon = time + LIFE_NS * LIVES_A_DRAIN;

		if (merge_drain(merge, horizon, take, drain))
			abort();
		attribution_expire(drain->attribution, horizon);
	}
	start = bench_clock_ns(CLOCK_MONOTONIC) - start;
	merge_free(merge);
	return start;
}

/* Nanoseconds of one round; of records alone when there is no attribution. */
static uint64_t
run(struct perf_event_mmap_page *header, const struct lives_tape *tape)
{
	const struct attribution_options options = {.exit_grace_ns = GRACE_NS};
	struct image_table *images = image_table_new();
	struct context_table *contexts = context_table_new();
	struct drain drain = {.attribution = attribution_new(&options, images, contexts)};
	struct ring *ring;
	uint64_t ns;

	header->data_head = header->data_tail = 0;
	ring = ring_over(header, PAGES);
	if (!drain.attribution || !ring)
		abort();
	header->data_head = tape->used;
	ns = drain_all(ring, &drain, tape);
	if (drain.records != tape->records)
		abort();
	ring_free(ring);
	attribution_free(drain.attribution);
	context_table_free(contexts);
	image_table_free(images);
	return ns;
}

int
main(void)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *header = aligned_alloc(page_size, (PAGES + 1) * page_size);
	struct lives_tape tape = {.size = PAGES * page_size, .time = 1};
	uint64_t best = UINT64_MAX;

	if (!header)
		abort();
	memset(header, 0, page_size);
	tape.data = (uint8_t *)header + page_size;
	put_shell(&tape);
	while (tape.size - tape.used > 2048)
		put_life(&tape);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t ns = run(header, &tape);

		if (ns < best)
			best = ns;
	}
	printf("%llu processes, %llu records: %.0f ns a process, %.1f ns a record\n", (unsigned long long)tape.lives,
	       (unsigned long long)tape.records, (double)best / (double)tape.lives,
	       (double)best / (double)tape.records);
	free(header);
	return 0;
}
