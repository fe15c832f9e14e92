/*
 * epoch_choice.h - what an epoch expression means (private to profile/)
 */
#ifndef DCPI_PROFILE_EPOCH_CHOICE_H
#define DCPI_PROFILE_EPOCH_CHOICE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/store.h"

/*
 * The epochs that `expression` ("latest", "latest-N", "all", an id, a label) names among those whose host matches the
 * pattern `host` (NULL: any), ascending, for the caller to free (also after an error). 0; -EINVAL for what is no
 * expression; -DCPI_ENOSELECTION when there is no such epoch; both with a sentence in `why`.
 */
int epoch_choose(const struct store *store, MDB_txn *txn, const char *expression, const char *host, uint32_t **ids,
                 size_t *count, char *why, size_t size);

#endif
