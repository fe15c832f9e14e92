/*
 * record.h - the file in which a program that was compiled with compiler/pass.cc leaves what it entered
 *
 * The run-time library (compiler/runtime.c) maps it, shared: what was written is there however the process ends.
 *
 *   locality_header
 *   texts          LOCALITY_TEXT_BYTES: entries, struct locality_text
 *   locality_chunk[LOCALITY_CHUNKS]
 *
 * A thread records in bursts: all that it refers to for a while, then nothing until its countdown has ended. A burst is
 * a sequence of events, in chunks of the thread by their numbers. An event is words of 64 bits; the first has its kind
 * (8 bits from bit 0), the reference's number (16 bits from bit 8), a level (8 bits from bit 24), and the place of its
 * loop's text in the texts, in units of 8 bytes (32 bits from bit 32).
 *
 *   LOCALITY_BURST   references that the thread has made since the last burst
 *   LOCALITY_LOOP    iterations; the loop's references follow, each as one of the next two
 *   LOCALITY_STREAM  address of the first iteration, step
 *   LOCALITY_GATHER  address for an index of 0, coefficient, a word of how many indices there are (32 bits from bit 0)
 *                    and of how many bytes one is (8 bits from bit 56; negative: it has a sign), indices, filled up to
 *                    whole words; perhaps fewer than there are iterations
 *   LOCALITY_TOUCH   address
 *   LOCALITY_NEST    a nest of loops, each with the next as the only one in it; the level: how many; the number: what
 *                    each carries from one iteration to the next in registers, LOCALITY_CARRIES_..., two bits each;
 *                    iterations of each when it is entered, outermost first; the nest's references follow, each as
 *                    the next
 *   LOCALITY_PART    of the loop at that level, from 1 on, of the nest; address of the first iteration of all; steps of
 *                    the levels up to this one, outermost first. With LOCALITY_BEHIND in the level it comes behind the
 *                    loop within its loop, else before it; with LOCALITY_WITHIN that loop uses what it reads, and not
 *                    alone as the beginning of a sum
 *
 * A text is what the compiler says of a loop: a line of function, file, line, depth, 'e' (all is known at its entry, or
 * where it is left) or 'a' (each reference says its address), references that are left out, lines of the loops around
 * it with ',' between, the innermost first; then one of each reference: 'R' (it reads) or 'W', with 's' (stream), 'g'
 * (gather or scatter) or 'i' (irregular), bytes, line, name. Tabs are between.
 *
 * Where the compiler looked at the source, the basic blocks of functions have numbers: 0 is where one begins, 1 where
 * it ends; those from the function's count on are empty, and the compiler's. A loop's second line is then 'B', the
 * unique name of its function, the numbers of its header, of the block before it, and of one that runs as often as
 * events of the loop say, and those of its references' blocks, with ',' between. Loops with 'a' have such events, too,
 * if their iterations are known when they are entered. A function itself is a text whose depth is 0, with 'f'; an event
 * of it is a call. Its second line is 'B', its unique name, how many basic blocks it has, and from which to which it
 * may go, each as "2>3 ".
 */
#ifndef DCPI_LOCALITY_RECORD_H
#define DCPI_LOCALITY_RECORD_H

#include <stdint.h>

#define LOCALITY_DIRECTORY         "DCPI_LOCALITY"         /* environment: where records are made; empty: nowhere */
#define LOCALITY_PREFIX            "locality."             /* of a file's name: then the pid, '.' and a number */
#define LOCALITY_DEFAULT_DIRECTORY "/tmp/dcpi-locality-%u" /* without that, of a user */
#define LOCALITY_FILES_MAX         1000u                   /* in a directory: programs that begin then leave none */
#define LOCALITY_BYTES_MAX         (UINT64_C(1) << 30)     /* of these on the disk; likewise */
#define LOCALITY_MAGIC             UINT64_C(0x33636f6c69706364)
#define LOCALITY_TEXT_BYTES        (1u << 20)
#define LOCALITY_CHUNKS            512u
#define LOCALITY_CHUNK_BYTES       65536u
#define LOCALITY_WORDS             ((LOCALITY_CHUNK_BYTES - 32) / 8)
#define LOCALITY_BUILD_ID_MAX      20u
#define LOCALITY_LEVELS            4u   /* of a nest */
#define LOCALITY_BEHIND            128u /* in a level */
#define LOCALITY_WITHIN            64u
#define LOCALITY_LEVEL_MASK        63u

#define LOCALITY_CARRIES_SUMS  1u /* sums, or what else has another order for another rounding only */
#define LOCALITY_CARRIES_OTHER 2u /* or it has references that are not described */

enum locality_event {
	LOCALITY_BURST = 1,
	LOCALITY_LOOP,
	LOCALITY_STREAM,
	LOCALITY_GATHER,
	LOCALITY_TOUCH,
	LOCALITY_NEST,
	LOCALITY_PART,
};

struct locality_header {
	uint64_t magic, size;
	uint32_t pid, number;
	uint64_t began_ns;   /* since 1970 */
	uint32_t text_bytes; /* of texts that are used */
	uint32_t taken;      /* chunks; more than LOCALITY_CHUNKS: some had no room */
	uint32_t texts_lost; /* loops whose text had no room */
	uint32_t first_pid;  /* of the run: the process that began the program; its own, or a parent's that forked */
	uint64_t first_ns;   /* when that began, or its first child that has a record; both say which records are of one
	                        run */
	char program[2048];  /* path, 0-terminated */
	uint8_t padding[4096 - 2104];
};

struct locality_text {
	uint32_t bytes;         /* of all of it, a multiple of 8; set last */
	uint32_t build_id_size; /* 0: the program or library that has the loop was linked without one */
	uint8_t build_id[LOCALITY_BUILD_ID_MAX];
	uint32_t reserved;
	char text[]; /* 0-terminated */
};

struct locality_chunk {
	uint32_t number; /* from 1 on, as they were taken */
	uint32_t tid;
	uint32_t used; /* words, of whole events */
	uint32_t reserved;
	uint64_t reserved_too[2];
	uint64_t words[LOCALITY_WORDS];
};

static inline uint64_t
locality_event_word(enum locality_event kind, unsigned number, uint32_t text)
{
	return (uint64_t)kind | (uint64_t)(number & 0xffff) << 8 | (uint64_t)text << 32;
}

static inline uint64_t
locality_level_word(unsigned level)
{
	return (uint64_t)(level & 0xff) << 24;
}

_Static_assert(sizeof(struct locality_header) == 4096, "texts begin at a page");
_Static_assert(sizeof(struct locality_text) % 8 == 0, "texts are in units of 8 bytes");
_Static_assert(sizeof(struct locality_chunk) == LOCALITY_CHUNK_BYTES, "chunks begin at pages");

#endif
