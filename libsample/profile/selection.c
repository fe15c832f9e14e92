#include "profile/selection.h"

#include <errno.h>
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

/* Everything that needs the transaction. */
static int
copy_out(struct selection_parts *parts, const struct selection_request *request, char *why, size_t size)
{
	int err;

	err = scope_choose(parts->store, parts->txn, request, &parts->scope, why, size);
	if (!err)
		err = context_filter_init(parts->store, parts->txn, request, &parts->filter, why, size);
	if (!err)
		err = selection_read_epochs(parts);
	if (!err)
		err = selection_read_blocks(parts);
	if (!err)
		err = selection_read_slices(parts);
	return err;
}

static void
parts_fini(struct selection_parts *parts)
{
	scope_fini(&parts->scope);
	context_filter_fini(&parts->filter);
	free(parts->event_maps);
}

int
selection_read(struct profile *profile, const struct selection_request *request, struct selection **selection,
               char *why, size_t size)
{
	struct selection_parts parts = {.store = &profile->store};
	int err;

	if (size > 0)
		why[0] = '\0';
	parts.selection = calloc(1, sizeof(*parts.selection));
	if (!parts.selection)
		return -ENOMEM;
	err = store_begin(parts.store, false, &parts.txn);
	if (!err) {
		err = copy_out(&parts, request, why, size);
		mdb_txn_abort(parts.txn); /* a reader has nothing to commit */
	}
	if (!err && parts.selection->count_count == 0 && !parts.filter.all) {
		why_append(why, size, "what matches the patterns has no samples in the selected time");
		err = -DCPI_ENOSELECTION;
	}
	parts_fini(&parts);
	if (err) {
		selection_free(parts.selection);
		return err;
	}
	parts.selection->profile = profile;
	*selection = parts.selection;
	return 0;
}
