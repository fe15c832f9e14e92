#include "profile/check.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/captured_table.h"
#include "profile/codec.h"
#include "profile/identity.h"
#include "profile/symbol_blob.h"

bool
check_numbers_have(const struct check_numbers *numbers, uint32_t number)
{
	size_t low = 0, high = numbers->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (numbers->numbers[middle] == number)
			return true;
		if (numbers->numbers[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static int
remember(struct check_numbers *numbers, uint32_t number)
{
	uint32_t *grown = array_grow(numbers->numbers, &numbers->capacity, numbers->count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	numbers->numbers = grown;
	grown[numbers->count++] = number;
	return 0;
}

/* A thing that was found under `key`: does it decode, and does its identity lead to it? */
static int
visit_thing(struct check *check, const struct identity_kind *kind, struct check_numbers *numbers, const MDB_val *key,
            const MDB_val *value)
{
	const char *things = table_name(kind->things), *ids = table_name(kind->ids);
	uint32_t number;
	int err;

	if (store_key_number(key, &number)) {
		check_complain(check, "%s: a key of %zu bytes", things, key->mv_size);
		return 0;
	}
	err = identity_check(kind, check->store, check->txn, number, value);
	if (err == -ENOMEM)
		return err;
	if (err == -DCPI_EDAMAGED)
		check_complain(check, "%s: %u cannot be read", things, number);
	else if (err)
		check_complain(check, "%s: %u cannot be found in %s: %s", things, number, ids, error_text(err));
	return remember(numbers, number);
}

static int
visit_id(struct check *check, const struct identity_kind *kind, const struct check_numbers *numbers, const MDB_val *key,
         const MDB_val *value)
{
	const char *ids = table_name(kind->ids);
	uint64_t hash;
	uint32_t number;
	int err;

	if (identity_key_decode(key, value, &hash, &number)) {
		check_complain(check, "%s: an entry cannot be read", ids);
		return 0;
	}
	if (!check_numbers_have(numbers, number)) {
		check_complain(check, "%s: %u is not in %s", ids, number, table_name(kind->things));
		return 0;
	}
	err = identity_check_hash(kind, check->store, check->txn, number, hash);
	if (err == -ENOMEM)
		return err;
	if (err)
		check_complain(check, "%s: %u stands under another identity", ids, number);
	return 0;
}

static int
visit_image(struct check *check, const MDB_val *key, const MDB_val *value)
{
	return visit_thing(check, &identity_images, &check->images, key, value);
}

static int
visit_image_id(struct check *check, const MDB_val *key, const MDB_val *value)
{
	return visit_id(check, &identity_images, &check->images, key, value);
}

static int
visit_context(struct check *check, const MDB_val *key, const MDB_val *value)
{
	return visit_thing(check, &identity_contexts, &check->contexts, key, value);
}

static int
visit_context_id(struct check *check, const MDB_val *key, const MDB_val *value)
{
	return visit_id(check, &identity_contexts, &check->contexts, key, value);
}

int
check_images(struct check *check)
{
	int err = check_table(check, TABLE_IMAGES, visit_image);

	return err ? err : check_table(check, TABLE_IMAGE_IDS, visit_image_id);
}

int
check_contexts(struct check *check)
{
	int err = check_table(check, TABLE_CONTEXTS, visit_context);

	return err ? err : check_table(check, TABLE_CONTEXT_IDS, visit_context_id);
}

static int
visit_symbols(struct check *check, const MDB_val *key, const MDB_val *value)
{
	struct profile_symbol *symbols;
	uint32_t number;
	size_t count;
	int err;

	if (store_key_number(key, &number)) {
		check_complain(check, "symbols: a key of %zu bytes", key->mv_size);
		return 0;
	}
	if (!check_numbers_have(&check->images, number))
		check_complain(check, "symbols: image %u is not in images", number);
	err = symbol_blob_decode(value->mv_data, value->mv_size, &symbols, &count);
	if (err == -ENOMEM)
		return err;
	if (err)
		check_complain(check, "symbols: those of image %u cannot be read", number);
	else
		free(symbols);
	return 0;
}

static int
visit_text(struct check *check, const MDB_val *key, const MDB_val *value)
{
	uint32_t number, block;
	int err;

	if (captured_key_decode(key->mv_data, key->mv_size, &number, &block)) {
		check_complain(check, "text: a key of %zu bytes", key->mv_size);
		return 0;
	}
	if (!check_numbers_have(&check->images, number))
		check_complain(check, "text: image %u is not in images", number);
	err = captured_value_check(block, value->mv_data, value->mv_size);
	if (err == -ENOMEM)
		return err;
	if (err && block == CAPTURED_BLOCK_NONE)
		check_complain(check, "text: the layout of image %u cannot be read", number);
	else if (err)
		check_complain(check, "text: block %u of image %u cannot be read", block, number);
	return 0;
}

int
check_text(struct check *check)
{
	return check->store->has[TABLE_TEXT] ? check_table(check, TABLE_TEXT, visit_text) : 0;
}

int
check_symbols(struct check *check)
{
	return check_table(check, TABLE_SYMBOLS, visit_symbols);
}
