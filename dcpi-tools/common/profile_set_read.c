/* From sets as they were named to the samples of each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/profile_set_parts.h"

static bool
is_alike(const struct profile_set *left, const struct profile_set *right)
{
	return strcmp(left->directory, right->directory) == 0;
}

/* 0, with a selection or - of a set that was found and is empty - without; or an exit status after a message. */
static int
read_selection(const struct profile_set *set, struct database *database, struct selection **selection)
{
	char why[512];

	*selection = NULL;
	if (set->is_found &&
	    database_read(database->profile, &set->request, selection, why, sizeof(why)) == -DCPI_ENOSELECTION)
		return 0;
	return *selection ? 0 : database_select(database, &set->request, selection);
}

struct reading {
	struct profile_sets *sets;
	profile_set_visitor *visit;
	void *context;
	struct database database;
	struct symbolizer *symbolizer;
};

/* An exit status, or PROFILE_SET_PASSED. */
static int
read_set(struct reading *reading, size_t index)
{
	struct profile_set_visit visit = {
		.index = index,
		.set = &reading->sets->sets[index],
		.database = &reading->database,
		.symbolizer = reading->symbolizer,
	};
	int status;

	reading->sets->sets[index].is_read = true;
	status = read_selection(visit.set, &reading->database, &visit.selection);
	if (status)
		return status;
	return visit.selection ? reading->visit(reading->context, &visit) : PROFILE_SET_PASSED;
}

/* All sets of the database that is open. */
static int
read_alike(struct reading *reading, size_t first)
{
	struct profile_sets *sets = reading->sets;
	size_t index = first;

	while (index < sets->count) {
		int status = 0;

		if (!sets->sets[index].is_read && (index == first || is_alike(&sets->sets[index], &sets->sets[first])))
			status = read_set(reading, index);
		if (status == PROFILE_SET_PASSED)
			profile_sets_remove(sets, index);
		else if (status)
			return status;
		else
			index++;
	}
	return STATUS_OK;
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
