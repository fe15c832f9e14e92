#include "dcpi-tools/mem/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emulated/run_directory.h"
#include "memory/live_objects.h"
#include "memory/numbers.h"
#include "memory/object_event.h"
#include "memory/object_map.h"

struct log_file {
	struct object_log_reader *reader;
	int pid, number;
	uint32_t process; /* the history's; MEMORY_NOTHING: not known yet */
	bool is_broken;
	bool is_ancestors; /* another process's, from which `process` has objects; it is read no further */
};

/* A call chain of a log. */
struct log_site {
	uint32_t named; /* the profile's; MEMORY_NOTHING: not yet */
	uint64_t hash;
};

struct logs {
	struct access_history *history;
	struct memory_profile *profile;
	char directory[PATH_MAX];
	bool is_target;
	struct log_processes processes;
	struct log_file *logs;
	size_t count, room;
	struct numbers numbers; /* key: which of the logs, its site */
	struct log_site *sites; /* by these numbers */
	size_t site_count, site_room;
	uint32_t of_log;                  /* which of the logs is being read */
	unsigned parents_missing;         /* logs of parents that are not there */
	unsigned read_elsewhere, damaged; /* logs that were left out, or are read no further */
};

struct logs *
logs_new(struct access_history *history, struct memory_profile *profile, const char *directory, bool is_target,
         const struct log_processes *processes)
{
	struct logs *logs = calloc(1, sizeof(*logs));

	if (!logs)
		return NULL;
	logs->history = history;
	logs->profile = profile;
	logs->is_target = is_target;
	logs->processes = *processes;
	snprintf(logs->directory, sizeof(logs->directory), "%s", directory);
	return logs;
}

void
logs_free(struct logs *logs)
{
	if (!logs)
		return;
	for (size_t i = 0; i < logs->count; i++)
		object_log_reader_free(logs->logs[i].reader);
	free(logs->logs);
	numbers_fini(&logs->numbers);
	free(logs->sites);
	free(logs);
}

/* ---- files ---- */

/* The file of a process whose name begins so. -1: errno. */
static int
open_file(const struct logs *logs, const char *prefix, int pid, int number, int flags)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s%d.%d", logs->directory, prefix, pid, number);
	return open(path, flags | O_NOFOLLOW | O_CLOEXEC);
}

/* NULL: errno. */
static struct object_log_reader *
open_log(const struct logs *logs, int pid, int number, int flags)
{
	const int fd = open_file(logs, OBJECT_LOG_PREFIX, pid, number, flags);
	struct object_log_reader *reader = fd < 0 ? NULL : object_log_reader_new(fd);
	const int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return reader;
}

static int
see_log(void *context, const struct run_file *file)
{
	struct logs *logs = context;
	struct object_log_reader *reader;
	struct log_file *log;

	for (size_t i = 0; i < logs->count; i++) {
		if (logs->logs[i].pid == file->pid && logs->logs[i].number == file->number &&
		    !logs->logs[i].is_ancestors)
			return 0;
	}
	reader = open_log(logs, file->pid, file->number, O_RDWR); /* chunks that were read are given back */
	if (!reader)
		return errno == ENOMEM ? -ENOMEM : 0; /* it is being made, or is none */
	if ((object_log_reader_clock(reader) == OBJECT_CLOCK_TARGET) != logs->is_target) {
		object_log_reader_free(reader);
		return 0;
	}
	log = ARRAY_APPEND(logs->logs, logs->count, logs->room);
	if (!log) {
		object_log_reader_free(reader);
		return -ENOMEM;
	}
	*log = (struct log_file){.reader = reader, .pid = file->pid, .number = file->number, .process = MEMORY_NOTHING};
	return 0;
}

static bool
has_log(const struct logs *logs, uint32_t process)
{
	for (size_t i = 0; i < logs->count; i++) {
		if (logs->logs[i].process == process)
			return true;
	}
	return false;
}

bool
logs_has(const struct logs *logs, uint32_t process)
{
	while (process != MEMORY_NOTHING && !has_log(logs, process))
		process = logs->processes.parent(logs->processes.context, process);
	return process != MEMORY_NOTHING;
}

/* ---- events ---- */

/* The number of a log's site. MEMORY_NOTHING: no memory. */
static uint32_t
number_of_site(struct logs *logs, uint32_t log, uint32_t site)
{
	const uint32_t number = numbers_of(&logs->numbers, log, site);

	if (number == NUMBER_NONE)
		return MEMORY_NOTHING;
	while (number >= logs->site_count) {
		struct log_site *added = ARRAY_APPEND(logs->sites, logs->site_count, logs->site_room);

		if (!added)
			return MEMORY_NOTHING;
		*added = (struct log_site){.named = MEMORY_NOTHING};
	}
	return number;
}

/* Give the event's site its number in the history. False: no memory. */
static bool
number_event(struct logs *logs, struct object_log_event *event)
{
	uint32_t number;

	if (event->site == OBJECT_LOG_NO_SITE)
		return true;
	number = number_of_site(logs, logs->of_log, event->site);
	event->site = number + 1;
	return number != MEMORY_NOTHING;
}

static int
take_event(void *context, uint32_t tid, const struct object_log_event *event)
{
	struct logs *logs = context;
	struct object_log_event taken = *event;

	if (!number_event(logs, &taken))
		return -ENOMEM;
	return access_history_event(logs->history, logs->logs[logs->of_log].process, tid, &taken);
}

/* Which process wrote the log; MEMORY_NOTHING: it is not known yet, or no such process is watched. */
static uint32_t
find_process(const struct logs *logs, const struct log_file *log)
{
	uint64_t began = object_log_reader_began(log->reader);

	if (!logs->is_target)
		began = object_log_reader_time(log->reader, began);
	return logs->processes.find(logs->processes.context, log->pid, began);
}

/* What a process has kept of its log. Without a file of it, that is nothing yet. */
static int
take_live(const struct logs *logs, const struct log_file *log, live_objects_visit *visit, void *context)
{
	const int fd = open_file(logs, LIVE_OBJECTS_PREFIX, log->pid, log->number, O_RDONLY);
	int err;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = live_objects_read(fd, visit, context);
	close(fd);
	return err;
}

/* ---- objects that a process has from its parent ---- */

/* What lives in the ancestors of a process, the oldest's first; its sites have the numbers of the history. */
struct inheritance {
	struct logs *logs;
	struct live_objects *live;
	uint64_t forked; /* CLOCK_MONOTONIC, ns: what the ancestor does later is not the process's */
	uint32_t process;
	int err;
};

/* Stacks and thread-local memory are those of threads that the child does not have. */
static int
keep_event(void *context, uint32_t tid, const struct object_log_event *event)
{
	const struct inheritance *inheritance = context;
	struct object_log_event kept = *event;

	if (event->time > inheritance->forked || event->kind == OBJECT_STACK || event->kind == OBJECT_THREAD_LOCAL)
		return 0;
	if (!number_event(inheritance->logs, &kept))
		return -ENOMEM;
	return live_objects_event(inheritance->live, tid, &kept);
}

static void
give_object(void *context, const struct object *object)
{
	struct inheritance *inheritance = context;
	const struct object_log_event event = object_event_of(object);

	if (!inheritance->err)
		inheritance->err =
			access_history_event(inheritance->logs->history, inheritance->process, object->tid, &event);
}

static bool
is_read_by_us(const struct logs *logs, int pid, int number)
{
	for (size_t i = 0; i < logs->count; i++) {
		const struct log_file *log = &logs->logs[i];

		if (log->pid == pid && log->number == number && log->process != MEMORY_NOTHING && !log->is_ancestors)
			return true;
	}
	return false;
}

/* What a log cannot be read for is counted, and said at the end. Returns -ENOMEM or 0. */
static int
count_fault(struct logs *logs, int err)
{
	if (err == -ENOMEM)
		return err;
	logs->read_elsewhere += err == -EBUSY;
	logs->parents_missing += err == -ENOENT;
	logs->damaged += err && err != -EBUSY && err != -ENOENT;
	return 0;
}

/*
 * Take what lived in an ancestor when the next one was forked. A log that we read already, too, has one reader: it is
 * read without asking, so of what changes meanwhile some may come twice.
 */
static int
read_ancestor(struct inheritance *inheritance, struct object_log_reader *reader)
{
	struct logs *logs = inheritance->logs;
	const struct log_file *log = &logs->logs[logs->of_log];
	int err = is_read_by_us(logs, log->pid, log->number) ? 0 : object_log_reader_claim(reader);

	if (!err && object_log_reader_has_live(reader))
		err = take_live(logs, log, keep_event, inheritance);
	if (!err)
		err = object_log_reader_take(reader, UINT64_MAX, false, keep_event, inheritance);
	live_objects_advance(inheritance->live, UINT64_MAX);
	return count_fault(logs, err);
}

/* For the names of its call chains; it is read only, so its process does not wait for us. 0 or an error. */
static int
add_ancestor(struct inheritance *inheritance, int pid, int number)
{
	struct logs *logs = inheritance->logs;
	struct object_log_reader *reader = open_log(logs, pid, number, O_RDONLY);
	struct log_file *log;

	if (!reader)
		return -errno;
	log = ARRAY_APPEND(logs->logs, logs->count, logs->room);
	if (!log) {
		object_log_reader_free(reader);
		return -ENOMEM;
	}
	*log = (struct log_file){
		.reader = reader, .pid = pid, .number = number, .process = inheritance->process, .is_ancestors = true};
	logs->of_log = (uint32_t)logs->count - 1;
	return 0;
}

/*
 * The parent of the process that wrote a log, after its own parent. An older log has a smaller time at its beginning:
 * so files that name each other end this, and another process that has the parent's pid is none. 0 or -ENOMEM.
 */
static int
take_parent(struct inheritance *inheritance, const struct object_log_reader *child)
{
	struct logs *logs = inheritance->logs;
	struct object_log_reader *reader;
	uint32_t pid, number;
	uint64_t forked;
	int err;

	if (!object_log_reader_parent(child, &pid, &number, &forked))
		return 0;
	reader = open_log(logs, (int)pid, (int)number, is_read_by_us(logs, (int)pid, (int)number) ? O_RDONLY : O_RDWR);
	if (!reader)
		return count_fault(logs, -errno);
	if (object_log_reader_clock(reader) != object_log_reader_clock(child) ||
	    object_log_reader_began(reader) >= object_log_reader_began(child)) {
		object_log_reader_free(reader);
		return count_fault(logs, -ENOENT);
	}
	err = take_parent(inheritance, reader);
	inheritance->forked = object_log_reader_time(reader, forked);
	if (!err) {
		const int added = add_ancestor(inheritance, (int)pid, (int)number);

		err = added ? count_fault(logs, added) : read_ancestor(inheritance, reader);
	}
	object_log_reader_free(reader);
	return err;
}

/*
 * The objects that the process which wrote a log has from its parents. What one has ended since its child's fork, and
 * its log does not say any more, the child may have yet; what a child ended before we read its log, it seems to have.
 * 0 or -ENOMEM.
 */
static int
inherit(struct logs *logs, const struct log_file *log)
{
	struct inheritance inheritance = {.logs = logs, .process = log->process, .live = live_objects_new(NULL)};
	int err = inheritance.live ? take_parent(&inheritance, log->reader) : -ENOMEM;

	if (!err)
		object_map_each(live_objects_map(inheritance.live), give_object, &inheritance);
	live_objects_free(inheritance.live);
	return err ? err : inheritance.err;
}

/* Whether the process has executed another program since. */
static bool
is_of_former_program(const struct logs *logs, const struct log_file *log)
{
	for (size_t i = 0; i < logs->count; i++) {
		if (logs->logs[i].pid == log->pid && logs->logs[i].number > log->number)
			return true;
	}
	return false;
}

/* ---- logs of processes that are known ---- */

/* A log whose process is known now. It is left out if another one reads it. */
static int
begin_log(struct logs *logs, uint32_t number)
{
	struct log_file *log = &logs->logs[number];
	int err = object_log_reader_claim(log->reader);

	log->is_broken = err;
	logs->read_elsewhere += err == -EBUSY;
	logs->damaged += err && err != -EBUSY;
	if (err)
		return 0;
	if (!logs->is_target && logs->processes.parent(logs->processes.context, log->process) == MEMORY_NOTHING &&
	    !is_of_former_program(logs, log))
		err = inherit(logs, log);
	log = &logs->logs[number];
	logs->of_log = number;
	if (err || !object_log_reader_has_live(log->reader))
		return err;
	err = take_live(logs, log, take_event, logs);
	logs->damaged += err && err != -ENOMEM;
	return err == -ENOMEM ? err : 0;
}

int
logs_look(struct logs *logs)
{
	int err = run_directory_each_file(logs->directory, OBJECT_LOG_PREFIX, see_log, logs);

	for (size_t i = 0; i < logs->count && !err; i++) {
		struct log_file *log = &logs->logs[i];

		if (log->process != MEMORY_NOTHING)
			continue;
		log->process = find_process(logs, log);
		if (log->process != MEMORY_NOTHING)
			err = begin_log(logs, (uint32_t)i);
	}
	return err;
}

int
logs_take(struct logs *logs, uint64_t horizon, bool is_ended)
{
	for (size_t i = 0; i < logs->count; i++) {
		struct log_file *log = &logs->logs[i];
		int err;

		if (log->process == MEMORY_NOTHING || log->is_broken || log->is_ancestors)
			continue;
		logs->of_log = (uint32_t)i;
		err = object_log_reader_take(log->reader, horizon, is_ended, take_event, logs);
		if (err == -ENOMEM)
			return err;
		log->is_broken = err;
		logs->damaged += err != 0;
	}
	return 0;
}

/* ---- names ---- */

/* The profile's site with the same frames, of another process of the program. MEMORY_NOTHING: none. */
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
name_site(struct logs *logs, struct names *names, uint32_t number)
{
	struct memory_profile *profile = logs->profile;
	const uint64_t *key = numbers_key(&logs->numbers, number);
	const struct log_file *log = &logs->logs[key[0]];
	const struct process_map *map = logs->processes.map(logs->processes.context, log->process);
	struct log_site *site = &logs->sites[number];
	struct memory_site named = {.first = (uint32_t)profile->frame_count};
	uint64_t frames[OBJECT_LOG_FRAMES];
	const unsigned count = object_log_reader_frames(log->reader, (uint32_t)key[1], frames, &site->hash);
	struct memory_site *added;
	char text[4096];

	for (unsigned i = 0; i < count && frames[i]; i++) {
		const uint32_t place = names_address(names, map, frames[i], true);
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

int
logs_name_sites(struct logs *logs, struct names *names)
{
	struct memory_profile *profile = logs->profile;

	for (size_t i = 0; i < profile->object_count; i++) {
		struct memory_object *object = &profile->objects[i];
		uint32_t number = object->site - 1;
		int err = 0;

		if (object->site == MEMORY_NOTHING)
			continue;
		if (logs->sites[number].named == MEMORY_NOTHING)
			err = name_site(logs, names, number);
		if (err)
			return err;
		object->site = logs->sites[number].named;
	}
	return 0;
}

size_t
logs_site_hashes(const struct logs *logs, uint32_t site, uint64_t *hashes, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < logs->site_count && count < max; i++) {
		if (logs->sites[i].named == site)
			hashes[count++] = logs->sites[i].hash;
	}
	return count;
}

void
logs_add_totals(const struct logs *logs, struct memory_totals *totals)
{
	for (size_t i = 0; i < logs->count; i++) {
		struct object_log_counts counts;

		if (logs->logs[i].is_ancestors || object_log_reader_counts(logs->logs[i].reader, &counts))
			continue;
		totals->short_lived += counts.short_lived;
		totals->lost_events += counts.lost;
		totals->unnamed += counts.unnamed;
	}
}

void
logs_say_faults(const struct logs *logs)
{
	if (logs->read_elsewhere)
		message_print(logs->directory,
		              "another dcpimem reads the objects of %u process%s: they have no names here; "
		              "wait for its end",
		              logs->read_elsewhere, logs->read_elsewhere == 1 ? "" : "es");
	if (logs->parents_missing)
		message_print(logs->directory, "the log of %s is gone: what %s from before the fork has no names",
		              logs->parents_missing == 1 ? "a parent" : "parents",
		              logs->parents_missing == 1 ? "its child has" : "their children have");
	if (logs->damaged)
		message_print(logs->directory,
		              "%u log%s of objects %s damaged, perhaps by the program: what it made after that has no "
		              "names",
		              logs->damaged, text_plural(logs->damaged), logs->damaged == 1 ? "is" : "are");
}
