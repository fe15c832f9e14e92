/*
 * epoch_expr.h - epoch expressions, and the epochs and slices that a request selects (private to profile/)
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_EPOCH_EXPR_H
#define DCPI_PROFILE_EPOCH_EXPR_H

#include <stddef.h>
#include <stdint.h>

#include "profile/selection.h"
#include "profile/store.h"

/*
 * The epochs that `expression` ("latest", "latest-N", "all", an id, a label) names among those whose host matches the
 * pattern `host` (NULL: any), ascending, for the caller to free (also after an error). 0; -EINVAL for what is no
 * expression; -DCPI_ENOSELECTION when there is no such epoch; both with a sentence in `why`.
 */
int epoch_expr_choose(const struct store *store, MDB_txn *txn, const char *expression, const char *host, uint32_t **ids,
                      size_t *count, char *why, size_t size);

/* The epochs and slices that a selection is about. */
struct scope {
	uint32_t *epochs; /* ascending, each with a slice */
	size_t epoch_count;
	struct scope_slice {
		uint32_t id; /* ascending; first, for array_compare_u32() */
		uint32_t epoch;
	} * slices;
	size_t slice_count;
};

/* Errors as selection_read(). *scope is the caller's to finish, also after an error. */
int scope_choose(const struct store *store, MDB_txn *txn, const struct selection_request *request, struct scope *scope,
                 char *why, size_t size);
void scope_fini(struct scope *scope);

#endif
