/*
 * context_filter.h - the contexts that a selection is about (private to profile/)
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_CONTEXT_FILTER_H
#define DCPI_PROFILE_CONTEXT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/selection.h"
#include "profile/store.h"

struct context_filter {
	bool all;          /* the request has no patterns */
	uint32_t *numbers; /* ascending */
	size_t count;
};

/*
 * 0; -DCPI_ENOSELECTION with a sentence in `why` when no context matches. *filter is the caller's to finish, also after
 * an error.
 */
int context_filter_init(const struct store *store, MDB_txn *txn, const struct selection_request *request,
                        struct context_filter *filter, char *why, size_t size);
bool context_filter_has(const struct context_filter *filter, uint32_t number);
void context_filter_fini(struct context_filter *filter);

#endif
