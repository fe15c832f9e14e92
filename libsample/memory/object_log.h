/*
 * object_log.h - the file in which the tracker (tracker/) writes when memory objects begin and end, and its reader
 *
 * A process has one file, in the directory that $DCPI_OBJECTS names; a fork and an exec begin another one. It is mapped
 * and shared, so that all of it is there however the process ends:
 *
 *   object_log_header
 *   uint32_t[header.chunk_count]         enum object_log_state of each chunk
 *   object_log_site[header.site_max]     call chains, each once
 *   object_log_chunk[header.chunk_count] a thread takes a free one, and fills it alone; the reader frees closed ones
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

#define OBJECT_LOG_MAGIC   UINT64_C(0x3173746a626f6364) /* "dcobjts1" */
#define OBJECT_LOG_PREFIX  "objects."                   /* of the file's name; the process and a number follow */
#define OBJECT_LOG_FRAMES  13                           /* of a call chain */
#define OBJECT_LOG_EVENTS  127                          /* of a chunk */
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
	OBJECT_BORN,        /* address, size, site */
	OBJECT_DIED,        /* address */
	OBJECT_RESIZED,     /* address, its new size: realloc() that did not move it */
	OBJECT_MAPPED,      /* mmap(), mremap(), shmat(), brk(): address, size, site */
	OBJECT_UNMAPPED,    /* address, size: a part of a mapping, or of several; size 0: what shmat() mapped there */
	OBJECT_STACK,       /* of the thread that writes this: address, size */
	OBJECT_THREAD_LOCAL /* as OBJECT_STACK */
};

struct object_log_event {
	uint64_t time; /* as header.clock says */
	uint64_t address, size;
	uint32_t site; /* OBJECT_LOG_NO_SITE: not known */
	uint16_t cpu;
	uint8_t kind; /* enum object_log_kind */
	uint8_t reserved;
};

enum object_log_state {
	OBJECT_CHUNK_FREE,
	OBJECT_CHUNK_TAKEN, /* a thread prepares it */
	OBJECT_CHUNK_OPEN,
	OBJECT_CHUNK_CLOSED, /* the thread has another one, or has ended */
};

struct object_log_chunk {
	uint64_t number; /* the chunks that were taken before it, + 1 */
	uint32_t tid;
	uint16_t written, published;
	uint32_t changes; /* odd while the thread takes an event back */
	uint8_t reserved[12];
	struct object_log_event events[OBJECT_LOG_EVENTS];
};

struct object_log_site {
	uint64_t hash;  /* of the frames; 0: free */
	uint32_t count; /* of frames; set last */
	uint32_t reserved;
	uint64_t frames[OBJECT_LOG_FRAMES]; /* return addresses, the innermost first */
	uint64_t reserved_too;
};

struct object_log_header {
	uint64_t magic, size; /* of the file */
	uint32_t pid, number; /* number: of the programs that the process has executed */
	uint32_t site_max, chunk_count;
	uint32_t clock, reserved; /* enum object_log_clock */
	uint64_t began, began_ns; /* `clock` when the file was made, and CLOCK_MONOTONIC then, ns */
	uint64_t taken;           /* chunks that threads have taken, */
	uint64_t freed;           /* and that the reader has freed, of all time */
	uint64_t short_lived;     /* objects that were taken back */
	uint64_t lost;            /* events for which the ring had no room */
	uint64_t unnamed;         /* objects for whose call chain the table had no room */
	uint64_t checked,
		wrong; /* call chains that were looked up by place, unwound again to check that; that differed */
	uint8_t padding[4096 - 14 * 8];
};

_Static_assert(sizeof(struct object_log_event) == 32, "events have no holes");
_Static_assert(sizeof(struct object_log_chunk) == 4096, "a chunk is a page");
_Static_assert(sizeof(struct object_log_header) == 4096, "what follows begins at a page");

/* Where the parts of the file are. */
static inline uint64_t
object_log_sites_at(uint32_t chunk_count)
{
	return sizeof(struct object_log_header) + ((uint64_t)chunk_count * sizeof(uint32_t) + 4095) / 4096 * 4096;
}

static inline uint64_t
object_log_chunks_at(uint32_t chunk_count, uint32_t site_max)
{
	return object_log_sites_at(chunk_count) + (uint64_t)site_max * sizeof(struct object_log_site);
}

/*
 * ---- reading ----
 *
 * The file is read, never mapped, and every number in it is checked. Thread rule: one thread per reader.
 */

#define OBJECT_LOG_CHUNKS_MAX 65536
#define OBJECT_LOG_SITES_MAX  (1u << 20)

struct object_log_reader;

/*
 * Read the log that `fd`, which is duplicated, is open for; it must be writable for chunks to be freed. NULL and errno:
 * EPROTO (it is none, or is not complete yet), ENOMEM, or that of read(2).
 */
struct object_log_reader *object_log_reader_new(int fd);
void object_log_reader_free(struct object_log_reader *reader); /* NULL is allowed */

/* Its header as it was last read; only `magic` and sizes are checked. */
const struct object_log_header *object_log_reader_header(const struct object_log_reader *reader);

/* What is called for each event. 0, or an error, which ends the walk and is its result. */
typedef int object_log_visit(void *context, uint32_t tid, const struct object_log_event *event);

/*
 * Visit the events that were not visited yet: all that are published, and of those that may be taken back the ones that
 * are no later than `horizon`; if one of these is taken back nevertheless, an OBJECT_DIED follows. Events of a thread
 * come in the order of their time, but for those. `is_ended`: the process has ended, and all that is written counts.
 * Frees the chunks that were read. 0, an error of `visit`, -EPROTO: the file contradicts itself, or -errno.
 */
int object_log_reader_take(struct object_log_reader *reader, uint64_t horizon, bool is_ended, object_log_visit *visit,
                           void *context);

/* The call chain of a site: how many frames, and its hash in *hash (NULL: not asked for); 0: there is none. */
unsigned object_log_reader_frames(const struct object_log_reader *reader, uint32_t site,
                                  uint64_t frames[OBJECT_LOG_FRAMES], uint64_t *hash);

#endif
