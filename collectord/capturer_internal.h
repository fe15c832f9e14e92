/*
 * capturer_internal.h - what the capturer's files share
 */
#ifndef DCPI_COLLECTORD_CAPTURER_INTERNAL_H
#define DCPI_COLLECTORD_CAPTURER_INTERNAL_H

#include <pthread.h>

#include "collectord/capture_child.h"
#include "collectord/capturer.h"
#include "collectord/place_table.h"

/* An image that gets samples. */
struct capture_entry {
	const struct image *image;
	struct image_place place; /* who ran it last */
	uint64_t size;            /* of its file; 0: not known */
	uint64_t text_size;       /* of a module; 0: not known */
	bool is_wanted;           /* of a kind that can be captured at all */
	bool is_volatile;         /* its file may soon be gone */
	bool is_packaged;         /* it stays where it is until a package is upgraded, or the machine starts again */
	bool has_names;           /* the database has, or is about to have, names and layout */
	bool has_extent;          /* `known` is what the database has */
	bool is_busy;             /* asked about, and the answer not stored yet */
	bool is_answered;         /* that answer has come */
	bool is_given_up;
	bool is_roots;     /* its file is (process/mapped_file.h) */
	bool is_outranked; /* the database has what root's file of that build-id gave: this one may add nothing */
	uint32_t *known;
	size_t known_count;
	uint64_t samples;
	uint64_t fresh; /* samples in granules that were not asked for */
	unsigned rounds;
	uint64_t due_ns;   /* CLOCK_MONOTONIC: not before */
	uint64_t asked_ns; /* likewise, when it was asked about last, or seen first */
};

/* The images of one session. */
struct capture_set {
	struct capture_set *next;
	const struct image_table *images;
	struct capture_entry *entries; /* by number */
	size_t count, capacity;
	struct place_table places;
};

/* An answer that is not stored yet. */
struct capture_result {
	struct capture_result *next;
	struct image image; /* its path is `path` */
	char *path;
	bool had_extent; /* the question said what there was */
	bool is_whole;   /* as if there were nothing: neither names nor text */
	bool had_known;  /* there was text */
	bool had_places; /* and where samples were */
	bool was_packaged;
	unsigned tries; /* to store it */
	struct capture_outcome outcome;
};

struct capturer {
	struct capturer_options options;
	pthread_t thread;
	int stop_bell; /* readable when a process must end */

	pthread_mutex_t lock; /* everything below */
	pthread_cond_t changed;
	bool stop;
	struct capture_set *sets;
	struct capture_result *results; /* the oldest first */
	size_t result_bytes;
	int64_t allowance_ns; /* processor time that may be spent; debts are paid by waiting */
	int64_t saved_ns;     /* likewise, that samples have paid for packages */
	uint64_t cpu_ns;      /* that all runs used */
	uint64_t refilled_ns; /* CLOCK_MONOTONIC */
	uint64_t began_ns;    /* likewise */
	int64_t advanced_ns;  /* the most that was spent in advance while it started */
	uint64_t full_until_ns;
	uint64_t taken, failed, bytes;
	bool kernel_is_closed;
	bool is_full_said, is_refused_said;
};

/* With the lock held. NULL: there is none. */
struct capture_set *capturer_find_set(struct capturer *capturer, const struct image_table *images);

/* The entry of this identity and its set, or NULL: it was forgotten meanwhile. */
struct capture_entry *capturer_find_entry(struct capturer *capturer, const struct image *image,
                                          struct capture_set **set);

/* *image with its build-id, if it is a file that has one by now: so the database has it. */
struct image capturer_complete(const struct capturer *capturer, const struct image *image);

void capture_result_free(struct capture_result *result);

/* Its file may soon be gone, and the database has no names of it, or no text where samples are. */
bool capture_entry_is_at_risk(const struct capture_entry *entry);

/* Samples that were taken pay for what packages installed. With the lock held. */
void capturer_pay(struct capturer *capturer, uint64_t samples);

/* What `entry` was asked for did not come: all its places are new again. With the lock held. */
void capturer_want_again(struct capture_set *set, struct capture_entry *entry);

/* When `entry` may be asked about next. */
void capturer_postpone(struct capture_entry *entry, uint64_t now_ns);

#endif
