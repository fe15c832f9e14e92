/*
 * scope.h - the epochs and slices that a selection is about (private to profile/)
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_SCOPE_H
#define DCPI_PROFILE_SCOPE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/selection.h"
#include "profile/store.h"

struct scope {
	uint32_t *epochs; /* ascending, each with a slice */
	size_t epoch_count;
	struct scope_slice {
		uint32_t id; /* ascending */
		uint32_t epoch;
	} * slices;
	size_t slice_count;
};

/* As selection_read(), which see. *scope is the caller's to finish, also after an error. */
int scope_choose(const struct store *store, MDB_txn *txn, const struct selection_request *request, struct scope *scope,
                 char *why, size_t size);
void scope_fini(struct scope *scope);

#endif
