/*
 * handle.h - what a struct profile holds (private to profile/)
 */
#ifndef DCPI_PROFILE_HANDLE_H
#define DCPI_PROFILE_HANDLE_H

#include <pthread.h>
#include <stdbool.h>

#include "profile/numbers.h"
#include "profile/place.h"
#include "profile/profile.h"
#include "profile/store.h"
#include "profile/sweep.h"

/* A flush whose last step failed: the disk may have it nevertheless. */
struct doubt {
	size_t transaction; /* LMDB's number of it; 0: there is no doubt */
	uint32_t slice;
	bool is_written; /* it is there: the same batch, given again, brings its numbers only */
};

/* The file that a compaction writes. */
struct copying {
	pthread_mutex_t lock;
	bool is_broken; /* and stays so */
	int fd;         /* -1: none */
};

struct profile {
	struct store store;
	int directory;
	int lock; /* the writer's, else -1 */
	char *path;
	uint64_t size_limit; /* as asked for: a larger file may have raised the store's */
	struct place place;
	struct doubt doubt;
	struct numbers images;
	struct numbers contexts;
	struct sweep sweep; /* see retention.h */
	struct copying copying;
	uint32_t begun; /* the last epoch that was begun here; 0: none */
};

#endif
