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

#define ANCESTORS_MAX 64

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
	unsigned orphans;                 /* processes whose parents' logs are gone */
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

static int
take_event(void *context, uint32_t tid, const struct object_log_event *event)
{
	struct logs *logs = context;
	struct object_log_event taken = *event;

	if (taken.site != OBJECT_LOG_NO_SITE) {
		const uint32_t number = number_of_site(logs, logs->of_log, taken.site);

		if (number == MEMORY_NOTHING)
			return -ENOMEM;
		taken.site = number + 1;
	}
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

struct inheritance {
	struct logs *logs;
	uint64_t forked; /* CLOCK_MONOTONIC, ns */
	int err;
};

static int
keep_live(void *context, uint32_t tid, const struct object_log_event *event)
{
	return live_objects_event(context, tid, event);
}

/* Stacks and thread-local memory are those of threads that the child does not have. */
static void
inherit_object(void *context, const struct object *object)
{
	struct inheritance *inheritance = context;
	const struct object_log_event event = object_event_of(object);

	if (!inheritance->err && object->born <= inheritance->forked &&
	    (object->kind == OBJECT_BORN || object->kind == OBJECT_MAPPED))
		inheritance->err = take_event(inheritance->logs, object->tid, &event);
}

/* What lives now in a process, of which `reader` is the log: 0, or an error of reading it. */
static int
read_live(const struct logs *logs, struct object_log_reader *reader, const struct log_file *log,
          struct live_objects *live)
{
	int err = object_log_reader_claim(reader);

	if (!err && object_log_reader_has_live(reader))
		err = take_live(logs, log, keep_live, live);
	if (!err)
		err = object_log_reader_take(reader, UINT64_MAX, false, keep_live, live);
	live_objects_advance(live, UINT64_MAX);
	return err;
}

/* `reader` is of the log of who forked it at `forked`, whose objects are the history's from now on. 0 or -ENOMEM. */
static int
take_from_parent(struct logs *logs, struct object_log_reader *reader, uint64_t forked)
{
	struct inheritance inheritance = {.logs = logs, .forked = forked};
	struct live_objects *live = live_objects_new(NULL);
	int err = live ? read_live(logs, reader, &logs->logs[logs->of_log], live) : -ENOMEM;

	logs->read_elsewhere += err == -EBUSY;
	logs->damaged += err && err != -EBUSY && err != -ENOMEM;
	if (live)
		object_map_each(live_objects_map(live), inherit_object, &inheritance);
	live_objects_free(live);
	return err == -ENOMEM ? err : inheritance.err;
}

/* For the names of its call chains; it is read only, so its process does not wait for us. */
static int
add_ancestor(struct logs *logs, int pid, int number, uint32_t process)
{
	struct object_log_reader *reader = open_log(logs, pid, number, O_RDONLY);
	struct log_file *log = reader ? ARRAY_APPEND(logs->logs, logs->count, logs->room) : NULL;

	if (!log) {
		object_log_reader_free(reader);
		return -ENOMEM;
	}
	*log = (struct log_file){
		.reader = reader, .pid = pid, .number = number, .process = process, .is_ancestors = true};
	logs->of_log = (uint32_t)logs->count - 1;
	return 0;
}

/*
 * The objects that the process which wrote a log has from who forked it, and that one from its own parent, which come
 * first. What ended there since the fork is not known any more: the process may have it yet. 0 or -ENOMEM.
 */
static int
inherit(struct logs *logs, const struct object_log_reader *child, uint32_t process, unsigned generation)
{
	struct object_log_reader *reader;
	uint32_t pid, number;
	uint64_t forked;
	int err;

	if (generation == ANCESTORS_MAX || !object_log_reader_parent(child, &pid, &number, &forked))
		return 0;
	reader = open_log(logs, (int)pid, (int)number, O_RDWR);
	if (!reader) {
		logs->orphans += errno != ENOMEM;
		return errno == ENOMEM ? -ENOMEM : 0;
	}
	err = inherit(logs, reader, process, generation + 1);
	if (!err)
		err = add_ancestor(logs, (int)pid, (int)number, process);
	if (!err)
		err = take_from_parent(logs, reader, forked);
	object_log_reader_free(reader);
	return err;
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
	if (!logs->is_target && logs->processes.parent(logs->processes.context, log->process) == MEMORY_NOTHING)
		err = inherit(logs, log->reader, log->process, 0);
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
	if (logs->orphans)
		message_print(
			logs->directory, "the log of who forked %u process%s is gone: what %s from there has no names",
			logs->orphans, logs->orphans == 1 ? "" : "es", logs->orphans == 1 ? "it has" : "they have");
	if (logs->damaged)
		message_print(logs->directory,
		              "%u log%s of objects %s damaged, perhaps by the program: what it made after that has no "
		              "names",
		              logs->damaged, text_plural(logs->damaged), logs->damaged == 1 ? "is" : "are");
}
