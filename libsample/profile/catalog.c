#include "profile/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/context_filter.h"
#include "profile/epoch_expr.h"
#include "profile/epoch_table.h"
#include "profile/profile_internal.h"
#include "profile/records.h"

struct label_list {
	char **texts;
	size_t count, capacity;
};

static int
labels_add(struct label_list *list, const char *label)
{
	char **texts;

	if (!label[0] || (list->count > 0 && strcmp(list->texts[list->count - 1], label) == 0))
		return 0;
	texts = array_grow(list->texts, &list->capacity, list->count + 1, sizeof(char *));
	if (!texts)
		return -ENOMEM;
	list->texts = texts;
	texts[list->count] = strdup(label);
	return texts[list->count] ? (list->count++, 0) : -ENOMEM;
}

static int
labels_read(const struct store *store, MDB_txn *txn, const struct context_filter *filter, struct label_list *list)
{
	struct context_record record;
	struct store_walk walk;
	uint32_t number;
	int result, err;

	err = store_walk_begin(store, txn, TABLE_CONTEXTS, &walk);
	if (err)
		return err;
	while ((result = store_walk_next(&walk)) > 0) {
		err = store_key_number(&walk.key, &number);
		if (!err && !context_filter_has(filter, number))
			continue;
		if (!err)
			err = context_record_decode(walk.value.mv_data, walk.value.mv_size, &record);
		if (!err)
			err = labels_add(list, record.context.label);
		if (err)
			break;
	}
	store_walk_end(&walk);
	return err ? err : result;
}

static int
compare_labels(const void *left, const void *right)
{
	const char *a = *(char *const *)left, *b = *(char *const *)right;
	int order = strverscmp(a, b);

	return order ? order : strcmp(a, b);
}

static void
labels_sort(struct label_list *list)
{
	size_t kept = 0;

	if (list->count == 0)
		return;
	qsort(list->texts, list->count, sizeof(char *), compare_labels);
	for (size_t i = 1; i < list->count; i++) {
		if (strcmp(list->texts[kept], list->texts[i]) != 0)
			list->texts[++kept] = list->texts[i];
		else
			free(list->texts[i]);
	}
	list->count = kept + 1;
}

int
catalog_labels(struct profile *profile, const struct selection_request *request, char ***labels, size_t *count,
               char *why, size_t size)
{
	struct context_filter filter;
	struct label_list found = {0};
	MDB_txn *txn;
	int err;

	if (size > 0)
		why[0] = '\0';
	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = context_filter_init(&profile->store, txn, request, &filter, why, size);
	if (!err)
		err = labels_read(&profile->store, txn, &filter, &found);
	context_filter_fini(&filter);
	err = store_leave(&profile->store, txn, err);
	if (err == -DCPI_EVERSION && size > 0)
		why[0] = '\0';
	if (err) {
		catalog_free_labels(found.texts, found.count);
		return err;
	}
	labels_sort(&found);
	*labels = found.texts;
	*count = found.count;
	return 0;
}

void
catalog_free_labels(char **labels, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(labels[i]);
	free(labels);
}

int
catalog_choose_epochs(struct profile *profile, const struct selection_request *request, uint32_t **ids, size_t *count,
                      char *why, size_t size)
{
	MDB_txn *txn;
	int err;

	if (size > 0)
		why[0] = '\0';
	*ids = NULL;
	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = epoch_expr_choose(&profile->store, txn, request->epoch, request->host, ids, count, why, size);
	err = store_leave(&profile->store, txn, err);
	if (err == -DCPI_EVERSION && size > 0)
		why[0] = '\0';
	if (err) {
		free(*ids);
		*ids = NULL;
	}
	return err;
}

int
catalog_read_epochs(struct profile *profile, struct epoch_summary **epochs, size_t *count)
{
	size_t capacity = 0;
	struct store_walk walk;
	struct epoch epoch;
	MDB_txn *txn;
	int result;

	*epochs = NULL;
	*count = 0;
	result = store_begin(&profile->store, false, &txn);
	if (result)
		return result;
	result = store_walk_begin(&profile->store, txn, TABLE_EPOCHS, &walk);
	if (result)
		return store_leave(&profile->store, txn, result);
	while ((result = epoch_walk_next(&walk, &epoch)) > 0) {
		struct epoch_summary *list = array_grow(*epochs, &capacity, *count + 1, sizeof(*list));

		if (!list) {
			result = -ENOMEM;
			break;
		}
		*epochs = list;
		list += (*count)++;
		*list = (struct epoch_summary){.id = epoch.id,
		                               .is_kept = epoch.is_kept,
		                               .is_imported = epoch.is_imported,
		                               .start_ns = epoch.start_ns,
		                               .end_ns = epoch.end_ns};
		memcpy(list->label, epoch.label, sizeof(list->label));
		memcpy(list->host, epoch.host, sizeof(list->host));
	}
	store_walk_end(&walk);
	result = store_leave(&profile->store, txn, result);
	if (result < 0) {
		free(*epochs);
		*epochs = NULL;
	}
	return result;
}
