#include "dcpi-tools/mem/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/emu/record_read.h"
#include "dcpi-tools/emulated/run_directory.h"
#include "dcpi-tools/mem/logs.h"
#include "dcpi-tools/mem/names.h"
#include "memory/access_history.h"
#include "memory/numbers.h"

#define READ_AT_ONCE 1024 /* accesses of a ring */
#define QUANTA       4    /* by which a thread may be behind the one that is ahead */
#define ROUNDS       50   /* without an access, after which a thread that is farther behind is not waited for */

/* What is known of a virtual CPU's accesses. */
struct collected_ring {
	uint64_t time, round; /* of the last one, and in which round that was found */
	uint64_t before;      /* the time when this round began */
	bool is_away;         /* its thread was in a system call when the ring was read */
};

/* A process and program that is emulated. */
struct collected_process {
	int fd; /* of its record, also to write */
	struct record_header header;
	uint32_t number; /* the history's, and the profile's */
	uint32_t parent; /* likewise, of who forked it; MEMORY_NOTHING: it has executed its program itself */
	struct process_map *map;
	uint64_t base;                /* of its memory */
	bool is_stale;                /* the map may be read again, if an address is not in it */
	struct collected_ring *rings; /* of its virtual CPUs */
	size_t ring_count;
};

/* An instruction of a process, with the number that accesses have for it in the history. */
struct collected_place {
	uint32_t process, instruction;
	uint32_t number; /* of collector.places */
};

struct collector {
	struct memory_profile *profile;
	const struct setup *setup;
	char directory[PATH_MAX];
	struct access_history *history;
	struct names *names;
	struct collected_process *processes;
	size_t process_count, process_room;
	struct logs *logs;
	struct numbers places; /* key: the process, its instruction */
	uint64_t round;        /* number of the poll */
};

static void
find_region(void *context, uint32_t process, uint64_t address, struct memory_region *region)
{
	struct collector *collector = context;
	struct collected_process *here = &collector->processes[process];

	if (!process_map_has(here->map, address) && here->is_stale) {
		here->is_stale = false; /* once between two polls */
		(void)process_map_refresh(here->map, here->base);
	}
	names_region(collector->names, here->map, address, region);
	region->is_ours |=
		region->kind == MEMORY_FILE && strncmp(memory_profile_text(collector->profile, region->name),
	                                               collector->directory, strlen(collector->directory)) == 0;
}

/* The process that `pid` was at `time`. NULL: none that is known. */
static struct collected_process *
process_at(const struct collector *collector, int32_t pid, uint64_t time)
{
	struct collected_process *latest = NULL;

	for (size_t i = 0; i < collector->process_count; i++) {
		struct collected_process *process = &collector->processes[i];

		if (process->header.pid == pid && process->header.start_cycles <= time &&
		    (!latest || process->header.start_cycles >= latest->header.start_cycles))
			latest = process;
	}
	return latest;
}

static uint32_t
find_process(void *context, int32_t pid, uint64_t time)
{
	const struct collector *collector = context;
	const struct collected_process *process = process_at(collector, pid, time);

	return process ? process->number : MEMORY_NOTHING;
}

static const struct process_map *
map_of(void *context, uint32_t process)
{
	const struct collector *collector = context;

	return collector->processes[process].map;
}

static uint32_t
parent_of(void *context, uint32_t process)
{
	const struct collector *collector = context;

	return collector->processes[process].parent;
}

struct collector *
collector_new(struct memory_profile *profile, const struct setup *setup, const char *directory, size_t access_max)
{
	struct collector *collector = calloc(1, sizeof(*collector));
	const struct log_processes processes = {find_process, map_of, parent_of, collector};

	if (!collector)
		return NULL;
	collector->profile = profile;
	collector->setup = setup;
	snprintf(collector->directory, sizeof(collector->directory), "%s", directory);
	collector->history = access_history_new(profile, access_max, find_region, collector);
	collector->names = names_new(profile);
	if (collector->history)
		collector->logs = logs_new(collector->history, profile, directory, true, &processes);
	if (collector->logs && collector->names)
		return collector;
	collector_free(collector);
	return NULL;
}

void
collector_free(struct collector *collector)
{
	if (!collector)
		return;
	for (size_t i = 0; i < collector->process_count; i++) {
		close(collector->processes[i].fd);
		process_map_free(collector->processes[i].map);
		free(collector->processes[i].rings);
	}
	free(collector->processes);
	logs_free(collector->logs);
	numbers_fini(&collector->places);
	access_history_free(collector->history);
	names_free(collector->names);
	free(collector);
}

/* ---- processes ---- */

/* To write, too: what was read is given back. -1 and errno. */
static int
open_record(const struct collector *collector, const struct run_file *file)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/" RECORD_PREFIX "%d.%d", collector->directory, file->pid, file->number);
	return open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
}

static int
add_process(struct collector *collector, const struct run_file *file, const struct record_header *header)
{
	const uint32_t parent =
		header->parent ? find_process(collector, header->parent, header->start_cycles) : MEMORY_NOTHING;
	const uint32_t name = memory_profile_add_text(collector->profile, header->comm);
	const int fd = open_record(collector, file);
	struct collected_process *process;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	process = ARRAY_APPEND(collector->processes, collector->process_count, collector->process_room);
	if (!process) {
		close(fd);
		return -ENOMEM;
	}
	*process = (struct collected_process){
		.fd = fd, .header = *header, .parent = parent, .map = process_map_new((uint32_t)file->pid)};
	process->number = access_history_add_process(collector->history, (uint32_t)file->pid, (uint32_t)file->number,
	                                             name, parent, header->start_cycles);
	return process->map && process->number != MEMORY_NOTHING && name != MEMORY_NOTHING ? 0 : -ENOMEM;
}

static int
see_record(void *context, const struct run_file *file)
{
	struct collector *collector = context;
	struct record_header header;

	for (size_t i = 0; i < collector->process_count; i++) {
		const struct memory_process *known = &collector->profile->processes[i];

		if (known->pid == (uint32_t)file->pid && known->number == (uint32_t)file->number)
			return 0;
	}
	if (file->fd < 0 || code_read_at(file->fd, &header, sizeof(header), 0) || header.magic != RECORD_MAGIC ||
	    header.vcpu_count > RECORD_VCPUS_MAX)
		return 0; /* it is being made; or it is damaged, which is said when the rest of it is read */
	header.comm[sizeof(header.comm) - 1] = '\0';
	return add_process(collector, file, &header);
}

/* ---- accesses ---- */

static int
take_access(struct collector *collector, struct collected_process *process, const struct record_access *access)
{
	const uint32_t place = numbers_of(&collector->places, process->number, access->instruction);
	const struct access_sample sample = {
		.time = access->time,
		.address = access->address,
		.tid = access->tid,
		.place = place,
		.cycles = access->cycles,
		.cost = access->cost,
		.weight = access->weight,
		.node = access->core_node % MEMORY_NODES_MAX,
		.page_node = access->page_node % MEMORY_NODES_MAX,
		.level = access->level == RECORD_MEMORY             ? MEMORY_DRAM
	                 : access->flags & RECORD_ACCESS_PREFETCHED ? MEMORY_PREFETCHED
	                                                            : MEMORY_CACHE,
		.flags = (uint8_t)((access->flags & RECORD_ACCESS_STORE ? MEMORY_STORE : 0) |
	                           (access->flags & RECORD_ACCESS_TRANSFER ? MEMORY_TRANSFER : 0) |
	                           (access->flags & RECORD_ACCESS_FAR ? MEMORY_FAR : 0) |
	                           (access->flags & RECORD_ACCESS_ATOMIC ? MEMORY_ATOMIC : 0)),
	};

	if (place == NUMBER_NONE)
		return -ENOMEM;
	return access_history_access(collector->history, process->number, &sample);
}

/* Where the ring of a virtual CPU is in the record. */
static uint64_t
ring_of(unsigned vcpu)
{
	return RECORD_VCPU_OFFSET(vcpu) + offsetof(struct record_vcpu, accesses);
}

/* A process that writes into its own record gets nonsense, and no more than its ring holds at a time. */
static int
take_ring(struct collector *collector, struct collected_process *process, unsigned vcpu)
{
	struct record_access accesses[READ_AT_ONCE];
	struct record_access_head head;
	uint64_t written, read;
	int err = code_read_at(process->fd, &head, sizeof(head), ring_of(vcpu));

	if (err)
		return 0;
	written = head.written;
	read = head.read;
	process->base = head.base ? head.base : process->base;
	process->rings[vcpu].before = process->rings[vcpu].time;
	process->rings[vcpu].is_away = head.is_away;
	if (written - read > RECORD_ACCESSES)
		read = written - RECORD_ACCESSES;
	while (read != written && !err) {
		const uint64_t at = read % RECORD_ACCESSES;
		uint64_t count = written - read;

		count = count < READ_AT_ONCE ? count : READ_AT_ONCE;
		count = count < RECORD_ACCESSES - at ? count : RECORD_ACCESSES - at;
		if (code_read_at(process->fd, accesses, count * sizeof(*accesses),
		                 ring_of(vcpu) + sizeof(head) + at * sizeof(*accesses)))
			return 0;
		for (uint64_t i = 0; i < count && !err; i++)
			err = take_access(collector, process, &accesses[i]);
		process->rings[vcpu].time = accesses[count - 1].time;
		process->rings[vcpu].round = collector->round;
		read += count;
		if (pwrite(process->fd, &read, sizeof(read),
		           (off_t)(ring_of(vcpu) + offsetof(struct record_access_head, read))) < 0)
			return err;
	}
	return err;
}

/* Have plugins sample only as often as the history keeps samples. */
static void
ask_for_weight(struct collector *collector)
{
	const uint64_t weight = access_history_weight(collector->history);

	for (size_t i = 0; i < collector->process_count && weight > 1; i++) {
		const struct collected_process *process = &collector->processes[i];

		for (unsigned vcpu = 0; vcpu < process->header.vcpu_count; vcpu++) {
			if (pwrite(process->fd, &weight, sizeof(weight),
			           (off_t)(ring_of(vcpu) + offsetof(struct record_access_head, period))) < 0)
				return; /* the history leaves out the others */
		}
	}
}

/* One for each virtual CPU. 0 or -ENOMEM. */
static int
add_rings(struct collected_process *process)
{
	const size_t count = process->header.vcpu_count;
	struct collected_ring *rings;

	if (count <= process->ring_count)
		return 0;
	rings = realloc(process->rings, count * sizeof(*rings));
	if (!rings)
		return -ENOMEM;
	memset(rings + process->ring_count, 0, (count - process->ring_count) * sizeof(*rings));
	process->rings = rings;
	process->ring_count = count;
	return 0;
}

/*
 * The least time up to which the accesses of a virtual CPU were known when this round began, of those that run and had
 * some lately. A thread that was away when its ring was read comes back no earlier: it continues when the slowest that
 * runs does, which has gone on since the round before.
 */
static uint64_t
time_of_slowest(const struct collector *collector)
{
	uint64_t slowest = UINT64_MAX;

	for (size_t i = 0; i < collector->process_count; i++) {
		const struct collected_process *process = &collector->processes[i];

		for (size_t k = 0; k < process->ring_count; k++) {
			const struct collected_ring *ring = &process->rings[k];

			if (ring->before && !ring->is_away && collector->round - ring->round < ROUNDS)
				slowest = ring->before < slowest ? ring->before : slowest;
		}
	}
	return slowest;
}

static int
take_rings(struct collector *collector)
{
	int err = 0;

	collector->round++;

	for (size_t i = 0; i < collector->process_count && !err; i++) {
		struct collected_process *process = &collector->processes[i];
		struct record_header header;

		if (code_read_at(process->fd, &header, sizeof(header), 0) || header.vcpu_count > RECORD_VCPUS_MAX)
			continue;
		process->header.vcpu_count = header.vcpu_count;
		process->header.log_size = header.log_size;
		err = add_rings(process);
		for (unsigned vcpu = 0; vcpu < header.vcpu_count && !err; vcpu++)
			err = take_ring(collector, process, vcpu);
	}
	return err;
}

/*
 * Read what came, and apply what nothing earlier can follow. A thread that runs is no more than a quantum behind what
 * was known before this round; while it reads one ring after the other, threads go on. Threads of a server may be far
 * behind one that slept for a second: of what is later than the last accesses of those that run nothing is applied, as
 * long as they have some.
 */
static int
take_all(struct collector *collector, bool is_ended)
{
	const uint64_t behind = QUANTA * collector->setup->quantum_cycles;
	const uint64_t latest = access_history_latest(collector->history);
	uint64_t horizon = latest > behind ? latest - behind : 0, slowest;
	int err = run_directory_each_file(collector->directory, RECORD_PREFIX, see_record, collector);

	if (!err)
		err = logs_look(collector->logs);
	if (!err)
		err = take_rings(collector);
	slowest = time_of_slowest(collector);
	horizon = slowest < horizon ? slowest : horizon;
	horizon = is_ended ? UINT64_MAX : horizon;
	if (!err)
		err = logs_take(collector->logs, horizon, is_ended);
	for (size_t i = 0; i < collector->process_count && !err; i++) {
		struct collected_process *process = &collector->processes[i];

		/* each time: names are looked up when accesses are applied, and it may have ended by then */
		if (process->is_stale)
			(void)process_map_refresh(process->map, process->base);
		process->is_stale = true;
	}
	if (!err)
		err = access_history_advance(collector->history, horizon);
	return err;
}

int
collector_poll(struct collector *collector)
{
	int err = take_all(collector, false);

	if (!err)
		ask_for_weight(collector);
	return err;
}

/* ---- names ---- */

static int
compare_places(const void *a, const void *b)
{
	const struct collected_place *one = a, *other = b;

	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	return (one->instruction > other->instruction) - (one->instruction < other->instruction);
}

/* The profile's number of an instruction, which the code log numbers through all blocks. */
static uint32_t
place_of(struct collector *collector, const struct code_read *code, const struct image_table *images,
         uint32_t instruction)
{
	size_t at = ARRAY_LOWER_BOUND(code->blocks + 1, code->block_count - 1, first, (uint64_t)instruction + 1);
	const struct code_read_block *block = &code->blocks[at];
	uint64_t offset = block->offset;

	if (!at || instruction - block->first >= block->instruction_count)
		return names_place(collector->names, NULL, 0, 0);
	for (uint32_t i = block->first; i < instruction; i++)
		offset += block->sizes[i - block->first];
	return names_place(collector->names, block->image ? image_table_get(images, block->image - 1) : NULL, offset,
	                   offset);
}

/* Name the instructions of one process; named[]: the profile's number of each, by its number here. */
static int
name_places_of(struct collector *collector, const struct collected_place *places, size_t count, uint32_t *named)
{
	const struct collected_process *process = &collector->processes[places[0].process];
	struct image_table *images = image_table_new();
	struct record_reading reading = {.fd = -1};
	int err = images ? record_reading_init(&reading, process->fd, images) : -ENOMEM;

	for (size_t i = 0; i < count && err != -ENOMEM; i++) {
		const uint32_t number = err ? names_place(collector->names, NULL, 0, 0)
		                            : place_of(collector, &reading.code, images, places[i].instruction);

		named[places[i].number] = number;
		if (number == MEMORY_NOTHING)
			err = -ENOMEM;
	}
	record_reading_fini(&reading);
	image_table_free(images);
	return err == -ENOMEM ? err : 0;
}

static int
name_places(struct collector *collector)
{
	struct memory_profile *profile = collector->profile;
	const size_t count = collector->places.count;
	struct collected_place *places = calloc(count + 1, sizeof(*places));
	uint32_t *named = calloc(count + 1, sizeof(*named));
	int err = places && named ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !err; i++) {
		const uint64_t *key = numbers_key(&collector->places, i);

		places[i] = (struct collected_place){(uint32_t)key[0], (uint32_t)key[1], i};
	}
	if (!err)
		qsort(places, count, sizeof(*places), compare_places);
	for (size_t i = 0, next; i < count && !err; i = next) {
		for (next = i + 1; next < count && places[next].process == places[i].process; next++)
			;
		err = name_places_of(collector, places + i, next - i, named);
	}
	for (size_t i = 0; i < profile->access_count && !err; i++)
		profile->accesses[i].place = named[profile->accesses[i].place];
	free(places);
	free(named);
	return err;
}

/* ---- the end ---- */

static void
add_totals(struct collector *collector)
{
	const struct machine *machine = &collector->setup->machine;
	struct memory_totals *totals = &collector->profile->totals;
	const double cycles_per_ns = machine->clock_mhz / 1000;

	logs_add_totals(collector->logs, totals);
	logs_say_faults(collector->logs);
	for (size_t i = 0; i < collector->process_count; i++) {
		const struct collected_process *process = &collector->processes[i];

		totals->untracked += !logs_has(collector->logs, process->number);
		for (unsigned vcpu = 0; vcpu < process->header.vcpu_count; vcpu++) {
			struct record_access_head head;

			if (code_read_at(process->fd, &head, sizeof(head), ring_of(vcpu)))
				continue;
			totals->counted += head.counted;
			totals->lost_accesses += head.lost;
		}
	}
	totals->nodes = machine->nodes;
	totals->node_cores = machine->cores / machine->nodes;
	totals->clock_khz = (uint64_t)lround(machine->clock_mhz * 1000);
	totals->local_cycles = (uint64_t)lround(machine->loads[0].latency_ns * cycles_per_ns);
	totals->remote_cycles = (uint64_t)lround(machine->remote_latency_ns * cycles_per_ns);
	totals->line_bytes = machine->line_bytes;
}

int
collector_finish(struct collector *collector)
{
	int err = take_all(collector, true);

	if (!err)
		err = access_history_finish(collector->history, 0,
		                            (uint64_t)lround(collector->setup->machine.clock_mhz * 1000));
	if (!err)
		err = logs_name_sites(collector->logs, collector->names);
	if (!err)
		err = name_places(collector);
	if (!err)
		err = names_add_types(collector->names);
	add_totals(collector);
	return err;
}

size_t
collector_site_hashes(const struct collector *collector, uint32_t site, uint64_t *hashes, size_t max)
{
	return logs_site_hashes(collector->logs, site, hashes, max);
}
