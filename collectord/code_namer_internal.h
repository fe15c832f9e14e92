/*
 * code_namer_internal.h - what the files of code_namer.h share
 */
#ifndef DCPI_COLLECTORD_CODE_NAMER_INTERNAL_H
#define DCPI_COLLECTORD_CODE_NAMER_INTERNAL_H

#include <pthread.h>

#include "collectord/block_set.h"
#include "collectord/capture_child.h"
#include "collectord/code_namer.h"

#define CODE_NAMER_WAIT_NS UINT64_C(10000000000) /* between two questions about an image */

/* An image whose process tells about its code. */
struct named {
	struct image image; /* its path is a copy */
	struct block_set blocks;
	bool is_fresh;                           /* blocks that nobody asked about */
	bool is_retired;                         /* the process has another image */
	bool is_cut_said, is_misunderstood_said; /* of what its process tells, in the log */
	unsigned failures;
	uint64_t seen; /* how much of the file was read */
	uint64_t noted_ns, due_ns;
	struct named *next;
};

/* An answer that is not stored yet. */
struct result {
	struct image image; /* its path is a copy */
	struct capture_outcome outcome;
	struct result *next;
};

#define CODE_NAMER_SHOWN_SIZE 96 /* of an image's path in the log, where processes chose it */

struct code_namer {
	struct code_namer_options options;
	pthread_t thread;
	int stop_bell;
	bool is_stopped; /* the owner's */
	int said_error;  /* the flusher's: of the last try to store, which the log has */

	pthread_mutex_t lock; /* everything below */
	pthread_cond_t changed;
	bool stop, hurry;
	struct named *images;
	size_t image_count, block_count;
	struct result *results; /* the newest first */
};

/* Whose path is a copy. 0 or -ENOMEM. */
int code_namer_copy_image(struct image *to, const struct image *from);
void code_namer_free_image(struct image *image);
void code_namer_free_result(struct result *result);

/* With the lock held, which is given up meanwhile. False: there was nothing to ask. */
bool code_namer_ask_about(struct code_namer *namer, struct named *named);

#endif
