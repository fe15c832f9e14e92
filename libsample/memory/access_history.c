#include "memory/access_history.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "memory/numbers.h"
#include "memory/object_event.h"
#include "memory/object_map.h"
#include "process/hash.h"

#define WEIGHT_MAX (UINT32_C(1) << 30)
#define LEFT_OUT   (MEMORY_NOTHING - 1) /* the number of a region whose accesses are left out */

enum pending_kind {
	PENDING_FORK,
	PENDING_EVENT,
	PENDING_ACCESS,
};

/* Something that arrived and is not applied yet. */
struct pending {
	uint64_t time, sequence; /* at one time, ends are applied first, then what arrived first */
	uint32_t process;
	enum pending_kind kind;
	union {
		uint32_t parent;
		struct {
			struct object_log_event event;
			uint32_t tid;
		};
		struct access_sample sample;
	};
};

/* An object that has accesses. */
struct sampled_object {
	uint64_t address;
	uint32_t number; /* the profile's */
	UT_hash_handle hh;
};

struct history_process {
	struct object_map *objects; /* that were logged */
	struct object_map *regions; /* that were asked for; `number` is the profile's object */
	struct sampled_object *sampled;
};

struct access_history {
	struct memory_profile *profile;
	size_t access_max;
	access_history_find *find;
	void *context;
	struct history_process *processes;
	size_t process_count, process_room;
	struct pending *pending;
	size_t pending_count, pending_room;
	uint64_t sequence, applied, latest; /* applied: up to this time */
	uint32_t weight, random;
	struct numbers makers; /* key: a site or a name, and whether it is a name */
	uint32_t *made;        /* by maker: its objects so far, which are numbered from 1 on */
	size_t made_count, made_room;
	struct numbers threads; /* key: process, tid; the numbers are the profile's */
};

struct access_history *
access_history_new(struct memory_profile *profile, size_t access_max, access_history_find *find, void *context)
{
	struct access_history *history = calloc(1, sizeof(*history));

	if (!history)
		return NULL;
	history->profile = profile;
	history->access_max = access_max;
	history->find = find;
	history->context = context;
	history->weight = 1;
	history->random = 1;
	return history;
}

void
access_history_free(struct access_history *history)
{
	if (!history)
		return;
	for (size_t i = 0; i < history->process_count; i++) {
		object_map_free(history->processes[i].objects);
		object_map_free(history->processes[i].regions);
		HASH_FREE_ALL(history->processes[i].sampled);
	}
	free(history->processes);
	free(history->pending);
	numbers_fini(&history->makers);
	numbers_fini(&history->threads);
	free(history->made);
	free(history);
}

uint32_t
access_history_weight(const struct access_history *history)
{
	return history->weight;
}

uint64_t
access_history_latest(const struct access_history *history)
{
	return history->latest;
}

/* ---- numbers ---- */

/* The next number of a site, or of a name. 0: no memory. */
static uint32_t
next_number(struct access_history *history, uint32_t site, bool is_name)
{
	const uint32_t maker = numbers_of(&history->makers, site, is_name);

	if (maker == NUMBER_NONE)
		return 0;
	while (maker >= history->made_count) {
		uint32_t *made = ARRAY_APPEND(history->made, history->made_count, history->made_room);

		if (!made)
			return 0;
		*made = 0;
	}
	return ++history->made[maker];
}

/* The profile's number of a thread. MEMORY_NOTHING: no memory. */
static uint32_t
number_of_thread(struct access_history *history, uint32_t process, uint32_t tid)
{
	const uint32_t number = numbers_of(&history->threads, process, tid);
	struct memory_thread *thread;

	if (number == NUMBER_NONE)
		return MEMORY_NOTHING;
	if (number == history->profile->thread_count) {
		thread = memory_profile_add_thread(history->profile);
		if (!thread)
			return MEMORY_NOTHING;
		*thread = (struct memory_thread){process, tid};
	}
	return number;
}

/* ---- objects that begin and end ---- */

static bool
is_end(const struct pending *pending)
{
	return pending->kind == PENDING_EVENT && object_event_ends(&pending->event);
}

/* The context of end_sampled(). */
struct ending {
	struct access_history *history;
	struct history_process *process;
	uint64_t time;
};

static void
end_sampled(void *context, const struct object *object)
{
	const struct ending *ending = context;
	struct sampled_object *sampled;

	HASH_FIND(hh, ending->process->sampled, &object->address, sizeof(object->address), sampled);
	if (!sampled)
		return;
	ending->history->profile->objects[sampled->number].died_ns = ending->time;
	HASH_DEL(ending->process->sampled, sampled);
	free(sampled);
}

static enum memory_kind
kind_of(uint8_t kind)
{
	switch (kind) {
	case OBJECT_MAPPED:
		return MEMORY_MAPPING;
	case OBJECT_STACK:
		return MEMORY_STACK;
	case OBJECT_THREAD_LOCAL:
		return MEMORY_THREAD_LOCAL;
	default:
		return MEMORY_HEAP;
	}
}

/* The object that the event makes. What is known of the memory is over. 0 or -ENOMEM. */
static int
begin_object(struct access_history *history, const struct pending *pending, struct object *object)
{
	const struct history_process *process = &history->processes[pending->process];

	object->kind = (uint16_t)kind_of(pending->event.kind);
	object->node = 0;
	if (object->site != OBJECT_LOG_NO_SITE) {
		object->number = next_number(history, object->site, false);
		if (!object->number)
			return -ENOMEM;
	}
	return object_map_cut(process->regions, object->address, object->size, NULL, NULL);
}

/* What has accesses has the largest size that it ever had. */
static void
enlarge_sampled(const struct access_history *history, const struct history_process *process, uint64_t address)
{
	const struct object *object = object_map_find(process->objects, address);
	struct sampled_object *sampled;

	HASH_FIND(hh, process->sampled, &address, sizeof(address), sampled);
	if (sampled && object && history->profile->objects[sampled->number].size < object->size)
		history->profile->objects[sampled->number].size = object->size;
}

/* Whether the object is there already: what a process kept of its log may be in the log, too. */
static bool
is_known(const struct history_process *process, const struct object *object)
{
	const struct object *known = object_map_find(process->objects, object->address);

	return known && known->address == object->address && known->born == object->born;
}

static int
apply_event(struct access_history *history, const struct pending *pending)
{
	const struct object_log_event *event = &pending->event;
	struct ending ending = {history, &history->processes[pending->process], pending->time};
	struct object object;
	int err = 0;

	if (object_event_makes(event)) {
		if (!object_event_object(event, pending->tid, &object) || is_known(ending.process, &object))
			return 0;
		err = begin_object(history, pending, &object);
		return err ? err : object_event_apply(ending.process->objects, event, &object, end_sampled, &ending);
	}
	if (event->kind == OBJECT_UNMAPPED && event->size)
		err = object_map_cut(ending.process->regions, event->address, event->size, NULL, NULL);
	if (!err)
		err = object_event_apply(ending.process->objects, event, NULL, end_sampled, &ending);
	if (!err && event->kind == OBJECT_RESIZED)
		enlarge_sampled(history, ending.process, event->address);
	return err;
}

/* ---- accesses ---- */

/* Names of objects whose maker is not known. */
static const char *const unnamed[MEMORY_KINDS] = {
	[MEMORY_HEAP] = "[heap]",       [MEMORY_MAPPING] = "[mapping]", [MEMORY_STATIC] = "[static]",
	[MEMORY_FILE] = "[file]",       [MEMORY_STACK] = "[stack]",     [MEMORY_THREAD_LOCAL] = "[thread-local]",
	[MEMORY_UNKNOWN] = "[unknown]",
};

/* The profile's number of an object that has its first access. MEMORY_NOTHING: no memory. */
static uint32_t
enter_object(struct access_history *history, uint32_t process, const struct object *object)
{
	const uint32_t number = (uint32_t)history->profile->object_count;
	struct history_process *of = &history->processes[process];
	struct sampled_object *sampled = calloc(1, sizeof(*sampled));
	struct memory_object *entered;
	uint32_t thread, name;

	if (!sampled)
		return MEMORY_NOTHING;
	sampled->address = object->address;
	sampled->number = number;
	HASH_ADD(hh, of->sampled, address, sizeof(sampled->address), sampled);
	if (!hash_added(sampled)) {
		free(sampled);
		return MEMORY_NOTHING;
	}
	name = memory_profile_add_text(history->profile, unnamed[object->kind]);
	thread = number_of_thread(history, process, object->tid);
	entered = memory_profile_add_object(history->profile);
	if (!entered || thread == MEMORY_NOTHING || name == MEMORY_NOTHING)
		return MEMORY_NOTHING;
	*entered = (struct memory_object){
		.address = object->address,
		.size = object->size,
		.born_ns = object->born,
		.died_ns = MEMORY_ALIVE,
		.process = process,
		.site = object->site == OBJECT_LOG_NO_SITE ? MEMORY_NOTHING : object->site,
		.name = name,
		.number = object->number ? object->number : next_number(history, name, true),
		.thread = thread,
		.kind = (uint8_t)object->kind,
	};
	return number;
}

static uint32_t
number_of_object(struct access_history *history, uint32_t process, const struct object *object)
{
	struct sampled_object *sampled;

	HASH_FIND(hh, history->processes[process].sampled, &object->address, sizeof(object->address), sampled);
	return sampled ? sampled->number : enter_object(history, process, object);
}

/* Enter an object for a region. Its number; MEMORY_NOTHING: no memory. */
static uint32_t
enter_region(struct access_history *history, uint32_t process, const struct memory_region *region)
{
	const uint32_t number = (uint32_t)history->profile->object_count;
	struct memory_object *entered;

	if (region->is_ours)
		return LEFT_OUT;
	entered = memory_profile_add_object(history->profile);
	if (!entered)
		return MEMORY_NOTHING;
	*entered = (struct memory_object){
		.address = region->address,
		.size = region->size,
		.died_ns = MEMORY_ALIVE,
		.process = process,
		.site = MEMORY_NOTHING,
		.name = region->name,
		.number = next_number(history, region->name, true),
		.thread = MEMORY_NOTHING,
		.kind = (uint8_t)region->kind,
	};
	return number;
}

/* The profile's number of what is at an address where no object was logged. MEMORY_NOTHING: no memory. */
static uint32_t
find_region(struct access_history *history, uint32_t process, uint64_t address)
{
	struct memory_region region = {.size = 0};
	struct object_map *regions = history->processes[process].regions;
	const struct object *known = object_map_find(regions, address);
	uint32_t number;

	if (known)
		return known->number;
	history->find(history->context, process, address, &region);
	if (region.size == 0 || region.address > address || address - region.address >= region.size ||
	    region.address >= UINT64_MAX - region.size)
		region = (struct memory_region){
			.address = address & ~UINT64_C(4095), .size = 4096, .kind = MEMORY_UNKNOWN};
	if (!region.name)
		region.name = memory_profile_add_text(history->profile, unnamed[region.kind]);
	number = enter_region(history, process, &region);
	if (number == MEMORY_NOTHING ||
	    object_map_add(regions, &(struct object){.address = region.address, .size = region.size, .number = number},
	                   NULL, NULL))
		return MEMORY_NOTHING;
	return number;
}

/* Whether the access is kept, and what it then stands for. */
static bool
weigh(struct access_history *history, uint32_t *weight)
{
	if (*weight >= history->weight)
		return true;
	history->random = history->random * 1664525 + 1013904223;
	if ((uint64_t)(history->random >> 8) * history->weight >> 24 >= *weight)
		return false;
	*weight = history->weight;
	return true;
}

static int
apply_access(struct access_history *history, const struct pending *pending)
{
	struct memory_profile *profile = history->profile;
	const struct access_sample *sample = &pending->sample;
	uint32_t weight = sample->weight ? sample->weight : 1;
	const struct object *object;
	struct memory_access *access;
	uint32_t number, thread;

	if (!weigh(history, &weight))
		return 0;
	object = object_map_find(history->processes[pending->process].objects, sample->address);
	number = object ? number_of_object(history, pending->process, object)
	                : find_region(history, pending->process, sample->address);
	if (number == LEFT_OUT)
		return 0;
	thread = number_of_thread(history, pending->process, sample->tid);
	access = memory_profile_add_access(profile);
	if (number == MEMORY_NOTHING || thread == MEMORY_NOTHING || !access)
		return -ENOMEM;
	*access = (struct memory_access){
		.time_ns = pending->time,
		.offset = sample->address - profile->objects[number].address,
		.object = number,
		.thread = thread,
		.place = sample->place,
		.cycles = sample->cycles,
		.cost = sample->cost,
		.weight = weight,
		.node = sample->node,
		.page_node = sample->page_node,
		.level = sample->level,
		.flags = sample->flags,
	};
	if (profile->access_count >= history->access_max && history->weight < WEIGHT_MAX) {
		memory_profile_thin(profile);
		history->weight *= 2;
	}
	return 0;
}

/* ---- what arrives ---- */

static struct pending *
append(struct access_history *history, uint32_t process, uint64_t time)
{
	struct pending *pending = ARRAY_APPEND(history->pending, history->pending_count, history->pending_room);

	if (!pending)
		return NULL;
	pending->time = time;
	pending->sequence = history->sequence++;
	pending->process = process;
	if (time > history->latest)
		history->latest = time;
	return pending;
}

/* What should have been applied before what was. An end is not counted: its object lived for a moment too long. */
static void
count_late(struct access_history *history, const struct pending *pending)
{
	if (pending->time < history->applied && !is_end(pending))
		history->profile->totals.late_events++;
}

uint32_t
access_history_add_process(struct access_history *history, uint32_t pid, uint32_t number, uint32_t name,
                           uint32_t parent, uint64_t time)
{
	const uint32_t added = (uint32_t)history->process_count;
	struct memory_process *process = memory_profile_add_process(history->profile);
	struct history_process *here = ARRAY_APPEND(history->processes, history->process_count, history->process_room);
	struct pending *fork;

	if (!process || !here)
		return MEMORY_NOTHING;
	*process = (struct memory_process){pid, number, name};
	*here = (struct history_process){object_map_new(NULL), object_map_new(NULL), NULL};
	if (!here->objects || !here->regions)
		return MEMORY_NOTHING;
	if (parent < added) {
		fork = append(history, added, time);
		if (!fork)
			return MEMORY_NOTHING;
		fork->kind = PENDING_FORK;
		fork->parent = parent;
		count_late(history, fork);
	}
	return added;
}

int
access_history_event(struct access_history *history, uint32_t process, uint32_t tid,
                     const struct object_log_event *event)
{
	struct pending *pending = append(history, process, event->time);

	if (!pending)
		return -ENOMEM;
	pending->kind = PENDING_EVENT;
	pending->event = *event;
	pending->tid = tid;
	count_late(history, pending);
	return 0;
}

int
access_history_access(struct access_history *history, uint32_t process, const struct access_sample *sample)
{
	struct pending *pending = append(history, process, sample->time);

	if (!pending)
		return -ENOMEM;
	pending->kind = PENDING_ACCESS;
	pending->sample = *sample;
	count_late(history, pending);
	return 0;
}

/* For object_map_each(). */
struct map_copy {
	struct ending to;
	int err;
};

static void
copy_object(void *context, const struct object *object)
{
	struct map_copy *copying = context;

	if (!copying->err)
		copying->err = object_map_add(copying->to.process->objects, object, end_sampled, &copying->to);
}

static int
apply(struct access_history *history, const struct pending *pending)
{
	struct map_copy copying = {.to = {history, &history->processes[pending->process], pending->time}};

	if (pending->kind == PENDING_ACCESS)
		return apply_access(history, pending);
	if (pending->kind == PENDING_EVENT)
		return apply_event(history, pending);
	object_map_each(history->processes[pending->parent].objects, copy_object, &copying);
	return copying.err;
}

static int
compare_pending(const void *a, const void *b)
{
	const struct pending *one = a, *other = b;

	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	if (is_end(one) != is_end(other)) /* memory is freed by one thread before another gets it */
		return is_end(one) ? -1 : 1;
	return (one->sequence > other->sequence) - (one->sequence < other->sequence);
}

/* Move those up to `horizon` to the front, in any order: only they are sorted, each once. How many they are. */
static size_t
gather_ready(struct access_history *history, uint64_t horizon)
{
	size_t ready = 0;

	for (size_t i = 0; i < history->pending_count; i++) {
		struct pending pending;

		if (history->pending[i].time > horizon)
			continue;
		pending = history->pending[ready];
		history->pending[ready++] = history->pending[i];
		history->pending[i] = pending;
	}
	return ready;
}

int
access_history_advance(struct access_history *history, uint64_t horizon)
{
	const size_t ready = gather_ready(history, horizon), left = history->pending_count - ready;
	const size_t moved = left < ready ? left : ready;
	int err = 0;

	if (ready > 1)
		qsort(history->pending, ready, sizeof(*history->pending), compare_pending);
	for (size_t i = 0; i < ready && !err; i++)
		err = apply(history, &history->pending[i]);
	/* those behind fill the places in front: they are in no order */
	if (moved)
		memcpy(history->pending, history->pending + history->pending_count - moved,
		       moved * sizeof(*history->pending));
	history->pending_count = left;
	if (horizon > history->applied)
		history->applied = horizon;
	return err;
}

/* ---- the end ---- */

static uint64_t
ns_of(uint64_t time, uint64_t start, uint64_t khz)
{
	return time > start ? (uint64_t)((unsigned __int128)(time - start) * 1000000U / khz) : 0;
}

static int
compare_accesses(const void *a, const void *b)
{
	const struct memory_access *one = a, *other = b;

	return (one->time_ns > other->time_ns) - (one->time_ns < other->time_ns);
}

int
access_history_finish(struct access_history *history, uint64_t start, uint64_t khz)
{
	struct memory_profile *profile = history->profile;
	int err = access_history_advance(history, UINT64_MAX);

	for (size_t i = 0; i < profile->access_count; i++)
		profile->accesses[i].time_ns = ns_of(profile->accesses[i].time_ns, start, khz);
	for (size_t i = 0; i < profile->object_count; i++) {
		struct memory_object *object = &profile->objects[i];

		object->born_ns = ns_of(object->born_ns, start, khz);
		if (object->died_ns != MEMORY_ALIVE)
			object->died_ns = ns_of(object->died_ns, start, khz);
	}
	if (profile->access_count > 1)
		qsort(profile->accesses, profile->access_count, sizeof(*profile->accesses), compare_accesses);
	return err;
}
