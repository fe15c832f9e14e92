/* From sets as they were named to the samples of each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/profile_set_parts.h"

#define BATCH_MAX 16 /* selections are in memory together */

static bool
is_alike(const struct profile_set *left, const struct profile_set *right)
{
	return strcmp(left->directory, right->directory) == 0;
}

struct reading {
	struct profile_sets *sets;
	profile_set_visitor *visit;
	void *context;
	struct database database;
	struct symbolizer *symbolizer;
};

/* Some sets that one pass through the database can read. */
struct batch {
	size_t count;
	size_t indices[BATCH_MAX]; /* ascending, in the sets */
	const struct selection_request *requests[BATCH_MAX];
	struct selection *selections[BATCH_MAX];
	bool is_read; /* else each has to be read by itself, to say what is wrong */
};

/* Its selection becomes the visitor's. An exit status, or PROFILE_SET_PASSED. */
static int
visit_set(struct reading *reading, size_t index, struct selection *selection, bool is_read)
{
	struct profile_set_visit visit = {
		.index = index,
		.set = &reading->sets->sets[index],
		.database = &reading->database,
		.symbolizer = reading->symbolizer,
		.selection = selection,
	};
	int status;

	if (!selection && is_read && visit.set->is_found)
		return PROFILE_SET_PASSED;
	status = selection ? STATUS_OK : database_select(visit.database, &visit.set->request, &visit.selection);
	return status ? status : reading->visit(reading->context, &visit);
}

/* From the set `first` on, those that have not been read. */
static void
fill_batch(struct reading *reading, size_t first, struct batch *batch)
{
	struct profile_set *sets = reading->sets->sets;

	memset(batch, 0, sizeof(*batch));
	for (size_t i = first; i < reading->sets->count && batch->count < BATCH_MAX; i++) {
		if (sets[i].is_read || !is_alike(&sets[i], &sets[first]) ||
		    !selection_shares_scope(&sets[i].request, &sets[first].request))
			continue;
		sets[i].is_read = true;
		batch->requests[batch->count] = &sets[i].request;
		batch->indices[batch->count++] = i;
	}
}

static int
read_batch(struct reading *reading, size_t first)
{
	struct batch batch;
	size_t removed = 0;
	int status = STATUS_OK;

	fill_batch(reading, first, &batch);
	batch.is_read =
		database_read_each(reading->database.profile, batch.requests, batch.count, batch.selections) == 0;
	for (size_t i = 0; i < batch.count; i++) {
		const size_t index = batch.indices[i] - removed;

		if (status) {
			selection_free(batch.selections[i]);
			continue;
		}
		status = visit_set(reading, index, batch.selections[i], batch.is_read);
		if (status != PROFILE_SET_PASSED)
			continue;
		profile_sets_remove(reading->sets, index);
		removed++;
		status = STATUS_OK;
	}
	return status;
}

/* All sets of the database that is open, from the set `first` on. */
static int
read_alike(struct reading *reading, size_t first)
{
	struct profile_sets *sets = reading->sets;
	const char *directory = sets->sets[first].directory;
	int status = STATUS_OK;

	for (size_t i = first; i < sets->count && !status;) {
		if (sets->sets[i].is_read || strcmp(sets->sets[i].directory, directory) != 0)
			i++;
		else
			status = read_batch(reading, i);
	}
	return status;
}

static int
read_database(struct reading *reading, size_t first)
{
	int status = database_open(&reading->database, reading->sets->sets[first].directory);

	if (status)
		return status;
	reading->symbolizer = symbolizer_new(reading->database.profile);
	if (reading->symbolizer)
		status = read_alike(reading, first);
	else
		status = message_cannot(NULL, "name the procedures", -ENOMEM, NULL);
	symbolizer_free(reading->symbolizer);
	database_close(&reading->database);
	return status;
}

int
profile_sets_check(const struct profile_sets *sets, size_t least, size_t most)
{
	if (sets->count >= least && sets->count <= most)
		return STATUS_OK;
	if (sets->count > most) {
		message_print(NULL, "%zu sets of samples were named, and %zu %s all that can be compared", sets->count,
		              most, most == 1 ? "is" : "are");
		return STATUS_USAGE;
	}
	message_print(NULL,
	              "%zu set%s of samples, and it takes %zu: name them by --label, --epoch, --since and "
	              "--until, databases, or --set",
	              sets->count, sets->count == 1 ? "" : "s", least);
	return STATUS_USAGE;
}

int
profile_sets_read(struct profile_sets *sets, size_t least, size_t most, profile_set_visitor *visit, void *context)
{
	struct reading reading = {.sets = sets, .visit = visit, .context = context};
	int status = profile_sets_expand(sets);

	if (!status)
		status = profile_sets_check(sets, least, most);
	for (size_t i = 0; !status && i < sets->count; i++) {
		/* what is removed lies behind, or here: those that were found are of one database */
		while (!status && i < sets->count && !sets->sets[i].is_read)
			status = read_database(&reading, i);
	}
	return status ? status : profile_sets_check(sets, least, most);
}
