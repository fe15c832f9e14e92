/*
 * profile_internal.h - the members of a struct profile (for profile/ and salvage/)
 */
#ifndef DCPI_PROFILE_PROFILE_INTERNAL_H
#define DCPI_PROFILE_PROFILE_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>

#include "profile/directory.h"
#include "profile/ids.h"
#include "profile/profile.h"
#include "profile/retention.h"
#include "profile/store.h"

/* A flush whose commit failed: it may be on the disk nevertheless. */
struct uncertain_commit {
	size_t transaction; /* LMDB's number of it; 0: there is none */
	uint32_t slice;
	bool is_written; /* it is on the disk: of the same batch, given again, only the ids are taken */
};

/* The file that a compaction writes. */
struct compact_copy {
	pthread_mutex_t lock;
	bool is_canceled; /* never reset */
	int fd;           /* -1: none */
};

struct profile {
	struct store store;
	int directory;
	int lock; /* the writer's, else -1 */
	char *path;
	uint64_t size_limit; /* as asked for: a larger file may have raised the store's */
	struct directory_files files;
	struct uncertain_commit uncertain;
	struct ids_map images;
	struct ids_map contexts;
	struct gc gc;
	struct compact_copy copy;
	uint32_t begun; /* the last epoch that was begun by this profile; 0: none */
};

#endif
