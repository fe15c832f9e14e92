#include "profile/numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/identity.h"

void
numbers_fini(struct numbers *numbers)
{
	free(numbers->numbers);
	memset(numbers, 0, sizeof(*numbers));
}

void
numbers_commit(struct numbers *numbers)
{
	numbers->count += numbers->pending;
	numbers->pending = 0;
}

void
numbers_abort(struct numbers *numbers)
{
	numbers->pending = 0;
}

uint32_t
numbers_get(const struct numbers *numbers, uint32_t session)
{
	return session < numbers->count + numbers->pending ? numbers->numbers[session] : 0;
}

void
numbers_forget(struct numbers *numbers)
{
	numbers->count = 0;
	numbers->pending = 0;
}

static int
numbers_reserve(struct numbers *numbers, uint32_t more)
{
	const uint64_t needed = (uint64_t)numbers->count + more;
	uint32_t *grown;

	if (needed > UINT32_MAX)
		return -EOVERFLOW;
	if (needed <= numbers->capacity)
		return 0;
	grown = array_grow(numbers->numbers, &numbers->capacity, needed, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	numbers->numbers = grown;
	return 0;
}

int
numbers_add_images(struct numbers *numbers, const struct store *store, MDB_txn *txn, const struct image *const *images,
                   uint32_t count)
{
	int err = numbers_reserve(numbers, count);

	for (uint32_t i = 0; !err && i < count; i++)
		err = identity_intern_image(store, txn, images[i], &numbers->numbers[numbers->count + i]);
	numbers->pending = err ? 0 : count;
	return err;
}

int
numbers_add_contexts(struct numbers *numbers, const struct store *store, MDB_txn *txn,
                     const struct context *const *contexts, uint32_t count)
{
	int err = numbers_reserve(numbers, count);

	for (uint32_t i = 0; !err && i < count; i++)
		err = identity_intern_context(store, txn, contexts[i], &numbers->numbers[numbers->count + i]);
	numbers->pending = err ? 0 : count;
	return err;
}
