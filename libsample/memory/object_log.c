#include "memory/object_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SITES_LIMIT       (1u << 20)
#define CHUNKS_LIMIT      (1u << 16)
#define KIND_LAST         OBJECT_THREAD_LOCAL
#define COPIES_MAX        20 /* of held events, while the thread takes one back each time */
#define GIVE_BACK         16 /* chunks at once: a process may be waiting for them */
#define CHUNK_HEAD        offsetof(struct object_log_chunk, events)
#define NS_PER_SECOND     UINT64_C(1000000000)
#define COUNTS_PER_NS_MAX 20 /* of a counter; more: it is another machine's */
#define PASS_WAIT_NS      1000000L
#define PASS_WAITS        2000 /* a pass of the keeper takes some 100 ms, unless the process is stopped */

/* What is known of one of the file's chunks. */
struct log_place {
	uint64_t number;               /* that the chunk had when it was found; 0: none */
	uint64_t last;                 /* time of the last event that was visited */
	uint16_t read;                 /* events before this one are done with */
	uint8_t early;                 /* of held events, visited before they were published */
	bool is_done;                  /* the chunk is closed and read, and is not given back, or not yet */
	struct object_log_event *held; /* [OBJECT_LOG_HELD], the early ones; NULL: none yet */
};

/* A copy of what a chunk has from the first event on that is not done with. */
struct chunk_copy {
	uint32_t tid;
	uint16_t begin, final, end; /* events [begin, final) do not change any more; [final, end) are held */
	bool has_held;              /* else what is held is not known, because it is being changed */
	bool is_closed;
	struct object_log_event events[OBJECT_LOG_EVENTS];
};

enum reader_role {
	READS_ALONE,       /* and gives chunks back */
	READS_BESIDE,      /* the keeper, which gives them back when both have read them */
	READS_FOR_PROCESS, /* is the keeper */
};

struct object_log_reader {
	int fd;
	char *mapped; /* the keeper's; NULL: by fd */
	uint64_t mapped_size;
	object_log_has_room *has_room;
	enum reader_role role;
	bool can_write;
	bool is_beside; /* header.beside is ours */
	bool has_begun; /* to read, and not only to copy what lives */
	bool has_other; /* somebody reads beside this keeper */
	uint32_t site_max, chunk_count;
	enum object_log_clock clock;
	uint64_t began, began_ns, now, now_ns; /* two moments, by the file's clock and by ours */
	uint32_t parent_pid, parent_number;    /* as in the header, */
	uint64_t forked;                       /* and this */
	uint64_t found;                        /* chunks that were taken and found, or given back before us */
	uint64_t given_back, known_given_back; /* and what the file says */
	struct log_place *places;              /* [chunk_count] */
	uint32_t *open;                        /* places of chunks to be read, in the order of their numbers */
	uint32_t open_count;
	struct chunk_copy copy;
};

/* ---- the file ---- */

static int
read_at(const struct object_log_reader *reader, void *data, size_t size, uint64_t offset)
{
	ssize_t got;

	if (reader->mapped) {
		memcpy(data, reader->mapped + offset, size); /* the keeper asks for what there is */
		return 0;
	}
	got = pread(reader->fd, data, size, (off_t)offset);
	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EPROTO;
}

static int
write_at(const struct object_log_reader *reader, const void *data, size_t size, uint64_t offset)
{
	ssize_t put;

	if (reader->mapped) {
		memcpy(reader->mapped + offset, data, size);
		return 0;
	}
	put = pwrite(reader->fd, data, size, (off_t)offset);
	if (put < 0)
		return -errno;
	return (size_t)put == size ? 0 : -EPROTO;
}

static uint64_t
chunk_offset(const struct object_log_reader *reader, uint32_t place)
{
	return sizeof(struct object_log_header) + (uint64_t)reader->site_max * sizeof(struct object_log_site) +
	       (uint64_t)place * sizeof(struct object_log_chunk);
}

static void
read_clocks(struct object_log_reader *reader)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	reader->now = object_log_counter();
	reader->now_ns = (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* 0, -EAGAIN, -EPROTO, or of fstat() and pread(). */
static int
read_header(struct object_log_reader *reader)
{
	struct object_log_header header;
	struct stat status = {.st_mode = S_IFREG, .st_size = (off_t)reader->mapped_size};
	int err;

	if (!reader->mapped && fstat(reader->fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EPROTO;
	if (status.st_size == 0)
		return -EAGAIN;
	err = read_at(reader, &header, sizeof(header), 0);
	if (err)
		return err;
	if (!header.magic)
		return -EAGAIN;
	if (header.magic != OBJECT_LOG_MAGIC || header.clock > OBJECT_CLOCK_TARGET || header.site_max < 1 ||
	    header.site_max > SITES_LIMIT || header.chunk_count < 1 || header.chunk_count > CHUNKS_LIMIT ||
	    header.began_ns > INT64_MAX)
		return -EPROTO;
	reader->site_max = header.site_max;
	reader->chunk_count = header.chunk_count;
	reader->clock = header.clock;
	reader->began = header.began;
	reader->began_ns = header.began_ns;
	reader->parent_pid = header.parent_pid;
	reader->parent_number = header.parent_number;
	reader->forked = header.forked;
	reader->found = reader->given_back = reader->known_given_back = header.given_back;
	if (header.has_keeper && reader->role == READS_ALONE)
		reader->role = READS_BESIDE;
	return header.size == chunk_offset(reader, reader->chunk_count) && (uint64_t)status.st_size == header.size
	               ? 0
	               : -EPROTO;
}

static int
make_places(struct object_log_reader *reader)
{
	reader->places = calloc(reader->chunk_count, sizeof(*reader->places));
	reader->open = calloc(reader->chunk_count, sizeof(*reader->open));
	read_clocks(reader);
	return reader->places && reader->open ? 0 : -ENOMEM;
}

/* ---- beside the keeper ---- */

static int
set_beside(const struct object_log_reader *reader, enum object_log_beside state)
{
	const uint32_t beside = state;

	return write_at(reader, &beside, sizeof(beside), offsetof(struct object_log_header, beside));
}

/* The lock ends with the duplicate of the file, also if we are killed. File systems without locks have none. */
static int
lock_file(const struct object_log_reader *reader)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	return fcntl(reader->fd, F_OFD_SETLK, &lock) && (errno == EAGAIN || errno == EACCES) ? -EBUSY : 0;
}

/* What an earlier reader had read is to be read by this one, too, before it is given back. */
static int
forget_read(const struct object_log_reader *reader)
{
	const uint32_t not_read = 0;
	uint32_t is_read;
	int err = 0;

	for (uint32_t i = 0; i < reader->chunk_count && !err; i++) {
		const uint64_t offset = chunk_offset(reader, i) + offsetof(struct object_log_chunk, is_read);

		err = read_at(reader, &is_read, sizeof(is_read), offset);
		if (!err && is_read)
			err = write_at(reader, &not_read, sizeof(not_read), offset);
	}
	return err;
}

/*
 * Ask the keeper to change nothing, and wait until it does not. Its process may be stopped, or have been killed
 * meanwhile: what there is has no holes then either, for objects are moved before they leave a place.
 */
static int
begin_beside(const struct object_log_reader *reader)
{
	const struct timespec pause = {.tv_nsec = PASS_WAIT_NS};
	uint32_t pass = 1;
	int err = set_beside(reader, OBJECT_LOG_COPIES);

	for (unsigned i = 0; !err && i < PASS_WAITS; i++) {
		err = read_at(reader, &pass, sizeof(pass), offsetof(struct object_log_header, pass));
		if (err || pass % 2 == 0)
			break;
		nanosleep(&pause, NULL);
	}
	return err;
}

int
object_log_reader_claim(struct object_log_reader *reader)
{
	int err = reader->can_write ? lock_file(reader) : 0;

	if (err || !reader->can_write || reader->role != READS_BESIDE)
		return err;
	reader->is_beside = true;
	err = begin_beside(reader);
	if (!err)
		err = forget_read(reader);
	return err ? err : read_header(reader); /* what the keeper has given back meanwhile */
}

bool
object_log_reader_has_live(const struct object_log_reader *reader)
{
	return reader->role == READS_BESIDE;
}

/* What a new reader is made of, which is freed if that is an error. */
static struct object_log_reader *
begin_reader(struct object_log_reader *reader)
{
	int err = read_header(reader);

	if (!err)
		err = make_places(reader);
	if (!err)
		return reader;
	object_log_reader_free(reader);
	errno = -err;
	return NULL;
}

struct object_log_reader *
object_log_reader_new(int fd)
{
	struct object_log_reader *reader = calloc(1, sizeof(*reader));
	int error;

	if (!reader)
		return NULL;
	reader->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (reader->fd < 0) {
		error = errno;
		object_log_reader_free(reader);
		errno = error;
		return NULL;
	}
	reader->can_write = (fcntl(reader->fd, F_GETFL) & O_ACCMODE) == O_RDWR;
	return begin_reader(reader);
}

struct object_log_reader *
object_log_reader_new_keeper(void *file, uint64_t size, object_log_has_room *has_room)
{
	struct object_log_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->fd = -1;
	reader->mapped = file;
	reader->mapped_size = size;
	reader->has_room = has_room;
	reader->role = READS_FOR_PROCESS;
	reader->can_write = true;
	return begin_reader(reader);
}

void
object_log_reader_free(struct object_log_reader *reader)
{
	if (!reader)
		return;
	for (uint32_t i = 0; reader->places && i < reader->chunk_count; i++)
		free(reader->places[i].held);
	free(reader->places);
	free(reader->open);
	if (reader->is_beside)
		(void)set_beside(reader, OBJECT_LOG_NOBODY);
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader);
}

enum object_log_clock
object_log_reader_clock(const struct object_log_reader *reader)
{
	return reader->clock;
}

uint64_t
object_log_reader_began(const struct object_log_reader *reader)
{
	return reader->began;
}

bool
object_log_reader_parent(const struct object_log_reader *reader, uint32_t *pid, uint32_t *number, uint64_t *forked)
{
	*pid = reader->parent_pid;
	*number = reader->parent_number;
	*forked = reader->forked;
	return reader->parent_pid != 0;
}

uint64_t
object_log_reader_time(const struct object_log_reader *reader, uint64_t time)
{
	const int64_t counts = (int64_t)(reader->now - reader->began),
		      ns = (int64_t)(reader->now_ns - reader->began_ns);
	double since;

	if (reader->clock != OBJECT_CLOCK_COUNTER || counts <= 0 || ns <= 0 ||
	    (double)counts / (double)ns > COUNTS_PER_NS_MAX)
		return time;
	since = (double)(int64_t)(time - reader->began) * ((double)ns / (double)counts);
	if (since < -(double)reader->began_ns)
		return 0;
	if (since > (double)(INT64_MAX / 2))
		return INT64_MAX;
	return reader->began_ns + (uint64_t)(int64_t)since;
}

unsigned
object_log_reader_frames(const struct object_log_reader *reader, uint32_t site, uint64_t frames[OBJECT_LOG_FRAMES],
                         uint64_t *hash)
{
	struct object_log_site found;

	if (site == OBJECT_LOG_NO_SITE || site >= reader->site_max ||
	    read_at(reader, &found, sizeof(found), sizeof(struct object_log_header) + (uint64_t)site * sizeof(found)) ||
	    found.count > OBJECT_LOG_FRAMES)
		return 0;
	memcpy(frames, found.frames, found.count * sizeof(frames[0]));
	if (hash)
		*hash = found.hash;
	return found.count;
}

int
object_log_reader_counts(const struct object_log_reader *reader, struct object_log_counts *counts)
{
	struct object_log_header header;
	const int err = read_at(reader, &header, sizeof(header), 0);

	if (!err)
		*counts = (struct object_log_counts){header.short_lived, header.lost, header.unnamed, header.checked,
		                                     header.wrong};
	return err;
}

/* ---- which chunks are to be read ---- */

static int
compare_numbers(const void *a, const void *b, void *data)
{
	const struct object_log_reader *reader = data;
	const uint64_t left = reader->places[*(const uint32_t *)a].number,
		       right = reader->places[*(const uint32_t *)b].number;

	return left < right ? -1 : left > right;
}

/*
 * Find the chunks that were taken since. By their numbers, those of a thread are then read in its order: it had closed
 * a chunk before it took the next, so if that one is here, the first one is seen closed.
 */
static int
find_chunks(struct object_log_reader *reader)
{
	uint64_t taken;
	uint32_t end;
	int err = read_at(reader, &taken, sizeof(taken), offsetof(struct object_log_header, taken));

	if (err || taken == reader->found)
		return err;
	end = taken < reader->chunk_count ? (uint32_t)taken
	                                  : reader->chunk_count; /* they are first taken in their order */
	for (uint32_t i = 0; i < end; i++) {
		struct log_place *place = &reader->places[i];
		uint64_t number;

		if (reader->has_room && !reader->has_room(i))
			continue;
		err = read_at(reader, &number, sizeof(number), chunk_offset(reader, i));
		if (err)
			return err;
		if (!number || number == place->number)
			continue;
		if (place->number && !place->is_done)
			return -EPROTO; /* nobody but us gives it back */
		place->number = number;
		place->last = 0;
		place->read = 0;
		place->early = 0;
		place->is_done = false;
		reader->open[reader->open_count++] = i;
		reader->found++;
	}
	qsort_r(reader->open, reader->open_count, sizeof(reader->open[0]), compare_numbers, reader);
	return 0;
}

static int
count_given_back(struct object_log_reader *reader)
{
	int err;

	if (reader->given_back == reader->known_given_back)
		return 0;
	err = write_at(reader, &reader->given_back, sizeof(reader->given_back),
	               offsetof(struct object_log_header, given_back));
	if (!err)
		reader->known_given_back = reader->given_back;
	return err;
}

/* Clear a chunk that was read. From then on another thread may take it. */
static int
clear_chunk(struct object_log_reader *reader, uint32_t at)
{
	static const uint8_t zeros[CHUNK_HEAD];
	struct log_place *place = &reader->places[at];
	const size_t number = sizeof(place->number);
	int err;

	err = write_at(reader, zeros, sizeof(zeros) - number, chunk_offset(reader, at) + number);
	atomic_thread_fence(memory_order_release);
	if (!err)
		err = write_at(reader, zeros, number, chunk_offset(reader, at));
	if (err)
		return err;
	place->number = 0;
	reader->given_back++;
	return reader->given_back - reader->known_given_back < GIVE_BACK ? 0 : count_given_back(reader);
}

/* The keeper asks whether nobody else will read the chunk. */
static bool
is_read_by_all(const struct object_log_reader *reader, uint32_t at)
{
	uint32_t is_read = 0;

	if (!reader->has_other)
		return true;
	return read_at(reader, &is_read, sizeof(is_read),
	               chunk_offset(reader, at) + offsetof(struct object_log_chunk, is_read)) == 0 &&
	       is_read;
}

/* The chunk in a place was read to its end, and its thread writes no more to it. */
static int
give_back(struct object_log_reader *reader, uint32_t at)
{
	const uint32_t is_read = 1;

	reader->places[at].is_done = true;
	if (!reader->can_write)
		return 0;
	if (reader->role == READS_BESIDE)
		return write_at(reader, &is_read, sizeof(is_read),
		                chunk_offset(reader, at) + offsetof(struct object_log_chunk, is_read));
	return is_read_by_all(reader, at) ? clear_chunk(reader, at) : 0;
}

/* The keeper gives back what the other reader has read since, or will not read any more. */
static int
give_back_later(struct object_log_reader *reader)
{
	int err = 0;

	for (uint32_t i = 0; i < reader->chunk_count && !err; i++) {
		if (reader->places[i].number && reader->places[i].is_done && is_read_by_all(reader, i))
			err = clear_chunk(reader, i);
	}
	return err;
}

/* Before each taking. */
static int
meet_other(struct object_log_reader *reader)
{
	uint32_t beside = OBJECT_LOG_NOBODY;
	int err;

	if (reader->is_beside && !reader->has_begun) {
		reader->has_begun = true;
		return set_beside(reader, OBJECT_LOG_READS);
	}
	if (reader->role != READS_FOR_PROCESS)
		return 0;
	err = read_at(reader, &beside, sizeof(beside), offsetof(struct object_log_header, beside));
	reader->has_other = beside != OBJECT_LOG_NOBODY;
	return err ? err : give_back_later(reader);
}

/* ---- events ---- */

static int
read_head(const struct object_log_reader *reader, uint32_t at, struct object_log_chunk *head)
{
	const struct log_place *place = &reader->places[at];
	const int err = read_at(reader, head, CHUNK_HEAD, chunk_offset(reader, at));

	if (err)
		return err;
	return head->number == place->number && head->written <= OBJECT_LOG_EVENTS &&
	                       head->published <= head->written && head->written >= place->read
	               ? 0
	               : -EPROTO;
}

/*
 * Copy a chunk while its thread may write to it. `changes` is read before and after: if it is the same even number, no
 * event was taken back meanwhile, and so none was overwritten.
 */
static int
copy_chunk(const struct object_log_reader *reader, uint32_t at, bool is_ended, struct chunk_copy *copy)
{
	const uint16_t begin = reader->places[at].read;
	struct object_log_chunk before, after;
	int err;

	for (unsigned i = 0;; i++) {
		err = read_head(reader, at, &before);
		if (err)
			return err;
		atomic_thread_fence(memory_order_acquire);
		if (before.written > begin)
			err = read_at(reader, copy->events, (size_t)(before.written - begin) * sizeof(copy->events[0]),
			              chunk_offset(reader, at) + CHUNK_HEAD + begin * sizeof(copy->events[0]));
		if (err)
			return err;
		atomic_thread_fence(memory_order_acquire);
		err = read_head(reader, at, &after);
		if (err)
			return err;
		copy->has_held = before.changes == after.changes && before.changes % 2 == 0;
		if (copy->has_held || is_ended || i == COPIES_MAX)
			break;
		sched_yield();
	}
	copy->tid = before.tid;
	copy->is_closed = before.is_closed;
	copy->begin = begin;
	copy->end = before.written;
	copy->final = copy->has_held && (before.is_closed || is_ended) ? before.written : before.published;
	return copy->final >= begin ? 0 : -EPROTO;
}

struct taking {
	struct object_log_reader *reader;
	uint64_t horizon;
	object_log_visit *visit;
	void *context;
};

static int
visit_event(const struct taking *taking, struct log_place *place, uint32_t tid, const struct object_log_event *event)
{
	struct object_log_event visited = *event;

	if (visited.kind > KIND_LAST)
		return -EPROTO;
	if (event->time > place->last)
		place->last = event->time;
	visited.time = object_log_reader_time(taking->reader, event->time);
	return taking->visit(taking->context, tid, &visited);
}

static bool
is_same(const struct object_log_event *a, const struct object_log_event *b)
{
	return a->time == b->time && a->address == b->address && a->kind == b->kind;
}

static bool
is_early(const struct log_place *place, const struct object_log_event *event)
{
	for (unsigned i = 0; i < place->early; i++)
		if (is_same(&place->held[i], event))
			return true;
	return false;
}

static void
forget_early(struct log_place *place, unsigned at)
{
	place->early--;
	memmove(&place->held[at], &place->held[at + 1], (size_t)(place->early - at) * sizeof(place->held[0]));
}

/*
 * Those that were visited early, and are not there any more, were taken back: their objects have died. When is not
 * known; nothing has that address before the event is gone, and it was there at the last visit.
 */
static int
visit_taken_back(const struct taking *taking, struct log_place *place, const struct chunk_copy *copy)
{
	for (unsigned i = 0; i < place->early;) {
		const struct object_log_event early = place->held[i];
		bool is_there = false;
		int err;

		for (unsigned at = 0; !is_there && at < (unsigned)(copy->end - copy->begin); at++)
			is_there = is_same(&copy->events[at], &early);
		if (is_there) {
			i++;
			continue;
		}
		forget_early(place, i);
		err = visit_event(
			taking, place, copy->tid,
			&(struct object_log_event){.time = place->last, .address = early.address, .kind = OBJECT_DIED});
		if (err)
			return err;
	}
	return 0;
}

static int
visit_final(const struct taking *taking, struct log_place *place, const struct chunk_copy *copy)
{
	int err = 0;

	while (!err && place->read < copy->final) {
		const struct object_log_event *event = &copy->events[place->read++ - copy->begin];
		bool was_early = false;

		for (unsigned i = 0; !was_early && i < place->early; i++) {
			was_early = is_same(&place->held[i], event);
			if (was_early)
				forget_early(place, i);
		}
		if (!was_early)
			err = visit_event(taking, place, copy->tid, event);
	}
	return err;
}

static int
visit_held(const struct taking *taking, struct log_place *place, const struct chunk_copy *copy)
{
	int err = 0;

	for (unsigned at = copy->final; !err && at < copy->end && place->early < OBJECT_LOG_HELD; at++) {
		const struct object_log_event *event = &copy->events[at - copy->begin];

		if (object_log_reader_time(taking->reader, event->time) > taking->horizon)
			break;
		if (is_early(place, event))
			continue;
		if (!place->held)
			place->held = malloc(OBJECT_LOG_HELD * sizeof(place->held[0]));
		if (!place->held)
			return -ENOMEM;
		place->held[place->early++] = *event;
		err = visit_event(taking, place, copy->tid, event);
	}
	return err;
}

static int
take_chunk(const struct taking *taking, uint32_t at, bool is_ended)
{
	struct log_place *place = &taking->reader->places[at];
	struct chunk_copy *copy = &taking->reader->copy;
	int err = copy_chunk(taking->reader, at, is_ended, copy);

	if (!err && copy->has_held)
		err = visit_taken_back(taking, place, copy);
	if (!err)
		err = visit_final(taking, place, copy);
	if (!err && copy->has_held)
		err = visit_held(taking, place, copy);
	if (!err && copy->is_closed && place->read == copy->end)
		err = give_back(taking->reader, at);
	return err;
}

int
object_log_reader_take(struct object_log_reader *reader, uint64_t horizon, bool is_ended, object_log_visit *visit,
                       void *context)
{
	const struct taking taking = {reader, horizon, visit, context};
	uint32_t kept = 0;
	int err, given;

	read_clocks(reader);
	err = meet_other(reader);
	if (!err)
		err = find_chunks(reader);
	for (uint32_t i = 0; i < reader->open_count; i++) {
		const uint32_t at = reader->open[i];

		if (!err)
			err = take_chunk(&taking, at, is_ended);
		if (!reader->places[at].is_done)
			reader->open[kept++] = at;
	}
	reader->open_count = kept;
	given = count_given_back(reader);
	return err ? err : given;
}
