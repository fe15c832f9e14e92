#include "tracker/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/mapped_room.h"
#include "memory/live_objects.h"
#include "tracker/log.h"

#define SEGMENT_LEAVES 256
#define SEGMENT_BYTES  (SEGMENT_LEAVES * sizeof(struct object_leaf))
#define SEGMENTS_MAX   4096 /* a hundred million objects */
#define PAUSE_NS       10000000L
#define BEHIND_NS      UINT64_C(2000000) /* by which a thread may be late to write an event */

static own_thread_create *create_thread;

/* Of this process: the child of a fork begins with none of it. */
static struct {
	struct object_log_header *file;
	struct object_log_reader *reader; /* of `file` */
	struct live_objects *live;
	uint64_t leaves, free_leaf; /* in the file, and the last that is free, from 1 on: in it, the one before it */
	struct object_leaf *segments[SEGMENTS_MAX];
} keeper;

/* ---- the file of those that live ---- */

/* Room on the disk for a part of the file, and its mapping. NULL: there is none. */
static void *
map_part(int fd, uint64_t offset, size_t size)
{
	void *part;

	if (ftruncate(fd, (off_t)(offset + size)))
		return NULL;
	part = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	if (part == MAP_FAILED)
		return NULL;
	/* where advice does nothing, as in Linux before 5.14, by the file: it must not be written to without room */
	if (madvise(part, size, MADV_POPULATE_WRITE) == 0 ||
	    (errno == EINVAL && fallocate(fd, 0, (off_t)offset, (off_t)size) == 0))
		return part;
	munmap(part, size);
	return NULL;
}

static struct object_leaf *
leaf_at(uint64_t number)
{
	return &keeper.segments[(number - 1) / SEGMENT_LEAVES][(number - 1) % SEGMENT_LEAVES];
}

static bool
add_segment(uint64_t segment)
{
	const bool is_first = segment == 0;
	const int fd = log_open_beside(LIVE_OBJECTS_PREFIX, is_first ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR);
	struct live_objects_header *header = NULL;
	void *part = NULL;

	if (fd < 0)
		return false;
	if (is_first)
		header = map_part(fd, 0, sizeof(*header));
	if (!is_first || header)
		part = map_part(fd, sizeof(*header) + segment * SEGMENT_BYTES, SEGMENT_BYTES);
	if (header && part) {
		header->leaf_bytes = sizeof(struct object_leaf);
		header->magic = LIVE_OBJECTS_MAGIC;
	}
	if (header)
		munmap(header, sizeof(*header));
	if (is_first && !part)
		(void)!ftruncate(fd, 0); /* an empty file says that it has nothing */
	close(fd);
	keeper.segments[segment] = part;
	return part != NULL;
}

static struct object_leaf *
take_leaf(void *context)
{
	const uint64_t free_leaf = keeper.free_leaf, segment = keeper.leaves / SEGMENT_LEAVES;

	(void)context;
	if (free_leaf) {
		keeper.free_leaf = leaf_at(free_leaf)->reserved_too;
		return leaf_at(free_leaf);
	}
	if (keeper.leaves % SEGMENT_LEAVES == 0 && (segment == SEGMENTS_MAX || !add_segment(segment)))
		return NULL;
	keeper.leaves++;
	leaf_at(keeper.leaves)->reserved = (uint32_t)keeper.leaves;
	return leaf_at(keeper.leaves);
}

static void
give_leaf(void *context, struct object_leaf *leaf)
{
	(void)context;
	leaf->reserved_too = keeper.free_leaf;
	keeper.free_leaf = leaf->reserved;
}

/* ---- passes ---- */

static int
take_event(void *context, uint32_t tid, const struct object_log_event *event)
{
	return live_objects_event(context, tid, event);
}

/* Whether the reader that says it is there is gone: its lock is. */
static bool
is_gone(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	const int fd = log_open_beside(OBJECT_LOG_PREFIX, O_RDWR);
	const bool gone = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;

	if (fd >= 0)
		close(fd);
	return gone;
}

/* Whether nobody copies what lives. `pass` is odd by now: who begins to copy waits for its end. */
static bool
may_change(void)
{
	uint32_t beside = __atomic_load_n(&keeper.file->beside, __ATOMIC_SEQ_CST);

	if (beside != OBJECT_LOG_NOBODY && is_gone()) {
		__atomic_compare_exchange_n(&keeper.file->beside, &beside, OBJECT_LOG_NOBODY, false, __ATOMIC_SEQ_CST,
		                            __ATOMIC_SEQ_CST);
		beside = OBJECT_LOG_NOBODY;
	}
	return beside != OBJECT_LOG_COPIES;
}

static uint64_t
horizon(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec - BEHIND_NS;
}

/* 0, or an error of reading the log; without memory, an event is lost. */
static int
take(void)
{
	const uint64_t until = horizon();
	const int err = object_log_reader_take(keeper.reader, until, false, take_event, keeper.live);
	const size_t lost = live_objects_advance(keeper.live, until) + (err == -ENOMEM);

	__atomic_fetch_add(&keeper.file->lost, lost, __ATOMIC_RELAXED);
	return err;
}

/* 0, -ENOMEM, or -EPROTO: the program has overwritten the log's header. */
static int
prepare(void)
{
	const struct object_leaves leaves = {take_leaf, give_leaf, NULL};
	uint64_t size;

	if (keeper.reader)
		return 0;
	keeper.file = log_file(&size);
	if (!keeper.live)
		keeper.live = live_objects_new(&leaves);
	if (!keeper.live)
		return -ENOMEM;
	keeper.reader = object_log_reader_new_keeper(keeper.file, size, log_has_room);
	return keeper.reader ? 0 : -errno;
}

/* As prepare() and take(). */
static int
pass(void)
{
	int err = prepare();

	if (err)
		return err;
	__atomic_fetch_add(&keeper.file->pass, 1, __ATOMIC_SEQ_CST);
	if (may_change())
		err = take();
	__atomic_fetch_add(&keeper.file->pass, 1, __ATOMIC_SEQ_CST);
	return err;
}

static void *
run(void *data)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int err;

	(void)data;
	log_ignore_thread();
	prctl(PR_SET_NAME, OBJECT_LOG_KEEPER);
	do {
		if (log_is_filling()) /* still, after a pass: another reader takes its time */
			nanosleep(&pause, NULL);
		log_wait_until_filling();
		err = pass();
	} while (!err || err == -ENOMEM);
	log_keep_not(); /* the program has overwritten its log */
	return NULL;
}

/* In a child, what the parent had stays mapped. */
static void
start(void)
{
	memset(&keeper, 0, sizeof(keeper));
	if (!own_thread_start(create_thread, run))
		log_keep_not();
}

void
keeper_begin(own_thread_create *create)
{
	create_thread = create;
	pthread_atfork(NULL, NULL, start);
	start();
}
