/*
 * show_objects.c - prints what the tracker recorded: show_objects [--follow|--running] DIRECTORY
 *
 * For each file of the directory, in the order of processes and programs: a line that counts, then the objects that
 * live, as tests/workloads/tracker/objects.c prints its own. They are those that began and live between two mappings of
 * known lengths, which that program makes; the objects of a program without such mappings are only counted. --follow:
 * reads while processes write, until standard input ends; by then they have all ended. --running: reads once, of
 * processes that run. Of a process that kept which objects live, those are shown, too.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "memory/live_objects.h"
#include "memory/object_log.h"
#include "memory/object_map.h"

#define FILES_MAX   4096
#define BEGIN_BYTES UINT64_C(1234 * 4096)
#define END_BYTES   UINT64_C(1235 * 4096)
#define CHAIN_SIZE  777777
#define EMPTY       2 /* struct object's number: it has no byte, but a place */
#define BEHIND_NS   2000000
#define EACH_MS     10

/* An event that waits until all events before it are known. */
struct waiting_event {
	struct object_log_event event;
	uint64_t order;
};

struct shown_file {
	char name[64];
	struct object_log_reader *reader;
	struct object_map *map;
	struct waiting_event *waiting;
	size_t count, room;
	uint64_t order, applied, kinds[OBJECT_THREAD_LOCAL + 1], without_site, late;
	bool is_marked, is_over;
	int err;
};

static struct shown_file files[FILES_MAX];
static unsigned file_count;

static void
fail(const char *what, int err)
{
	fprintf(stderr, "show_objects: %s: %s\n", what, strerror(-err));
	exit(1);
}

static int
take_event(void *context, uint32_t tid, const struct object_log_event *event)
{
	struct shown_file *file = context;

	(void)tid;
	if (file->count == file->room) {
		file->room = file->room ? 2 * file->room : 1024;
		file->waiting = realloc(file->waiting, file->room * sizeof(file->waiting[0]));
		if (!file->waiting)
			fail(file->name, -ENOMEM);
	}
	file->kinds[event->kind]++;
	file->without_site += (event->kind == OBJECT_BORN || event->kind == OBJECT_MAPPED) && !event->site;
	file->waiting[file->count++] = (struct waiting_event){*event, file->order++};
	return 0;
}

static bool
is_end(const struct object_log_event *event)
{
	return event->kind == OBJECT_DIED || event->kind == OBJECT_UNMAPPED;
}

/* By time; an end first, as its address may be taken at once. */
static int
compare_waiting(const void *a, const void *b)
{
	const struct waiting_event *left = a, *right = b;

	if (left->event.time != right->event.time)
		return left->event.time < right->event.time ? -1 : 1;
	if (is_end(&left->event) != is_end(&right->event))
		return is_end(&left->event) ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

static int
add_object(struct shown_file *file, const struct object_log_event *event)
{
	return object_map_add(file->map,
	                      &(struct object){.address = event->address,
	                                       .size = event->size ? event->size : 1,
	                                       .born = event->time,
	                                       .site = event->site,
	                                       .number = event->size ? 1 : EMPTY,
	                                       .kind = event->kind},
	                      NULL, NULL);
}

static int
end_object(struct shown_file *file, const struct object_log_event *event)
{
	const struct object *there = object_map_find(file->map, event->address);
	struct object ended;

	if (!there || there->address != event->address || there->born > event->time)
		return 0;
	return object_map_end(file->map, event->address, &ended);
}

static int
resize_object(struct shown_file *file, const struct object_log_event *event)
{
	const struct object *there = object_map_find(file->map, event->address);
	struct object_log_event born = *event;
	struct object ended;

	if (!there || there->address != event->address)
		return 0;
	born.site = there->site;
	born.time = there->born;
	born.kind = OBJECT_BORN;
	object_map_end(file->map, event->address, &ended);
	return add_object(file, &born);
}

static int
apply(struct shown_file *file, const struct object_log_event *event)
{
	int err;

	if (file->is_over)
		return 0;
	switch (event->kind) {
	case OBJECT_DIED:
		return end_object(file, event);
	case OBJECT_RESIZED:
		return resize_object(file, event);
	case OBJECT_UNMAPPED:
		if (!event->size)
			return end_object(file, event);
		return object_map_cut(file->map, event->address, event->size, NULL, NULL);
	case OBJECT_MAPPED:
		file->is_over = file->is_marked && event->size == END_BYTES;
		if (event->size == BEGIN_BYTES) {
			file->is_marked = true;
			object_map_free(file->map);
			file->map = object_map_new(NULL);
			return file->map ? 0 : -ENOMEM;
		}
		if (file->is_over)
			return 0;
		err = object_map_cut(file->map, event->address, event->size, NULL, NULL);
		return err ? err : add_object(file, event);
	default:
		return add_object(file, event);
	}
}

static void
apply_until(struct shown_file *file, uint64_t horizon)
{
	size_t done = 0;

	qsort(file->waiting, file->count, sizeof(file->waiting[0]), compare_waiting);
	for (; done < file->count && file->waiting[done].event.time <= horizon; done++) {
		const int err = apply(file, &file->waiting[done].event);

		if (err)
			fail(file->name, err);
		file->late += file->waiting[done].event.time < file->applied;
	}
	if (done)
		file->applied = file->waiting[done - 1].event.time;
	file->count -= done;
	memmove(file->waiting, file->waiting + done, file->count * sizeof(file->waiting[0]));
}

/* What the process kept, in the file beside its log. */
static void
take_live(const char *directory, struct shown_file *file)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/" LIVE_OBJECTS_PREFIX "%s", directory, file->name + strlen(OBJECT_LOG_PREFIX));
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	file->is_marked = true;
	file->err = live_objects_read(fd, take_event, file);
	close(fd);
}

static void
open_file(const char *directory, const char *name)
{
	struct shown_file *file = &files[file_count];
	char path[4200];
	int fd;

	for (unsigned i = 0; i < file_count; i++)
		if (strcmp(files[i].name, name) == 0)
			return;
	if (file_count == FILES_MAX)
		fail("files", -ENOSPC);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	file->reader = object_log_reader_new(fd);
	file->err = file->reader ? object_log_reader_claim(file->reader) : -errno;
	close(fd);
	if (file->err == -EAGAIN)
		return;
	snprintf(file->name, sizeof(file->name), "%s", name);
	file->map = object_map_new(NULL);
	if (!file->map)
		fail(name, -ENOMEM);
	file_count++;
	if (!file->err && object_log_reader_has_live(file->reader))
		take_live(directory, file);
}

static void
open_files(const char *directory)
{
	DIR *entries = opendir(directory);
	struct dirent *entry;

	if (!entries)
		fail(directory, -errno);
	while ((entry = readdir(entries)))
		if (strncmp(entry->d_name, OBJECT_LOG_PREFIX, strlen(OBJECT_LOG_PREFIX)) == 0)
			open_file(directory, entry->d_name);
	closedir(entries);
}

static void
take_all(uint64_t horizon, bool is_ended)
{
	for (unsigned i = 0; i < file_count; i++) {
		struct shown_file *file = &files[i];

		if (!file->err)
			file->err = object_log_reader_take(file->reader, horizon, is_ended, take_event, file);
		if (file->count)
			apply_until(file, horizon);
	}
}

static uint64_t
recently(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - BEHIND_NS;
}

static void
follow(const char *directory)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};

	while (poll(&input, 1, EACH_MS) == 0) {
		open_files(directory);
		take_all(recently(), false);
	}
}

static void
print_object(void *context, const struct object *object)
{
	const struct shown_file *file = context;
	uint64_t frames[OBJECT_LOG_FRAMES];

	if (object->kind != OBJECT_BORN && object->kind != OBJECT_MAPPED)
		return;
	printf("%" PRIx64 " %" PRIu64 " %s\n", object->address, object->number == EMPTY ? 0 : object->size,
	       object->kind == OBJECT_BORN ? "heap" : "mapping");
	if (object->size == CHAIN_SIZE && object_log_reader_frames(file->reader, object->site, frames, NULL) > 2)
		printf("frames %" PRIx64 " %" PRIx64 "\n", frames[1], frames[2]);
}

static void
print_file(const struct shown_file *file)
{
	static const char *const clocks[] = {"monotonic", "counter", "target"};
	struct object_log_counts counts = {0};

	if (!file->reader) {
		printf("%s: %s\n", file->name, strerror(-file->err));
		return;
	}
	(void)object_log_reader_counts(file->reader, &counts);
	printf("%s: %s live %zu born %" PRIu64 " died %" PRIu64 " mapped %" PRIu64 " stacks %" PRIu64 " lost %" PRIu64
	       " short %" PRIu64 " unnamed %" PRIu64 " checked %" PRIu64 " wrong %" PRIu64 " clock %s\n",
	       file->name, file->err ? strerror(-file->err) : "ok", object_map_count(file->map),
	       file->kinds[OBJECT_BORN], file->kinds[OBJECT_DIED], file->kinds[OBJECT_MAPPED],
	       file->kinds[OBJECT_STACK], counts.lost, counts.short_lived, file->without_site, counts.checked,
	       counts.wrong, clocks[object_log_reader_clock(file->reader)]);
	if (file->is_marked)
		object_map_each(file->map, print_object, (void *)file);
}

static int
compare_files(const void *a, const void *b)
{
	const struct shown_file *left = a, *right = b;

	return strverscmp(left->name, right->name);
}

int
main(int argc, char **argv)
{
	const bool follows = argc > 2 && strcmp(argv[1], "--follow") == 0,
		   are_running = argc > 2 && strcmp(argv[1], "--running") == 0;
	const char *directory = argv[argc - 1];

	if (argc < 2)
		return 2;
	if (follows)
		follow(directory);
	open_files(directory);
	if (are_running)
		take_all(recently(), false);
	else
		take_all(UINT64_MAX, true);
	qsort(files, file_count, sizeof(files[0]), compare_files);
	for (unsigned i = 0; i < file_count; i++) {
		print_file(&files[i]);
		object_log_reader_free(files[i].reader);
		object_map_free(files[i].map);
		free(files[i].waiting);
	}
	return 0;
}
