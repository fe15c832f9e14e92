/*
 * profile.h - what the records of programs say of their loops, together: how often, where, how local
 *
 * A loop is the same if its text and its build are (locality/record.h): of several runs of a program, too.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_PROFILE_H
#define DCPI_TOOLS_LOC_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "locality/line_set.h"
#include "locality/record_read.h"
#include "locality/scores.h"

struct loc_reference {
	struct locality_score score;
	uint64_t low, high; /* the first addresses of its references; low > high: there are none */
	int64_t stride;     /* bytes to the next iteration's, of most of them */
	uint64_t strided;   /* how many have it, at least */
};

struct loc_loop {
	const struct locality_loop *loop;
	size_t record;       /* which has its text */
	uint32_t owner;      /* of lines in the profile's */
	uint64_t lines;      /* of 64 bytes that it refers to, as far as that is recorded; after loc_profile_finish() */
	uint64_t entries;    /* 0: its references say their addresses, and it is not known */
	uint64_t iterations; /* of all entries; likewise */
	uint64_t count;      /* of references by words (scores.h), also those that were not looked at one by one */
	uint64_t accesses;   /* likewise, but not by words */
	uint32_t words;      /* of an iteration */
	uint64_t in_burst;   /* of `count`, in the burst that is being added */
	double estimated;    /* references by words, also between bursts: what is skipped is as the burst behind it */
	struct locality_score score;
	struct loc_reference *references; /* [loop->count] */
};

enum stride_class {
	STRIDE_ITSELF,    /* the same address again */
	STRIDE_NEXT,      /* the element beside */
	STRIDE_FAR,       /* another one, always as far */
	STRIDE_INDEX,     /* by an index that is read */
	STRIDE_IRREGULAR, /* no stride that most have */
	STRIDE_CLASSES
};

struct loc_profile {
	struct locality_record **records;
	size_t record_count, record_room;
	struct loc_loop *loops; /* most references first, after loc_profile_finish() */
	size_t loop_count, loop_room;
	size_t function_count;    /* of them: calls of functions, which are no loops */
	uint64_t count;           /* of references */
	uint64_t accesses;        /* that these references are made by */
	uint64_t skipped;         /* references of loops between bursts, estimated by these two */
	double estimated;         /* of all loops */
	double left_out;          /* references of these loops that are not described: as often as the loops ran */
	uint64_t texts_lost;      /* loops whose text had no room in a record */
	bool is_full;             /* a record, or its disk, had no room for more */
	size_t damaged;           /* records that were read up to a fault */
	double spatial, temporal; /* of all references; temporal -1: not known */
	struct line_set lines;    /* by owners */
	struct line_keys *keys;   /* its memory; NULL before the first record */
	uint64_t covers_left;     /* lines of streams that may still be added one by one */
};

/* The loop's share of all references, after loc_profile_finish(). */
double loc_profile_share(const struct loc_profile *profile, const struct loc_loop *loop);

/* Which share of the references that these loops made is described, after loc_profile_finish(): 0 to 1. */
double loc_profile_described(const struct loc_profile *profile);

/* Whether `name` is the loop's FILE:LINE (FILE may be without its directory), or its function. */
bool loc_loop_is_called(const struct locality_loop *loop, const char *name);

void loc_profile_init(struct loc_profile *profile);
void loc_profile_fini(struct loc_profile *profile);

/* Add what is in a file. 0; an error of locality_record_read(). What was before a fault in its events is added. */
int loc_profile_add(struct loc_profile *profile, int fd);

/* Likewise, a record that was read; it is the profile's, also after an error. */
int loc_profile_add_record(struct loc_profile *profile, struct locality_record *record);

/* 0 or -ENOMEM: then no lines are known. */
int loc_profile_finish(struct loc_profile *profile);

/*
 * How many lines groups of loops refer to: `groups` has that of each loop, by owner, as line_keys_count() has it. 0 or
 * -ENOMEM.
 */
int loc_profile_count_lines(const struct loc_profile *profile, const uint32_t *groups, size_t group_count,
                            uint64_t *lines);

/* As how many references one counts in scores: those to a vector as one to each of its words, within a limit. */
uint32_t loc_reference_words(const struct locality_reference *reference);

enum stride_class loc_stride_class(const struct locality_reference *text, const struct loc_reference *reference);

#endif
