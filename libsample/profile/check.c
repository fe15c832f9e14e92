#include "profile/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "profile/handle.h"
#include "profile/meta.h"

void
check_complain(struct check *check, const char *format, ...)
{
	char text[CHECK_TEXT_SIZE];
	va_list arguments;

	/* In a version that has gone nothing is as it was: what is complained of was seen before this look. */
	if (!check->gone)
		check->gone = readers_check(check->store);
	if (check->gone)
		return;
	check->complaints++;
	if (!check->complain)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	check->complain(check->context, text);
}

int
check_table(struct check *check, enum table table,
            int (*visit)(struct check *check, const MDB_val *key, const MDB_val *value))
{
	struct store_walk walk;
	int result, err = 0;

	result = store_walk_begin(check->store, check->txn, table, &walk);
	if (!result) {
		while (!err && (result = store_walk_next(&walk)) > 0)
			err = visit(check, &walk.key, &walk.value);
		store_walk_end(&walk);
	}
	if (!err && result < 0)
		check_complain(check, "%s: cannot be read: %s", table_name(table), error_text(result));
	return err;
}

static int
visit_meta(struct check *check, const MDB_val *key, const MDB_val *value)
{
	char name[32], shown[sizeof(name) * 4];

	if (meta_decode(key->mv_data, key->mv_size, value->mv_data, value->mv_size) == 0)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(key->mv_size < sizeof(name) ? key->mv_size : sizeof(name) - 1),
	         (const char *)key->mv_data);
	check_complain(check, "meta: %s means nothing", escape_text(name, shown, sizeof(shown)));
	return 0;
}

static int
check_all(struct check *check)
{
	int err;

	err = check_table(check, TABLE_META, visit_meta);
	if (!err)
		err = check_epochs(check);
	if (!err)
		err = check_slices(check);
	if (!err)
		err = check_images(check);
	if (!err)
		err = check_contexts(check);
	if (!err)
		err = check_counts(check);
	if (!err)
		err = check_edges(check);
	if (!err)
		err = check_symbols(check);
	if (!err)
		err = check_text(check);
	if (!err)
		err = check_label_times(check);
	return err;
}

int64_t
profile_check(struct profile *profile, profile_complaint *complain, void *context)
{
	struct check check = {.store = &profile->store, .complain = complain, .context = context};
	int err;

	err = store_begin(&profile->store, false, &check.txn);
	if (err)
		return err;
	err = store_leave(&profile->store, check.txn, check_all(&check));
	free(check.epochs);
	free(check.slices);
	free(check.images.numbers);
	free(check.contexts.numbers);
	if (!err)
		err = check.gone;
	return err ? err : check.complaints;
}
