/*
 * numbers.h - from the session's numbers of images and contexts to the database's (private to profile/)
 *
 * Filled while a transaction is written, kept when it is committed, forgotten when it is not.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_NUMBERS_H
#define DCPI_PROFILE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "process/context_table.h"
#include "process/image_table.h"
#include "profile/store.h"

struct numbers {
	uint32_t *numbers; /* by the session's number */
	uint32_t count;    /* committed */
	uint32_t pending;  /* of the transaction under way, behind those */
	size_t capacity;
};

void numbers_fini(struct numbers *numbers);
void numbers_forget(struct numbers *numbers); /* all of them */
void numbers_commit(struct numbers *numbers);
void numbers_abort(struct numbers *numbers);

/* The database's number, 0 when `session` has none. */
uint32_t numbers_get(const struct numbers *numbers, uint32_t session);

/* Find or store images (contexts) and take down their numbers; 0 or an error. */
int numbers_add_images(struct numbers *numbers, const struct store *store, MDB_txn *txn,
                       const struct image *const *images, uint32_t count);
int numbers_add_contexts(struct numbers *numbers, const struct store *store, MDB_txn *txn,
                         const struct context *const *contexts, uint32_t count);

#endif
