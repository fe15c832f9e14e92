#include "dcpi-tools/mem/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "dcpi-tools/mem/names.h"
#include "memory/access_history.h"
#include "memory/object_log.h"
#include "process/hash.h"

#define READ_AT_ONCE 1024 /* accesses of a ring */
#define QUANTA       4    /* by which a thread may be behind the one that is ahead */

/* A process and program that is emulated. */
struct collected_process {
	int fd; /* of its record, also to write */
	struct record_header header;
	uint32_t number; /* the history's, and the profile's */
	struct process_map *map;
	uint64_t base; /* of its memory */
	bool has_log;
	bool is_stale; /* something was not in the map */
};

struct collected_log {
	struct object_log_reader *reader;
	int pid, number;
	uint32_t process; /* its index; MEMORY_NOTHING: its record was not seen yet */
	bool is_broken;
};

/* What has a number of ours until it has one of the profile's: a call chain, or an instruction. */
struct unnamed {
	uint32_t key[2]; /* the log and its site; the process and its instruction */
	uint32_t number;
	uint32_t named; /* the profile's; MEMORY_NOTHING: not yet */
	uint64_t hash;  /* of a call chain */
	UT_hash_handle hh;
};

/* By key, and by number. */
struct unnamed_list {
	struct unnamed *by_key;
	struct unnamed **list;
	size_t count, room;
};

struct collector {
	struct memory_profile *profile;
	const struct setup *setup;
	char directory[PATH_MAX];
	struct access_history *history;
	struct names *names;
	struct collected_process *processes;
	size_t process_count, process_room;
	struct collected_log *logs;
	size_t log_count, log_room;
	struct unnamed_list sites, places;
	uint32_t weight; /* that plugins were asked for */
	uint32_t of_log; /* whose events are taken */
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
	region->is_ours =
		region->kind == MEMORY_FILE && strncmp(memory_profile_text(collector->profile, region->name),
	                                               collector->directory, strlen(collector->directory)) == 0;
}

struct collector *
collector_new(struct memory_profile *profile, const struct setup *setup, const char *directory, size_t access_max)
{
	struct collector *collector = calloc(1, sizeof(*collector));

	if (!collector)
		return NULL;
	collector->profile = profile;
	collector->setup = setup;
	snprintf(collector->directory, sizeof(collector->directory), "%s", directory);
	collector->weight = 1;
	collector->history = access_history_new(profile, access_max, find_region, collector);
	collector->names = names_new(profile);
	if (collector->history && collector->names)
		return collector;
	collector_free(collector);
	return NULL;
}

static void
free_unnamed(struct unnamed_list *list)
{
	HASH_FREE_ALL(list->by_key);
	free(list->list);
}

void
collector_free(struct collector *collector)
{
	if (!collector)
		return;
	for (size_t i = 0; i < collector->process_count; i++) {
		close(collector->processes[i].fd);
		process_map_free(collector->processes[i].map);
	}
	for (size_t i = 0; i < collector->log_count; i++)
		object_log_reader_free(collector->logs[i].reader);
	free(collector->processes);
	free(collector->logs);
	free_unnamed(&collector->sites);
	free_unnamed(&collector->places);
	access_history_free(collector->history);
	names_free(collector->names);
	free(collector);
}

/* Our number of a key. MEMORY_NOTHING: no memory. */
static uint32_t
number_of(struct unnamed_list *list, uint32_t first, uint32_t second)
{
	const uint32_t key[2] = {first, second};
	struct unnamed *found, **place;

	HASH_FIND(hh, list->by_key, key, sizeof(key), found);
	if (found)
		return found->number;
	found = calloc(1, sizeof(*found));
	if (!found)
		return MEMORY_NOTHING;
	memcpy(found->key, key, sizeof(key));
	found->number = (uint32_t)list->count;
	found->named = MEMORY_NOTHING;
	place = ARRAY_APPEND(list->list, list->count, list->room);
	if (place)
		HASH_ADD(hh, list->by_key, key, sizeof(key), found);
	if (!place || !hash_added(found)) {
		free(found);
		return MEMORY_NOTHING;
	}
	*place = found;
	return found->number;
}

/* ---- processes, and their logs ---- */

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

/* To write, too: what was read is given back. -1 and errno. */
static int
open_again(const struct collector *collector, const char *prefix, const struct run_file *file)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s%d.%d", collector->directory, prefix, file->pid, file->number);
	return open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
}

static int
add_process(struct collector *collector, const struct run_file *file, const struct record_header *header)
{
	const struct collected_process *parent =
		header->parent ? process_at(collector, header->parent, header->start_cycles) : NULL;
	const uint32_t name = memory_profile_add_text(collector->profile, header->comm);
	const int fd = open_again(collector, RECORD_PREFIX, file);
	struct collected_process *process;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	process = ARRAY_APPEND(collector->processes, collector->process_count, collector->process_room);
	if (!process) {
		close(fd);
		return -ENOMEM;
	}
	*process = (struct collected_process){.fd = fd, .header = *header, .map = process_map_new((uint32_t)file->pid)};
	process->number =
		access_history_add_process(collector->history, (uint32_t)file->pid, (uint32_t)file->number, name,
	                                   parent ? parent->number : MEMORY_NOTHING, header->start_cycles);
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
	if (file->fd < 0 || code_read_at(file->fd, &header, sizeof(header), 0) || header.magic != RECORD_MAGIC)
		return 0; /* it is being made, or is damaged, which those say who read the rest of it */
	header.comm[sizeof(header.comm) - 1] = '\0';
	return add_process(collector, file, &header);
}

static int
see_log(void *context, const struct run_file *file)
{
	struct collector *collector = context;
	struct object_log_reader *reader;
	struct collected_log *log;
	int fd;

	for (size_t i = 0; i < collector->log_count; i++) {
		if (collector->logs[i].pid == file->pid && collector->logs[i].number == file->number)
			return 0;
	}
	fd = open_again(collector, OBJECT_LOG_PREFIX, file);
	reader = fd < 0 ? NULL : object_log_reader_new(fd);
	if (fd >= 0)
		close(fd);
	if (!reader)
		return errno == ENOMEM ? -ENOMEM : 0;                 /* it is being made, or is none */
	if (object_log_reader_clock(reader) != OBJECT_CLOCK_TARGET) { /* of a program that is not emulated */
		object_log_reader_free(reader);
		return 0;
	}
	log = ARRAY_APPEND(collector->logs, collector->log_count, collector->log_room);
	if (!log) {
		object_log_reader_free(reader);
		return -ENOMEM;
	}
	*log = (struct collected_log){reader, file->pid, file->number, MEMORY_NOTHING, false};
	return 0;
}

static int
look_for_files(struct collector *collector)
{
	int err = run_directory_each_file(collector->directory, RECORD_PREFIX, see_record, collector);

	if (!err)
		err = run_directory_each_file(collector->directory, OBJECT_LOG_PREFIX, see_log, collector);
	for (size_t i = 0; i < collector->log_count && !err; i++) {
		struct collected_log *log = &collector->logs[i];
		struct collected_process *process;

		if (log->process != MEMORY_NOTHING)
			continue;
		process = process_at(collector, log->pid, object_log_reader_began(log->reader));
		if (!process)
			continue;
		log->process = (uint32_t)(process - collector->processes);
		process->has_log = true;
	}
	return err;
}

/* ---- events and accesses ---- */

static int
take_event(void *context, uint32_t tid, const struct object_log_event *event)
{
	struct collector *collector = context;
	struct object_log_event taken = *event;

	if (taken.site != OBJECT_LOG_NO_SITE) {
		const uint32_t number = number_of(&collector->sites, collector->of_log, taken.site);

		if (number == MEMORY_NOTHING)
			return -ENOMEM;
		taken.site = number + 1;
	}
	return access_history_event(collector->history, collector->logs[collector->of_log].process, tid, &taken);
}

static int
take_logs(struct collector *collector, uint64_t horizon, bool is_ended)
{
	for (size_t i = 0; i < collector->log_count; i++) {
		struct collected_log *log = &collector->logs[i];
		int err;

		if (log->process == MEMORY_NOTHING || log->is_broken)
			continue;
		collector->of_log = (uint32_t)i;
		err = object_log_reader_take(log->reader, horizon, is_ended, take_event, collector);
		if (err == -ENOMEM)
			return err;
		log->is_broken = err;
	}
	return 0;
}

static int
take_access(struct collector *collector, struct collected_process *process, const struct record_access *access)
{
	const uint32_t place = number_of(&collector->places, process->number, access->instruction);
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

	if (place == MEMORY_NOTHING)
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
		read += count;
		if (pwrite(process->fd, &read, sizeof(read),
		           (off_t)(ring_of(vcpu) + offsetof(struct record_access_head, read))) < 0)
			return err;
	}
	return err;
}

/* Sources take as few samples as are kept. */
static void
ask_for_weight(struct collector *collector)
{
	const uint64_t weight = access_history_weight(collector->history);

	for (size_t i = 0; i < collector->process_count && weight > 1; i++) {
		const struct collected_process *process = &collector->processes[i];

		for (unsigned vcpu = 0; vcpu < process->header.vcpu_count; vcpu++) {
			if (pwrite(process->fd, &weight, sizeof(weight),
			           (off_t)(ring_of(vcpu) + offsetof(struct record_access_head, period))) < 0)
				return; /* it is kept as rarely in any case */
		}
	}
}

static int
take_rings(struct collector *collector)
{
	int err = 0;

	for (size_t i = 0; i < collector->process_count && !err; i++) {
		struct collected_process *process = &collector->processes[i];
		struct record_header header;

		if (code_read_at(process->fd, &header, sizeof(header), 0) || header.vcpu_count > RECORD_VCPUS_MAX)
			continue;
		process->header.vcpu_count = header.vcpu_count;
		process->header.log_size = header.log_size;
		for (unsigned vcpu = 0; vcpu < header.vcpu_count && !err; vcpu++)
			err = take_ring(collector, process, vcpu);
	}
	return err;
}

static int
take_all(struct collector *collector, bool is_ended)
{
	const uint64_t behind = QUANTA * collector->setup->quantum_cycles;
	uint64_t horizon, latest;
	int err = look_for_files(collector);

	if (!err)
		err = take_rings(collector);
	latest = access_history_latest(collector->history);
	horizon = is_ended ? UINT64_MAX : latest > behind ? latest - behind : 0;
	if (!err)
		err = take_logs(collector, horizon, is_ended);
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

/* The site with these frames, which another process of the program has named. MEMORY_NOTHING: none. */
static uint32_t
find_site(const struct memory_profile *profile, const struct memory_site *wanted)
{
	for (size_t i = 0; i < profile->site_count; i++) {
		const struct memory_site *site = &profile->sites[i];

		if (site->name == wanted->name && site->count == wanted->count &&
		    memcmp(profile->frames + site->first, profile->frames + wanted->first,
		           site->count * sizeof(*profile->frames)) == 0)
			return (uint32_t)i;
	}
	return MEMORY_NOTHING;
}

static int
name_site(struct collector *collector, struct unnamed *site)
{
	struct memory_profile *profile = collector->profile;
	const struct collected_log *log = &collector->logs[site->key[0]];
	const struct collected_process *process = &collector->processes[log->process];
	struct memory_site named = {.first = (uint32_t)profile->frame_count};
	uint64_t frames[OBJECT_LOG_FRAMES];
	const unsigned count = object_log_reader_frames(log->reader, site->key[1], frames, &site->hash);
	struct memory_site *added;
	char text[4096];

	for (unsigned i = 0; i < count && frames[i]; i++) {
		const uint32_t place = names_address(collector->names, process->map, frames[i], true);
		uint32_t *frame = place == MEMORY_NOTHING ? NULL : memory_profile_add_frame(profile);

		if (!frame)
			return -ENOMEM;
		*frame = place;
		named.count++;
	}
	if (count) {
		const struct memory_place *place = &profile->places[profile->frames[named.first]];

		if (place->distance)
			snprintf(text, sizeof(text), "%s+0x%" PRIx64, memory_profile_text(profile, place->function),
			         place->distance);
		else
			snprintf(text, sizeof(text), "%s", memory_profile_text(profile, place->function));
	} else {
		snprintf(text, sizeof(text), "[unknown]");
	}
	named.name = memory_profile_add_text(profile, text);
	site->named = find_site(profile, &named);
	if (site->named != MEMORY_NOTHING) {
		profile->frame_count = named.first;
		return 0;
	}
	added = memory_profile_add_site(profile);
	if (!added || named.name == MEMORY_NOTHING)
		return -ENOMEM;
	*added = named;
	site->named = (uint32_t)(added - profile->sites);
	return 0;
}

static int
name_sites(struct collector *collector)
{
	struct memory_profile *profile = collector->profile;

	for (size_t i = 0; i < profile->object_count; i++) {
		struct memory_object *object = &profile->objects[i];
		struct unnamed *site;
		int err = 0;

		if (object->site == MEMORY_NOTHING)
			continue;
		site = collector->sites.list[object->site - 1];
		if (site->named == MEMORY_NOTHING)
			err = name_site(collector, site);
		if (err)
			return err;
		object->site = site->named;
	}
	return 0;
}

static int
compare_places(const void *a, const void *b)
{
	const struct unnamed *one = *(struct unnamed *const *)a, *other = *(struct unnamed *const *)b;

	return memcmp(one->key, other->key, sizeof(one->key[0])) ? (one->key[0] < other->key[0] ? -1 : 1)
	       : one->key[1] != other->key[1]                    ? (one->key[1] < other->key[1] ? -1 : 1)
	                                                         : 0;
}

/* The instruction of a block, by its number. */
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

/* `list`: those of one process. */
static int
name_places_of(struct collector *collector, struct unnamed **list, size_t count)
{
	const struct collected_process *process = &collector->processes[list[0]->key[0]];
	struct image_table *images = image_table_new();
	struct record_reading reading = {.fd = -1};
	int err = images ? record_reading_init(&reading, process->fd, images) : -ENOMEM;

	for (size_t i = 0; i < count && err != -ENOMEM; i++) {
		list[i]->named = err ? names_place(collector->names, NULL, 0, 0)
		                     : place_of(collector, &reading.code, images, list[i]->key[1]);
		if (list[i]->named == MEMORY_NOTHING)
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
	const struct unnamed_list *places = &collector->places;
	struct unnamed **sorted = reallocarray(NULL, places->count + 1, sizeof(*sorted));
	int err = 0;

	if (!sorted)
		return -ENOMEM;
	if (places->count)
		memcpy(sorted, places->list, places->count * sizeof(*sorted));
	qsort(sorted, places->count, sizeof(*sorted), compare_places);
	for (size_t i = 0, next; i < places->count && !err; i = next) {
		for (next = i + 1; next < places->count && sorted[next]->key[0] == sorted[i]->key[0]; next++)
			;
		err = name_places_of(collector, sorted + i, next - i);
	}
	free(sorted);
	for (size_t i = 0; i < profile->access_count && !err; i++)
		profile->accesses[i].place = places->list[profile->accesses[i].place]->named;
	return err;
}

/* ---- the end ---- */

static void
add_totals(struct collector *collector)
{
	const struct machine *machine = &collector->setup->machine;
	struct memory_totals *totals = &collector->profile->totals;
	const double cycles_per_ns = machine->clock_mhz / 1000;

	for (size_t i = 0; i < collector->log_count; i++) {
		struct object_log_counts counts;

		if (object_log_reader_counts(collector->logs[i].reader, &counts))
			continue;
		totals->short_lived += counts.short_lived;
		totals->lost_events += counts.lost;
		totals->unnamed += counts.unnamed;
	}
	for (size_t i = 0; i < collector->process_count; i++) {
		const struct collected_process *process = &collector->processes[i];

		totals->untracked += !process->has_log;
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
		err = name_sites(collector);
	if (!err)
		err = name_places(collector);
	add_totals(collector);
	return err;
}

size_t
collector_site_hashes(const struct collector *collector, uint32_t site, uint64_t *hashes, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < collector->sites.count && count < max; i++) {
		if (collector->sites.list[i]->named == site)
			hashes[count++] = collector->sites.list[i]->hash;
	}
	return count;
}
