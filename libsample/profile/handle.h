/*
 * handle.h - what a struct profile holds (private to profile/)
 */
#ifndef DCPI_PROFILE_HANDLE_H
#define DCPI_PROFILE_HANDLE_H

#include "profile/numbers.h"
#include "profile/profile.h"
#include "profile/store.h"
#include "profile/sweep.h"

struct profile {
	struct store store;
	int directory;
	int lock; /* the writer's, else -1 */
	struct numbers images;
	struct numbers contexts;
	struct sweep sweep; /* see retention.h */
};

#endif
