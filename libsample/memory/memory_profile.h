/*
 * memory_profile.h - the memory objects of a run that were accessed, samples of the accesses, and the rows that keep
 * them
 *
 * Everything is numbered from 0 in its array. Texts are in one table; text 0 is "". Accesses are sampled: each stands
 * for `weight` of them. Times are nanoseconds from the start of the run.
 *
 * As rows of a database (profile/memory_rows.h) a profile has parts, and a part has rows, of some 64 KiB: byte strings
 * that memory_profile_encode() makes and memory_profile_decode() reads, which trusts nothing in it.
 *
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_MEMORY_MEMORY_PROFILE_H
#define DCPI_MEMORY_MEMORY_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_NODES_MAX 64         /* with the two that are not known */
#define MEMORY_NODE_HERE 62         /* of a thread's own, which is not known; nodes that are known are below */
#define MEMORY_NODE_AWAY 63         /* another than the thread's: which one is not known */
#define MEMORY_NOTHING   UINT32_MAX /* the number of what is not known */
#define MEMORY_ALIVE     UINT64_MAX /* when an object ended that did not */

/* Stored: never renumber. */
enum memory_kind {
	MEMORY_HEAP = 0,
	MEMORY_MAPPING = 1, /* mmap() without a file, shmat(), brk() */
	MEMORY_STATIC = 2,  /* a variable of a program or library; or all of its data, where the variable has no name */
	MEMORY_FILE = 3,    /* a mapped file's contents */
	MEMORY_STACK = 4,
	MEMORY_THREAD_LOCAL = 5,
	MEMORY_UNKNOWN = 6, /* addresses of which nothing is known */
};
#define MEMORY_KINDS 7

const char *memory_kind_text(enum memory_kind kind); /* "heap", ... */

/* Where the line was. Stored: never renumber. */
enum memory_level {
	MEMORY_CACHE = 0,      /* the last level of the accessing core's own caches */
	MEMORY_DRAM = 1,       /* memory of `page_node` */
	MEMORY_PREFETCHED = 2, /* a prefetcher had fetched it, from memory or the last level: first use */
	MEMORY_OWN = 3, /* another cache of the core's own: it costs nothing, and tells who uses which byte of a line */
	MEMORY_WATCHED =
		4, /* no access: a word of this page was watched for writes, each of which is an access beside it */
};
#define MEMORY_LEVELS 5

/* Bits of memory_access.flags. Stored: never renumber. */
#define MEMORY_STORE    1 /* it wrote, as atomic updates do, too */
#define MEMORY_TRANSFER 2 /* another core had written the line, or had to give it up */
#define MEMORY_FAR      4 /* that core is on another node */
#define MEMORY_ATOMIC   8 /* with MEMORY_STORE: an atomic update, for which the thread waits as for a load */

struct memory_access {
	uint64_t time_ns;
	uint64_t offset; /* in the object; in MEMORY_UNKNOWN ones the address */
	uint32_t object;
	uint32_t thread;
	uint32_t place;    /* the instruction */
	uint32_t cycles;   /* that it took, hidden or not; 0: not measured */
	uint32_t cost;     /* cycles of these that were not hidden, as far as is known */
	uint32_t weight;   /* 1 or more */
	uint8_t node;      /* on which the thread ran */
	uint8_t page_node; /* in whose memory the address is */
	uint8_t level;     /* enum memory_level */
	uint8_t flags;     /* MEMORY_... */
};

/* Whether memory served it, or a prefetcher from there; and whether that was another node's. */
static inline bool
memory_access_is_of_memory(const struct memory_access *access)
{
	return access->level == MEMORY_DRAM || access->level == MEMORY_PREFETCHED;
}

static inline bool
memory_access_is_remote(const struct memory_access *access)
{
	return memory_access_is_of_memory(access) && access->node != access->page_node;
}

struct memory_object {
	uint64_t address, size;
	uint64_t born_ns, died_ns; /* born 0: before the run, or not known when; died: or MEMORY_ALIVE */
	uint32_t process;
	uint32_t site;   /* call chain that made it; MEMORY_NOTHING */
	uint32_t name;   /* text: what the variable or file is called; of objects without a site */
	uint32_t number; /* among those with its site, or its name, from 1 on */
	uint32_t thread; /* that made it; MEMORY_NOTHING */
	uint32_t type;   /* of a variable, by its declaration; 0: not known */
	uint8_t kind;    /* enum memory_kind */
};

/* A call chain: `count` places from `first` of memory_profile.frames, the innermost first. */
struct memory_site {
	uint32_t name; /* text: "makeMatrix+0x60" */
	uint32_t first, count;
	uint32_t type; /* of what a function of the chain returns a pointer to; 0: not known */
};

/* An instruction. */
struct memory_place {
	uint32_t function; /* text: "makeMatrix", or "libfoo.so+0x1130" */
	uint32_t image;    /* text: its path */
	uint32_t source;   /* text: its source file; 0: not known */
	uint32_t line;
	uint64_t offset;      /* in the image */
	uint64_t distance;    /* from the start of the function */
	uint32_t type;        /* of what it accesses; 0: not known */
	uint64_t type_offset; /* of what it accesses, in the type */
};

/* A type, as DWARF has it: an array is its element. Types are numbered from 1 on. */
struct memory_type {
	uint32_t name;         /* text: "struct node", "bank::account", "uint64_t" */
	uint64_t size;         /* bytes, at least 1 */
	uint32_t first, count; /* memory_profile.fields; none: it is no structure */
};

/*
 * A member that has no members itself. It is there `count` times, `stride` bytes apart, each time `size` bytes. Members
 * of a union are at one place.
 */
struct memory_field {
	uint32_t name;         /* text, with the path to it: "link.next", "slots[].value" */
	uint64_t offset;       /* in the type */
	uint64_t size, stride; /* at least 1 */
	uint64_t count;        /* at least 1; UINT64_MAX: up to the end of the object */
};

struct memory_thread {
	uint32_t process, tid;
};

struct memory_process {
	uint32_t pid, number; /* number: of the programs that it executed */
	uint32_t name;        /* text */
};

/* What was counted, for the whole run. Stored by position: append only. */
struct memory_totals {
	uint64_t counted;     /* accesses from which samples were taken */
	uint64_t busy_cycles; /* of all cores together; 0: not known */
	uint64_t elapsed_ns;
	uint64_t short_lived;   /* objects that were left out, because they lived for a moment */
	uint64_t lost_events;   /* beginnings and ends of objects for which there was no room */
	uint64_t lost_accesses; /* samples for which there was none */
	uint64_t unnamed;       /* objects whose call chain had no room */
	uint64_t late_events;   /* accesses and beginnings that arrived when something later had been applied already */
	uint64_t untracked;     /* processes whose objects are not known */
	uint64_t clock_khz;     /* of a core: cycles */
	uint64_t nodes;
	uint64_t node_cores;    /* of a node */
	uint64_t local_cycles;  /* that an access of idle memory of the core's own node takes; 0: not known */
	uint64_t remote_cycles; /* that an access of another node's takes more; 0: not known */
	uint64_t line_bytes;
	uint64_t page_bytes; /* 0: not known */
	uint64_t counts; /* 1: the source has no times; each remote access costs 1, and busy_cycles is the accesses */
};
#define MEMORY_TOTALS (sizeof(struct memory_totals) / sizeof(uint64_t))

struct memory_profile {
	struct memory_totals totals;
	uint32_t source;                /* text: "emulated e5-2699v3-2s" */
	struct memory_access *accesses; /* ascending by time */
	struct memory_object *objects;
	struct memory_site *sites;
	struct memory_place *places;
	struct memory_thread *threads;
	struct memory_process *processes;
	struct memory_type *types;
	struct memory_field *fields;
	uint32_t *frames; /* places */
	char *text;       /* all texts, each with its end */
	uint32_t *texts;  /* where each is in `text` */
	size_t access_count, object_count, site_count, place_count, thread_count, process_count, frame_count,
		text_count, type_count, field_count;
	size_t access_room, object_room, site_room, place_room, thread_room, process_room, frame_room, text_room,
		type_room, field_room;
	size_t text_bytes, text_bytes_room;
	uint64_t announced_objects, announced_accesses; /* of a profile that is read: by its first row */
	struct memory_text *known;                      /* texts by their contents */
};

/* `profile` is empty; 0 or -ENOMEM. */
int memory_profile_init(struct memory_profile *profile);
void memory_profile_fini(struct memory_profile *profile); /* a zeroed one is allowed */

/* Find or add a text. Its number, or MEMORY_NOTHING: no memory. */
uint32_t memory_profile_add_text(struct memory_profile *profile, const char *text);
const char *memory_profile_text(const struct memory_profile *profile, uint32_t number); /* "?": there is none */

const struct memory_type *memory_profile_type(const struct memory_profile *profile, uint32_t number); /* NULL: none */

uint64_t memory_profile_line_bytes(const struct memory_profile *profile); /* of a cache line; 64 if that is not known */

/* Append, not initialized; NULL: no memory. */
struct memory_access *memory_profile_add_access(struct memory_profile *profile);
struct memory_object *memory_profile_add_object(struct memory_profile *profile);
struct memory_site *memory_profile_add_site(struct memory_profile *profile);
struct memory_place *memory_profile_add_place(struct memory_profile *profile);
struct memory_thread *memory_profile_add_thread(struct memory_profile *profile);
struct memory_process *memory_profile_add_process(struct memory_profile *profile);
uint32_t *memory_profile_add_frame(struct memory_profile *profile);
struct memory_type *memory_profile_add_type(struct memory_profile *profile);
struct memory_field *memory_profile_add_field(struct memory_profile *profile);

/* Leave out about every other access, and let each of the others stand for twice as many. */
void memory_profile_thin(struct memory_profile *profile);

/* The name of an object, or of all with its site or name: "makeMatrix+0x60". */
const char *memory_object_name(const struct memory_profile *profile, const struct memory_object *object);

/* ---- rows ---- */

/* In the order in which they are written. Stored: never renumber. */
enum memory_part {
	MEMORY_PART_HEAD = 0, /* one row: source, totals, how many objects and accesses there are */
	MEMORY_PART_TEXTS = 1,
	MEMORY_PART_PLACES = 2,
	MEMORY_PART_SITES = 3,
	MEMORY_PART_PROCESSES = 4,
	MEMORY_PART_THREADS = 5,
	MEMORY_PART_OBJECTS = 6,
	MEMORY_PART_ACCESSES = 7,
	MEMORY_PART_TYPES = 8,
	MEMORY_PART_LOOPS = 32, /* of no memory profile: records of loops (locality/record_rows.h) */
};
#define MEMORY_PARTS 9

/* A row of a part, `number` from 0 on. 0, or an error, which ends the walk and is its result. */
typedef int memory_row_visit(void *context, enum memory_part part, uint32_t number, const void *row, size_t size);

/* 0, -ENOMEM, or what `visit` returned. */
int memory_profile_encode(const struct memory_profile *profile, memory_row_visit *visit, void *context);

/*
 * Take the next row of an empty profile, in the order in which memory_profile_encode() gives them. 0, -ENOMEM,
 * -DCPI_EDAMAGED.
 */
int memory_profile_decode(struct memory_profile *profile, enum memory_part part, const void *row, size_t size);

/* After the last row: whether all that is referred to is there. 0 or -DCPI_EDAMAGED. */
int memory_profile_check(const struct memory_profile *profile);

#endif
