#include "profile/selection.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/context_filter.h"
#include "profile/handle.h"
#include "profile/scope.h"
#include "profile/selection_parts.h"
#include "profile/why.h"

void
selection_free(struct selection *selection)
{
	if (!selection)
		return;
	for (size_t i = 0; i < selection->image_count; i++)
		free((void *)selection->images[i].image);
	free(selection->images);
	free(selection->counts);
	free(selection->events);
	free(selection->epochs);
	free(selection);
}

size_t
selection_epochs_matched(const struct selection *selection)
{
	size_t count = selection->epoch_count;

	if (selection->match.last_epoch == 0)
		return count;
	while (count > 0 && selection->epochs[count - 1].id > selection->match.last_epoch)
		count--;
	return count;
}

/* What the selections that are read together share. */
struct reading {
	struct store *store;
	MDB_txn *txn;
	struct scope scope;
	struct selection_parts *parts;
	size_t count;
	bool must_match; /* else a request that matches nothing is passed by */
};

/* What precedes the blocks. */
static int
begin_parts(struct reading *reading, struct selection_parts *parts, const struct selection_request *request, char *why,
            size_t size)
{
	int err;

	parts->store = reading->store;
	parts->txn = reading->txn;
	parts->scope = &reading->scope;
	parts->label = request->label;
	err = context_filter_init(reading->store, reading->txn, request, &parts->filter, why, size);
	if (err == -DCPI_ENOSELECTION && !reading->must_match) {
		parts->is_passed = true;
		return 0;
	}
	if (err)
		return err;
	parts->selection = calloc(1, sizeof(*parts->selection));
	parts->matched = calloc(reading->scope.slice_count + 1, sizeof(*parts->matched));
	parts->timed = calloc(reading->scope.epoch_count + 1, sizeof(*parts->timed));
	if (!parts->selection || !parts->matched || !parts->timed)
		return -ENOMEM;
	return selection_read_epochs(parts);
}

/* Everything that needs the transaction. */
static int
copy_out(struct reading *reading, const struct selection_request *const *requests, char *why, size_t size)
{
	int err;

	err = scope_choose(reading->store, reading->txn, requests[0], &reading->scope, why, size);
	for (size_t i = 0; !err && i < reading->count; i++)
		err = begin_parts(reading, &reading->parts[i], requests[i], why, size);
	if (!err)
		err = selection_read_blocks(reading->parts, reading->count);
	if (!err)
		err = selection_read_runs(reading->parts, reading->count);
	for (size_t i = 0; !err && i < reading->count; i++)
		if (!reading->parts[i].is_passed) {
			err = selection_read_slices(&reading->parts[i]);
			err = err ? err : selection_narrow(&reading->parts[i]);
			if (!err)
				selection_weigh(reading->parts[i].selection);
		}
	return err;
}

static void
parts_fini(struct selection_parts *parts)
{
	context_filter_fini(&parts->filter);
	block_list_fini(&parts->blocks);
	free(parts->event_maps);
	free(parts->matched);
	free(parts->timed);
	selection_free(parts->selection);
}

static bool
is_empty(const struct selection_parts *parts)
{
	return parts->is_passed || (parts->selection->count_count == 0 && !parts->filter.all);
}

/* The selections become the caller's; NULL where nothing matched. */
static void
hand_over(struct reading *reading, struct profile *profile, struct selection **selections)
{
	for (size_t i = 0; i < reading->count; i++) {
		selections[i] = NULL;
		if (is_empty(&reading->parts[i]))
			continue;
		selections[i] = reading->parts[i].selection;
		selections[i]->profile = profile;
		reading->parts[i].selection = NULL;
	}
}

static int
read_all(struct profile *profile, struct reading *reading, const struct selection_request *const *requests,
         struct selection **selections, char *why, size_t size)
{
	int err;

	if (size > 0)
		why[0] = '\0';
	reading->store = &profile->store;
	reading->parts = calloc(reading->count, sizeof(*reading->parts));
	if (!reading->parts)
		return -ENOMEM;
	err = store_begin(reading->store, false, &reading->txn);
	if (!err) {
		err = store_leave(reading->store, reading->txn, copy_out(reading, requests, why, size));
		if (err == -DCPI_EVERSION && size > 0)
			why[0] = '\0'; /* whatever was found out, it was not so */
	}
	if (!err && reading->must_match && is_empty(&reading->parts[0])) {
		why_append(why, size, "what matches the patterns has no samples in the selected time");
		err = -DCPI_ENOSELECTION;
	}
	if (!err)
		hand_over(reading, profile, selections);
	for (size_t i = 0; i < reading->count; i++)
		parts_fini(&reading->parts[i]);
	free(reading->parts);
	scope_fini(&reading->scope);
	return err;
}

int
selection_read(struct profile *profile, const struct selection_request *request, struct selection **selection,
               char *why, size_t size)
{
	struct reading reading = {.count = 1, .must_match = true};

	return read_all(profile, &reading, &request, selection, why, size);
}

int
selection_read_each(struct profile *profile, const struct selection_request *const *requests, size_t count,
                    struct selection **selections)
{
	struct reading reading = {.count = count};
	char why[1] = "";

	return count > 0 ? read_all(profile, &reading, requests, selections, why, sizeof(why)) : 0;
}

static bool
is_same_text(const char *left, const char *right)
{
	return left == right || (left && right && strcmp(left, right) == 0);
}

bool
selection_is_beside(const struct selection_request *left, const struct selection_request *right)
{
	return is_same_text(left->epoch, right->epoch) && is_same_text(left->host, right->host) &&
	       left->since_ns == right->since_ns && left->until_ns == right->until_ns;
}
