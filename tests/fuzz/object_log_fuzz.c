/* The tracker's log, which the traced process may have written over: a file of some chunks, in any state; what it kept.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory/access_history.h"
#include "memory/live_objects.h"
#include "memory/object_log.h"

#define CHUNKS 4
#define SITES  4
#define WHOLE                                                                                                          \
	(sizeof(struct object_log_header) + SITES * sizeof(struct object_log_site) +                                   \
	 CHUNKS * sizeof(struct object_log_chunk))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct log_replay {
	struct access_history *history;
	uint32_t process;
};

static void
find_nothing(void *context, uint32_t process, uint64_t address, struct memory_region *region)
{
	(void)context;
	(void)process;
	(void)address;
	(void)region;
}

static int
take(void *context, uint32_t tid, const struct object_log_event *event)
{
	const struct log_replay *replay = context;
	const struct access_sample sample = {.time = event->time, .address = event->address, .tid = tid, .weight = 1};
	int err = access_history_event(replay->history, replay->process, tid, event);

	return err ? err : access_history_access(replay->history, replay->process, &sample);
}

/* What the process kept, of which the input is some leaves. */
static void
read_live(const uint8_t *data, size_t size, struct log_replay *replay)
{
	static const struct live_objects_header header = {LIVE_OBJECTS_MAGIC, sizeof(struct object_leaf), {0}};
	const size_t whole = size / sizeof(struct object_leaf) * sizeof(struct object_leaf);
	const int fd = memfd_create("live", MFD_CLOEXEC);

	if (fd < 0 || pwrite(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    pwrite(fd, data, whole, sizeof(header)) < 0)
		abort();
	(void)live_objects_read(fd, take, replay);
	close(fd);
}

/* The events of the log, as the process itself keeps them. */
static int
keep(void *context, uint32_t tid, const struct object_log_event *event)
{
	return live_objects_event(context, tid, event);
}

static void
keep_all(int fd)
{
	struct object_log_reader *reader = object_log_reader_new(fd);
	struct live_objects *live = live_objects_new(NULL);

	if (reader && live) {
		(void)object_log_reader_take(reader, UINT64_MAX / 2, false, keep, live);
		(void)live_objects_advance(live, UINT64_MAX / 2);
		(void)object_log_reader_take(reader, UINT64_MAX, true, keep, live);
		(void)live_objects_advance(live, UINT64_MAX);
	}
	live_objects_free(live);
	object_log_reader_free(reader);
}

/* The file is as its header says, so that more than the header is read; the rest is the input's. */
static int
make_file(const uint8_t *data, size_t size)
{
	const struct object_log_header header = {
		.has_keeper = size % 2,
		.magic = OBJECT_LOG_MAGIC,
		.size = WHOLE,
		.site_max = SITES,
		.chunk_count = CHUNKS,
		.taken = CHUNKS,
	};
	const int fd = memfd_create("objects", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)WHOLE) || pwrite(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    pwrite(fd, data, size < WHOLE - sizeof(header) ? size : WHOLE - sizeof(header), sizeof(header)) < 0)
		abort();
	return fd;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = make_file(data, size);
	struct object_log_reader *reader;
	struct memory_profile profile;
	struct log_replay replay = {.history = NULL};
	uint64_t frames[OBJECT_LOG_FRAMES];

	keep_all(fd);
	close(fd);
	fd = make_file(data, size);
	reader = object_log_reader_new(fd);
	if (!reader || object_log_reader_claim(reader) || memory_profile_init(&profile))
		abort();
	replay.history = access_history_new(&profile, 256, find_nothing, NULL);
	if (replay.history)
		replay.process = access_history_add_process(replay.history, 1, 0, 0, MEMORY_NOTHING, 0);
	if (replay.history)
		read_live(data, size, &replay);
	if (replay.history && object_log_reader_take(reader, UINT64_MAX / 2, false, take, &replay) == 0) {
		const size_t half = size / 2 < WHOLE / 2 ? size / 2 : WHOLE / 2;

		/* a half of it changes meanwhile */
		(void)!pwrite(fd, data + size - half, half, (off_t)(sizeof(struct object_log_header) + half / 2));
		(void)object_log_reader_take(reader, UINT64_MAX, true, take, &replay);
		(void)access_history_finish(replay.history, 0, 1000000);
	}
	for (uint32_t i = 0; i <= SITES; i++)
		(void)object_log_reader_frames(reader, i, frames, NULL);
	access_history_free(replay.history);
	memory_profile_fini(&profile);
	object_log_reader_free(reader);
	close(fd);
	return 0;
}
