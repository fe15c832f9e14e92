#include "memory/object_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

/* What was read of a chunk. */
struct chunk_reading {
	uint64_t number;                                    /* of the chunk that was there; 0: none */
	uint16_t done;                                      /* of its events, published */
	uint16_t early_count;                               /* events that were visited before they were published */
	struct object_log_event early[OBJECT_LOG_HELD + 1]; /* they are few: what is held */
};

struct taken_chunk {
	uint64_t number; /* first, for array_compare_u64() */
	uint32_t slot;
};

struct object_log_reader {
	int fd;
	struct object_log_header header;
	uint32_t *states;
	struct taken_chunk *taken;
	struct chunk_reading **readings; /* by slot; NULL: nothing was read there */
	struct object_log_chunk chunk;
};

static int
read_at(int fd, void *data, size_t size, uint64_t offset)
{
	const ssize_t got = TEMP_FAILURE_RETRY(pread(fd, data, size, (off_t)offset));

	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EPROTO;
}

static int
read_header(struct object_log_reader *reader)
{
	struct object_log_header header;
	int err = read_at(reader->fd, &header, sizeof(header), 0);

	if (err)
		return err;
	if (header.magic != OBJECT_LOG_MAGIC || header.chunk_count == 0 || header.chunk_count > OBJECT_LOG_CHUNKS_MAX ||
	    header.site_max == 0 || header.site_max > OBJECT_LOG_SITES_MAX)
		return -EPROTO;
	if (reader->header.magic &&
	    (header.chunk_count != reader->header.chunk_count || header.site_max != reader->header.site_max))
		return -EPROTO;
	reader->header = header;
	return 0;
}

struct object_log_reader *
object_log_reader_new(int fd)
{
	struct object_log_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return NULL;
	reader->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	err = reader->fd < 0 ? -errno : read_header(reader);
	if (!err) {
		reader->states = calloc(reader->header.chunk_count, sizeof(*reader->states));
		reader->taken = calloc(reader->header.chunk_count, sizeof(*reader->taken));
		reader->readings = calloc(reader->header.chunk_count, sizeof(*reader->readings));
		err = reader->states && reader->taken && reader->readings ? 0 : -ENOMEM;
	}
	if (!err)
		return reader;
	object_log_reader_free(reader);
	errno = -err;
	return NULL;
}

void
object_log_reader_free(struct object_log_reader *reader)
{
	if (!reader)
		return;
	for (uint32_t i = 0; reader->readings && i < reader->header.chunk_count; i++)
		free(reader->readings[i]);
	free(reader->readings);
	free(reader->taken);
	free(reader->states);
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader);
}

const struct object_log_header *
object_log_reader_header(const struct object_log_reader *reader)
{
	return &reader->header;
}

unsigned
object_log_reader_frames(const struct object_log_reader *reader, uint32_t site, uint64_t frames[OBJECT_LOG_FRAMES],
                         uint64_t *hash)
{
	struct object_log_site there;

	if (site == OBJECT_LOG_NO_SITE || site >= reader->header.site_max ||
	    read_at(reader->fd, &there, sizeof(there),
	            object_log_sites_at(reader->header.chunk_count) + site * (uint64_t)sizeof(there)) ||
	    there.count > OBJECT_LOG_FRAMES)
		return 0;
	memcpy(frames, there.frames, there.count * sizeof(frames[0]));
	if (hash)
		*hash = there.hash;
	return there.count;
}

/* ---- events ---- */

static uint64_t
chunk_at(const struct object_log_reader *reader, uint32_t slot)
{
	return object_log_chunks_at(reader->header.chunk_count, reader->header.site_max) +
	       slot * (uint64_t)sizeof(struct object_log_chunk);
}

/* Forget an event that was visited early. False: it was not. */
static bool
forget_early(struct chunk_reading *reading, const struct object_log_event *event)
{
	for (uint16_t i = 0; i < reading->early_count; i++) {
		if (memcmp(&reading->early[i], event, sizeof(*event)) != 0)
			continue;
		reading->early_count--;
		memmove(reading->early + i, reading->early + i + 1,
		        (size_t)(reading->early_count - i) * sizeof(*event));
		return true;
	}
	return false;
}

static int
visit_published(struct object_log_reader *reader, struct chunk_reading *reading, uint16_t end, object_log_visit *visit,
                void *context)
{
	int err = 0;

	for (; reading->done < end && !err; reading->done++) {
		const struct object_log_event *event = &reader->chunk.events[reading->done];

		if (!forget_early(reading, event))
			err = visit(context, reader->chunk.tid, event);
	}
	return err;
}

/* Those that were visited early, and are not held any more: their objects have ended since. */
static int
end_taken_back(struct object_log_reader *reader, struct chunk_reading *reading, uint16_t written,
               object_log_visit *visit, void *context)
{
	int err = 0;

	for (uint16_t i = 0; i < reading->early_count && !err;) {
		struct object_log_event ended = reading->early[i];
		bool is_there = false;

		for (uint16_t k = reading->done; k < written && !is_there; k++)
			is_there = memcmp(&reader->chunk.events[k], &ended, sizeof(ended)) == 0;
		if (is_there) {
			i++;
			continue;
		}
		forget_early(reading, &ended);
		ended.kind = OBJECT_DIED;
		err = visit(context, reader->chunk.tid, &ended);
	}
	return err;
}

/* Held events do not change while `changes` is even and stays as it is. */
static bool
is_steady(const struct object_log_reader *reader, uint32_t slot)
{
	struct object_log_chunk after;

	return reader->chunk.changes % 2 == 0 &&
	       read_at(reader->fd, &after, offsetof(struct object_log_chunk, events), chunk_at(reader, slot)) == 0 &&
	       after.changes == reader->chunk.changes && after.number == reader->chunk.number;
}

static int
visit_held(struct object_log_reader *reader, struct chunk_reading *reading, uint16_t written, uint64_t horizon,
           object_log_visit *visit, void *context)
{
	int err = end_taken_back(reader, reading, written, visit, context);

	for (uint16_t i = reading->done; i < written && !err; i++) {
		const struct object_log_event *event = &reader->chunk.events[i];
		bool is_known = false;

		for (uint16_t k = 0; k < reading->early_count && !is_known; k++)
			is_known = memcmp(&reading->early[k], event, sizeof(*event)) == 0;
		if (is_known || event->time > horizon || reading->early_count == ARRAY_COUNT(reading->early))
			continue;
		reading->early[reading->early_count++] = *event;
		err = visit(context, reader->chunk.tid, event);
	}
	return err;
}

static int
take_chunk(struct object_log_reader *reader, uint32_t slot, bool is_final, uint64_t horizon, object_log_visit *visit,
           void *context)
{
	struct chunk_reading *reading = reader->readings[slot];
	const struct object_log_chunk *chunk = &reader->chunk;
	uint16_t end;
	int err;

	err = read_at(reader->fd, &reader->chunk, sizeof(reader->chunk), chunk_at(reader, slot));
	if (err)
		return err;
	if (chunk->written > OBJECT_LOG_EVENTS || chunk->published > chunk->written)
		return 0; /* between two stores of the thread's, or nonsense */
	if (!reading) {
		reading = reader->readings[slot] = calloc(1, sizeof(*reading));
		if (!reading)
			return -ENOMEM;
	}
	if (reading->number != chunk->number)
		*reading = (struct chunk_reading){.number = chunk->number};
	end = is_final ? chunk->written : chunk->published;
	err = visit_published(reader, reading, end, visit, context);
	if (err)
		return err;
	if (is_final)
		return end_taken_back(reader, reading, end, visit, context);
	return is_steady(reader, slot) ? visit_held(reader, reading, chunk->written, horizon, visit, context) : 0;
}

static int
free_chunk(struct object_log_reader *reader, uint32_t slot)
{
	const uint32_t state = OBJECT_CHUNK_FREE;
	const uint64_t freed = ++reader->header.freed;

	free(reader->readings[slot]);
	reader->readings[slot] = NULL;
	if (pwrite(reader->fd, &state, sizeof(state),
	           (off_t)(sizeof(struct object_log_header) + slot * sizeof(state))) < 0)
		return -errno;
	return pwrite(reader->fd, &freed, sizeof(freed), offsetof(struct object_log_header, freed)) < 0 ? -errno : 0;
}

/* The chunks that are taken, in that order, so that a thread's events stay in order. */
static int
list_taken(struct object_log_reader *reader, size_t *count)
{
	int err = read_header(reader);

	*count = 0;
	if (!err)
		err = read_at(reader->fd, reader->states, reader->header.chunk_count * sizeof(*reader->states),
		              sizeof(struct object_log_header));
	for (uint32_t i = 0; i < reader->header.chunk_count && !err; i++) {
		struct taken_chunk *taken = &reader->taken[*count];

		if (reader->states[i] != OBJECT_CHUNK_OPEN && reader->states[i] != OBJECT_CHUNK_CLOSED)
			continue;
		err = read_at(reader->fd, &taken->number, sizeof(taken->number), chunk_at(reader, i));
		taken->slot = i;
		++*count;
	}
	qsort(reader->taken, *count, sizeof(*reader->taken), array_compare_u64);
	return err;
}

int
object_log_reader_take(struct object_log_reader *reader, uint64_t horizon, bool is_ended, object_log_visit *visit,
                       void *context)
{
	size_t count;
	int err = list_taken(reader, &count);

	for (size_t i = 0; i < count && !err; i++) {
		const uint32_t slot = reader->taken[i].slot;
		const bool is_closed = reader->states[slot] == OBJECT_CHUNK_CLOSED;

		err = take_chunk(reader, slot, is_closed || is_ended, horizon, visit, context);
		if (!err && is_closed)
			err = free_chunk(reader, slot);
	}
	return err;
}
