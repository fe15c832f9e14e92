/*
 * catalog.h - the epochs, slices and contexts of a database, and which of them a request chooses
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_CATALOG_H
#define DCPI_PROFILE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/selection.h"

struct MDB_txn;
struct store;

/*
 * The labels of the contexts that match request->comm, ->cgroup and ->label, each once, "run.9" before "run.10"; not
 * the empty one. Free them with catalog_free_labels(). 0, or as selection_read(): -DCPI_ENOSELECTION with a sentence in
 * `why` when no context matches.
 */
int catalog_labels(struct profile *profile, const struct selection_request *request, char ***labels, size_t *count,
                   char *why, size_t size);
void catalog_free_labels(char **labels, size_t count);

/*
 * The epochs that request->epoch names, of request->host, ascending; the caller frees them. Errors as
 * selection_read().
 */
int catalog_choose_epochs(struct profile *profile, const struct selection_request *request, uint32_t **ids,
                          size_t *count, char *why, size_t size);

/* An epoch in a list. */
struct epoch_summary {
	uint32_t id;
	bool is_kept, is_imported;
	uint64_t start_ns, end_ns;
	char label[EPOCH_LABEL_SIZE];
	char host[EPOCH_TEXT_SIZE];
};

/* All epochs, ascending by id; the caller frees the array. 0 or an error. */
int catalog_read_epochs(struct profile *profile, struct epoch_summary **epochs, size_t *count);

/* ---- for selections ---- */

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
int scope_choose(const struct store *store, struct MDB_txn *txn, const struct selection_request *request,
                 struct scope *scope, char *why, size_t size);
void scope_fini(struct scope *scope);

/* The contexts that a selection is about. */
struct context_filter {
	bool all;          /* the request has no patterns */
	uint32_t *numbers; /* ascending */
	size_t count;
};

/*
 * 0; -DCPI_ENOSELECTION with a sentence in `why` when no context matches. *filter is the caller's to finish, also after
 * an error.
 */
int context_filter_init(const struct store *store, struct MDB_txn *txn, const struct selection_request *request,
                        struct context_filter *filter, char *why, size_t size);
bool context_filter_has(const struct context_filter *filter, uint32_t number);
void context_filter_fini(struct context_filter *filter);

#endif
