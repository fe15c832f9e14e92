#include "dcpi-tools/mem/spe_live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "memory/object_log.h"
#include "memory/spe.h"
#include "stream/counter_time.h"

#define SHIFT        26 /* a tick lasts at most 1024 ns, and is right to 1 in 70 million if it lasts 1 */
#define READINGS     4
#define SWITCHES_MAX 4096    /* that are kept while nothing is written */
#define SETTLE_NS    1000000 /* a shorter time says too little of how long a tick lasts */

struct spe_switch {
	uint64_t time;
	uint32_t pid, tid;
};

struct spe_live_cpu {
	uint32_t number;
	uint64_t midr;
	struct spe_switch *switches; /* since the last piece, and the one before; the latest of them */
	size_t count, room;
};

struct spe_live {
	struct spe_live_cpu *cpus;
	size_t cpu_count;
	uint64_t begin_ticks;
	struct counter_time time; /* of ticks since then */
	uint8_t *bytes;           /* of a piece */
	size_t room;
	uint64_t lost;
};

/* Counter and clock at one time: of some readings, the one that took least, which no interruption made longer. */
static void
read_clocks(uint64_t *ticks, uint64_t *ns)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		const uint64_t before = object_log_counter(), now = monotonic_ns();
		const uint64_t took = object_log_counter() - before;

		if (took >= least)
			continue;
		least = took;
		*ticks = before + took / 2;
		*ns = now;
	}
}

struct spe_live *
spe_live_new(const char *sysfs, const uint32_t *cpus, size_t count)
{
	struct spe_live *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->time = (struct counter_time){.shift = SHIFT, .mask = UINT64_MAX};
	read_clocks(&live->begin_ticks, &live->time.zero_ns);
	live->cpus = calloc(count + 1, sizeof(*live->cpus));
	if (!live->cpus) {
		free(live);
		return NULL;
	}
	live->cpu_count = count;
	for (size_t i = 0; i < count; i++) {
		char text[32];

		live->cpus[i].number = cpus[i];
		if (small_file_read(text, sizeof(text), "%s/devices/system/cpu/cpu%u/regs/identification/midr_el1",
		                    sysfs, cpus[i]) == 0)
			live->cpus[i].midr = strtoull(text, NULL, 16);
	}
	return live;
}

void
spe_live_free(struct spe_live *live)
{
	if (!live)
		return;
	for (size_t i = 0; i < live->cpu_count; i++)
		free(live->cpus[i].switches);
	free(live->cpus);
	free(live->bytes);
	free(live);
}

uint64_t
spe_live_lost(const struct spe_live *live)
{
	return live->lost;
}

void
spe_live_set_time(struct spe_live *live)
{
	uint64_t ticks = 0, ns = 0;

	read_clocks(&ticks, &ns);
	ticks -= live->begin_ticks;
	ns -= live->time.zero_ns;
	if (!ticks || (ns < SETTLE_NS && live->time.multiplier))
		return;
	live->time.multiplier = (uint64_t)((double)ns / (double)ticks * (double)(UINT64_C(1) << SHIFT));
}

/* Who ran at the sample's time: by the last switch before it; else who ran when the piece ended. */
static void
set_thread(const struct spe_live_cpu *cpu, const struct record *piece, struct record *sample)
{
	sample->pid = piece->pid;
	sample->tid = piece->tid;
	for (size_t i = cpu->count; i > 0; i--) {
		if (cpu->switches[i - 1].time <= sample->time) {
			sample->pid = cpu->switches[i - 1].pid;
			sample->tid = cpu->switches[i - 1].tid;
			return;
		}
	}
}

static int
take_piece(struct spe_live *live, struct spe_live_cpu *cpu, struct ring *ring, const struct record *piece,
           merge_sink *sink, void *context)
{
	const size_t room = ring_aux_size(ring), size = piece->aux.size < room ? (size_t)piece->aux.size : room;
	struct spe_decoder decoder;
	struct spe_record record;
	int err = 0;

	if (room > live->room) {
		uint8_t *bytes = realloc(live->bytes, room);

		if (!bytes)
			return -ENOMEM;
		live->bytes = bytes;
		live->room = room;
	}
	live->lost += piece->aux.flags & PERF_AUX_FLAG_TRUNCATED ? 1 : 0;
	if (!size)
		return 0;
	ring_copy_aux(ring, piece->aux.offset, size, live->bytes);
	spe_decoder_init(&decoder, piece->aux.offset);
	spe_decoder_put(&decoder, live->bytes, size);
	while (!err && spe_decoder_next(&decoder, &record)) {
		struct record sample;

		if (!spe_sample(&record, cpu->midr, &sample))
			continue;
		if (!(record.has & SPE_HAS_TIME) || record.time < live->begin_ticks) {
			live->lost++;
			continue;
		}
		sample.time = counter_time_ns(&live->time, record.time - live->begin_ticks);
		sample.sample.cpu = cpu->number;
		set_thread(cpu, piece, &sample);
		err = sink(context, cpu->number, &sample);
	}
	spe_decoder_end(&decoder);
	live->lost += decoder.damaged;
	ring_publish_aux(ring, piece->aux.offset + size);
	/* the last switch holds for the next piece, too */
	if (cpu->count) {
		cpu->switches[0] = cpu->switches[cpu->count - 1];
		cpu->count = 1;
	}
	return err;
}

int
spe_live_take(struct spe_live *live, size_t index, struct ring *ring, const struct record *record, merge_sink *sink,
              void *context)
{
	struct spe_live_cpu *cpu = &live->cpus[index];
	struct spe_switch *added;

	if (record->type == RECORD_AUX)
		return take_piece(live, cpu, ring, record, sink, context);
	/* whose event is off writes nothing, so nobody is missed until the next one comes */
	if (record->type != RECORD_RUNNING || record->tid == UINT32_MAX)
		return 0;
	if (cpu->count == SWITCHES_MAX) {
		cpu->count /= 2;
		memmove(cpu->switches, cpu->switches + cpu->count, cpu->count * sizeof(*cpu->switches));
	}
	added = ARRAY_APPEND(cpu->switches, cpu->count, cpu->room);
	if (!added)
		return -ENOMEM;
	*added = (struct spe_switch){record->time, record->pid, record->tid};
	return 0;
}
