/*
 * record_read.h - read the file that a program left (locality/record.h), and what it referred to
 *
 * Nothing in the file is trusted: the program may have overwritten it, or write to it now. What is read is copied, then
 * checked, and references are bounded.
 *
 * Thread rule: one thread at a time for a record.
 */
#ifndef DCPI_LOCALITY_RECORD_READ_H
#define DCPI_LOCALITY_RECORD_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "locality/nest.h"

#define LOCALITY_NO_BLOCK   UINT32_MAX
#define LOCALITY_BLOCKS_MAX 16384u /* numbers of basic blocks are less */

/* A function may go from one of its basic blocks to another one. */
struct locality_edge {
	uint32_t from, to;
};

struct locality_reference {
	char access;      /* 'R' reads, 'W' writes */
	char kind;        /* 's' stream, 'g' gather or scatter, 'i' irregular */
	uint32_t bytes;   /* of an access */
	uint32_t line;    /* 0: not known */
	uint32_t block;   /* its number; LOCALITY_NO_BLOCK: blocks have none */
	const char *name; /* of what is referred to, "" if it has none */
};

struct locality_loop {
	const char *function, *file;          /* file: "" if it is not known */
	uint32_t line, depth;                 /* depth: 1 for an outermost loop */
	uint32_t left_out;                    /* references that are not described */
	uint32_t around[LOCALITY_LEVELS - 1]; /* lines of the loops around it, the innermost first; 0: not known */
	const uint8_t *build_id;              /* of the program or library that has the loop */
	uint32_t build_id_size;               /* 1 to LOCALITY_BUILD_ID_MAX (record.h), or 0: it has none */
	bool by_entry; /* its references are known when it is entered; else each says its address */
	uint32_t count;
	struct locality_reference *references;
	const char *unique_name;    /* of its function; "": blocks have no numbers, and of these the rest is 0 */
	uint32_t header, preheader; /* its first block, and the one before it */
	uint32_t counted;           /* a block that runs as often as the loop is said to iterate */
	bool is_function;           /* it is a function, each call as a loop that is entered, and no loop */
	uint32_t blocks;            /* of a function */
	uint32_t edge_count;        /* of a function; 0: they are not known */
	struct locality_edge *edges;
};

struct locality_record;

/*
 * `fd` is not kept. 0; -EAGAIN: it is not complete yet, or its process ended before it was; -EPROTO: it is no such
 * file, or damaged; -ENOMEM; of fstat(), pread().
 */
int locality_record_read(int fd, struct locality_record **record);
void locality_record_free(struct locality_record *record); /* NULL is allowed */

/* What begins it, checked: 0, or an error as above. */
int locality_header_read(int fd, struct locality_header *header);

const struct locality_header *locality_record_header(const struct locality_record *record);
const char *locality_record_program(const struct locality_record *record); /* its path; "": not known */
uint32_t locality_record_pid(const struct locality_record *record);
uint64_t locality_record_began(const struct locality_record *record); /* since 1970, ns */

/* What had no room: the program referred to more than is here; loops whose text had none. */
bool locality_record_is_full(const struct locality_record *record);
uint32_t locality_record_texts_lost(const struct locality_record *record);

size_t locality_record_loop_count(const struct locality_record *record);
const struct locality_loop *locality_record_loop(const struct locality_record *record, size_t loop);

/* What is called for what a thread did, in its order; one thread after the other. Each: 0, or an error that ends it. */
struct locality_visitor {
	/* A burst begins, `skipped` references after the last one ended. is_first: of the thread. */
	int (*begin)(void *context, uint32_t tid, uint64_t skipped, bool is_first);
	/* Loops whose references, or at least their iterations, are known then are entered; or a function is called,
	   which is as a loop without references. The nest is there during the call only. */
	int (*enter)(void *context, const struct locality_nest *nest);
	/* A reference of a nest, which was entered. NULL: not called. */
	int (*refer)(void *context, size_t loop, uint32_t reference, uint64_t address);
	/* One that said its address itself: of a loop whose references do, or of the last iteration of another loop,
	   which has not all of them. NULL: refer() is called. */
	int (*touch)(void *context, size_t loop, uint32_t reference, uint64_t address);
	void *context;
};

/*
 * References of a nest that was entered are visited in their order. Those beyond LOCALITY_VISITS_MAX of a record are
 * not visited, though nests are: enter() has all iterations.
 *
 * 0, what a visit ended with, -ENOMEM, or -EPROTO: the rest of the thread's events is damaged.
 */
#define LOCALITY_VISITS_MAX (UINT64_C(1) << 26)
int locality_record_visit(const struct locality_record *record, const struct locality_visitor *visitor);

#endif
