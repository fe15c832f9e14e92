/*
 * object_log.h - the file in which the tracker (tracker/) writes when memory objects begin and end, and its reader
 *
 * A process has one file, in the directory that $DCPI_OBJECTS names; a fork and an exec begin another one. It is mapped
 * and shared, so that all of it is there however the process ends:
 *
 *   object_log_header
 *   object_log_site[header.site_max]     call chains, each once
 *   object_log_chunk[header.chunk_count] a thread takes a chunk and fills it alone; the reader gives it back
 *
 * A thread writes an event, and then counts it in `written`. The last OBJECT_LOG_HELD events may still be taken back:
 * if an object ends soon whose beginning is among them, both are left out, and counted as short-lived. Events before
 * them are `published`, and do not change any more. After the process has ended, all that is written counts.
 *
 * Readers trust nothing in it: the process could have written to it.
 */
#ifndef DCPI_MEMORY_OBJECT_LOG_H
#define DCPI_MEMORY_OBJECT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#define OBJECT_LOG_MAGIC UINT64_C(0x3273746a626f6364) /* "dcobjts2" */
/* In the tracker's environment: where it makes its file; and, if it is to keep pages on their nodes (tracker/pages.c)
 */
#define OBJECT_LOG_DIRECTORY "DCPI_OBJECTS"
#define OBJECT_LOG_BIND      "DCPI_OBJECTS_BIND"
#define OBJECT_LOG_BINDER    "dcpi-pages" /* the name of the thread that does so */
/* And if somebody reads the file all the time. Else a thread of the process does (tracker/keeper.c), and keeps which
 * objects live (memory/live_objects.h).
 */
#define OBJECT_LOG_READ   "DCPI_OBJECTS_READ"
#define OBJECT_LOG_KEEPER "dcpi-objects"

#define OBJECT_LOG_PREFIX  "objects." /* of the file's name; the process and a number follow */
#define OBJECT_LOG_FRAMES  13         /* of a call chain */
#define OBJECT_LOG_EVENTS  127        /* of a chunk */
#define OBJECT_LOG_HELD    16
#define OBJECT_LOG_NO_SITE 0

/*
 * dcpiemu's plugin answers a system call of this number: it writes the target's time, in cycles, to the address in the
 * first argument. The call takes no time there. A kernel knows no such call (ENOSYS), and writes nothing.
 */
#define OBJECT_LOG_TIME_CALL 0x6f626a

/*
 * And of this: the object at the first argument, of as many bytes as the second says, has the remedy in the third. The
 * model serves accesses to it accordingly (emulator/model/remedy.h).
 */
#define OBJECT_LOG_REMEDY_CALL 0x6f626b

enum object_remedy {
	OBJECT_REMEDY_NONE,
	OBJECT_REMEDY_REPLICATE,
	OBJECT_REMEDY_INTERLEAVE,
	OBJECT_REMEDY_LOCAL,
	OBJECT_REMEDY_MIGRATE,
	OBJECT_REMEDY_SPREAD, /* each word has a line of its own */
	OBJECT_REMEDY_PIN,    /* not of an object: the threads of each process stay on one node */
};

/*
 * The file "remedies" in $DCPI_OBJECTS says which call chains make objects with a remedy: an object_remedy_list, made
 * before the program begins.
 */
#define OBJECT_REMEDY_FILE  "remedies"
#define OBJECT_REMEDY_MAGIC UINT64_C(0x3165646d72626364)
#define OBJECT_REMEDIES_MAX 255

struct object_remedy_site {
	uint64_t hash; /* object_log_site.hash */
	uint32_t kind; /* enum object_remedy */
	uint32_t reserved;
};

/* A variable, which is at one address in each run of the emulator. */
struct object_remedy_range {
	uint64_t address, size;
	uint64_t kind; /* enum object_remedy */
};

struct object_remedy_list {
	uint64_t magic;
	uint32_t site_count, range_count;
	uint64_t pins; /* not 0: OBJECT_REMEDY_PIN holds for all processes */
	struct object_remedy_site sites[OBJECT_REMEDIES_MAX];
	struct object_remedy_range ranges[OBJECT_REMEDIES_MAX];
};

enum object_log_clock {
	OBJECT_CLOCK_MONOTONIC, /* ns */
	OBJECT_CLOCK_COUNTER, /* the processor's counter (TSC, CNTVCT_EL0), which advances evenly on all cores alike */
	OBJECT_CLOCK_TARGET,  /* cycles of the machine that dcpiemu emulates */
};

enum object_log_kind {
	OBJECT_BORN,    /* address, size, site */
	OBJECT_DIED,    /* address */
	OBJECT_RESIZED, /* address, its new size: realloc() that did not move it */
	OBJECT_MAPPED,  /* mmap(), mremap(), shmat(), brk(): address, size, site; it takes the place of what is there */
	OBJECT_UNMAPPED,    /* address, size: a part of a mapping, or of several; size 0: what shmat() mapped there */
	OBJECT_STACK,       /* of the thread that writes this: address, size */
	OBJECT_THREAD_LOCAL /* as OBJECT_STACK */
};

struct object_log_event {
	uint64_t time; /* as header.clock says; of one thread, each is later than the one before */
	uint64_t address, size;
	uint32_t site; /* OBJECT_LOG_NO_SITE: not known */
	uint16_t cpu;
	uint8_t kind; /* enum object_log_kind */
	uint8_t reserved;
};

/*
 * A chunk is taken by setting its number, while it is 0. The reader gives it back by clearing all before the events,
 * the number last. So a thread that keeps a chunk for long, because it makes no objects, is in nobody's way.
 */
struct object_log_chunk {
	uint64_t number; /* the chunks that were taken before it, + 1; 0: free */
	uint32_t tid;
	uint16_t written, published;
	uint32_t is_closed; /* the thread has another one, or has ended */
	uint32_t changes;   /* odd while the thread takes an event back, and another number after that */
	uint32_t is_read;   /* by the reader beside the keeper, which does not give it back */
	uint8_t reserved[4];
	struct object_log_event events[OBJECT_LOG_EVENTS];
};

struct object_log_site {
	uint64_t hash;  /* of the frames; 0: free */
	uint32_t count; /* of frames; set last */
	uint32_t reserved;
	uint64_t frames[OBJECT_LOG_FRAMES]; /* return addresses, the innermost first */
	uint64_t reserved_too;
};

/* A reader beside the keeper: header.beside. It holds a lock on the file (F_OFD_SETLK), which ends with it. */
enum object_log_beside {
	OBJECT_LOG_NOBODY,
	OBJECT_LOG_COPIES, /* the objects that live: the keeper changes nothing meanwhile */
	OBJECT_LOG_READS,  /* the keeper gives chunks back when both have read them */
};

struct object_log_header {
	uint64_t magic, size; /* of the file */
	uint32_t pid, number; /* number: of the programs that the process has executed */
	uint32_t site_max, chunk_count;
	uint32_t clock, reserved; /* enum object_log_clock */
	uint64_t began, began_ns; /* `clock` when the file was made, and CLOCK_MONOTONIC then, ns */
	uint64_t taken;           /* chunks that threads have taken */
	uint64_t given_back;      /* chunks that the reader has given back */
	uint64_t short_lived;     /* objects that were taken back; of each thread, up to 63 are not counted yet */
	uint64_t lost;            /* events for which the ring had no room */
	uint64_t unnamed;         /* objects for whose call chain the table had no room */
	uint64_t checked,
		wrong; /* call chains that were looked up by place, unwound again to check that; that differed */
	uint32_t parent_pid, parent_number; /* of the parent's log, if fork() made the process; else 0 */
	uint64_t forked;                    /* `clock` when it was; what the parent made before is the process's, too */
	uint32_t has_keeper;                /* a thread of the process reads the file, too */
	uint32_t pass;                      /* odd while that changes which objects live */
	uint32_t beside;                    /* enum object_log_beside */
	uint8_t padding[4096 - 16 * 8 - 3 * 4];
};

/*
 * The counter of OBJECT_CLOCK_COUNTER, read no later than what follows in the program; on x86-64 perhaps before what
 * precedes it has ended, even before another thread has given up a lock that the caller got.
 */
static inline uint64_t
object_log_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t count;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count)::"memory");
	return count;
#else
	return 0;
#endif
}

/* Likewise, but read when all that precedes it has been done. */
static inline uint64_t
object_log_counter_after(void)
{
#if defined(__x86_64__)
	__builtin_ia32_lfence();
#endif
	return object_log_counter();
}

_Static_assert(sizeof(struct object_log_event) == 32, "events have no holes");
_Static_assert(sizeof(struct object_log_chunk) == 4096, "a chunk is a page");
_Static_assert(sizeof(struct object_log_site) == 128, "sites have no holes");
_Static_assert(sizeof(struct object_log_header) == 4096, "what follows begins at a page");

/*
 * The reader of one file, while the process runs or afterwards. There is one at a time for a file, beside the process's
 * own (OBJECT_LOG_KEEPER): if the process has that, the other reader changes nothing of what there is.
 *
 * It reads by pread() and writes by pwrite(): a file that is truncated meanwhile is an error, and no signal. What it
 * reads is copied, then checked; a process that overwrites the file gets events, frames and counts that are wrong, but
 * bounded: counts of frames are at most OBJECT_LOG_FRAMES, kinds are those of enum object_log_kind, and one call of
 * object_log_reader_take() visits at most what the file has room for.
 *
 * Times are CLOCK_MONOTONIC ns here, or the target's cycles (OBJECT_CLOCK_TARGET). Those of different threads may be
 * some ten ns out of order, and equal: then an end comes before a beginning.
 *
 * Thread rule: one thread at a time.
 */
struct object_log_reader;

struct object_log_counts {
	uint64_t short_lived, lost, unnamed, checked, wrong; /* as in the header of the file */
};

/*
 * A duplicate of `fd` is kept. Chunks are given back if `fd` can be written to; else the process stops recording when
 * it has filled the file. NULL and errno: EAGAIN: the file is not complete yet, or its process was killed before it
 * was; EPROTO: it is no such file, or contradicts itself; ENOMEM; of fcntl(), fstat(), pread().
 */
struct object_log_reader *object_log_reader_new(int fd);

/*
 * Of the process itself: `file` is its mapping of the file, of `size` bytes. To read a chunk that has no room on a full
 * disk would be a SIGBUS: `has_room` says which have. NULL and errno: ENOMEM, EPROTO.
 */
typedef bool object_log_has_room(uint32_t chunk);
struct object_log_reader *object_log_reader_new_keeper(void *file, uint64_t size, object_log_has_room *has_room);

void object_log_reader_free(struct object_log_reader *reader); /* NULL is allowed */

/*
 * Before the first object_log_reader_take() of a log that a process writes: be its reader. 0; -EBUSY: another one is;
 * -EPROTO: it contradicts itself; of pread(), pwrite().
 */
int object_log_reader_claim(struct object_log_reader *reader);

/*
 * Whether the process keeps which objects live. Then the reader first takes those from it (memory/live_objects.h):
 * from object_log_reader_claim() on they do not change until object_log_reader_take(). Some of them are in the log,
 * too.
 */
bool object_log_reader_has_live(const struct object_log_reader *reader);

enum object_log_clock object_log_reader_clock(const struct object_log_reader *reader);
uint64_t object_log_reader_began(const struct object_log_reader *reader); /* the file, by its own clock */

/*
 * Whether fork() made the process, and its parent had a log: that one's pid and number, and when, by the clock of both
 * logs.
 */
bool object_log_reader_parent(const struct object_log_reader *reader, uint32_t *pid, uint32_t *number,
                              uint64_t *forked);

/*
 * `time` is of an event or of the header's `began`. The rate of a counter is that from the file's beginning to now. If
 * it is none that a counter has, the file is of another kind of machine: counts stay as they are.
 */
uint64_t object_log_reader_time(const struct object_log_reader *reader, uint64_t time);

/* 0 or an error, at which object_log_reader_take() ends. The time is converted. */
typedef int object_log_visit(void *context, uint32_t tid, const struct object_log_event *event);

/*
 * Visit what is new, the events of a thread in its order: those that are published, and those that are held and have a
 * time of at most `horizon`. If one of the latter is taken back after that, OBJECT_DIED is visited for it. `is_ended`:
 * the process has ended, so all that is written counts. A process that was killed while it took an event back leaves
 * the last held ones of that thread unreadable: they are left out.
 *
 * The end of a mapping or of what realloc() moved has the time before it, and is written after it: perhaps long after
 * `horizon`. An object_map that an end of an older time than the object's birth reaches must ignore it.
 *
 * 0; what a visit ended with; -EPROTO: the file contradicts itself; -ENOMEM; of pread(), pwrite(). After an error, the
 * next call goes on behind the last event that was visited.
 */
int object_log_reader_take(struct object_log_reader *reader, uint64_t horizon, bool is_ended, object_log_visit *visit,
                           void *context);

/* How many frames the call chain has, innermost first, and its hash (NULL: not asked for); 0: there is none. */
unsigned object_log_reader_frames(const struct object_log_reader *reader, uint32_t site,
                                  uint64_t frames[OBJECT_LOG_FRAMES], uint64_t *hash);

/* Until now. 0, -EPROTO: the file was truncated; of pread(). */
int object_log_reader_counts(const struct object_log_reader *reader, struct object_log_counts *counts);

#endif
