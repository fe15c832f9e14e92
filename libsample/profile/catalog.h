/*
 * catalog.h - the labels and epochs of a database
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_CATALOG_H
#define DCPI_PROFILE_CATALOG_H

#include <stddef.h>
#include <stdint.h>

#include "profile/selection.h"

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

#endif
