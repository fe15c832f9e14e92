/*
 * profile_set.h - the sets of samples that a tool compares, as named on the command line
 *
 * Options that select samples (options.h) may be given more than once. These combinations make sets:
 *
 *   DIR DIR...                        a set for each database
 *   --label A --label B               a set for each; one with wildcards: a set for each label that it matches
 *   --epoch 3 --epoch 4               a set for each; "all", or a label of several: a set for each epoch
 *   --host A --host B                 a set for each
 *   --since T --until T --since ...   a set for each stretch of time: a --since, an --until, or both
 *   --set OPTION... --set OPTION...   a set for each --set, of all that its options match together
 *
 * An option that is given once applies to every set, and so do options before the first --set. A set of labels or of
 * times is taken from all epochs, unless --epoch is given; any other set from the latest epoch of its database.
 *
 * A tool calls profile_sets_init(), has `profile_sets_options` among its argp children, with the sets as input, and
 * calls profile_sets_argument() for arguments, profile_sets_read() when it makes its report, and profile_sets_fini().
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_PROFILE_SET_H
#define DCPI_TOOLS_PROFILE_SET_H

#include <argp.h>
#include <stdbool.h>

#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/symbolizer.h"
#include "profile/selection.h"

struct profile_set {
	const char *directory; /* of its database; borrowed from the command line or the environment */
	struct selection_request request;
	char *title;   /* what distinguishes it from the others: "run1", "epoch 4", "day2.db". Not escaped */
	char *owned;   /* a text that the request points into; NULL: none */
	bool has_runs; /* each label that it matches is a run: profile_sets_side() */
	bool is_found; /* one of several that match a pattern or an expression; skipped when it has no samples */
	bool is_read;  /* private */
};

/* In what sets differ without --set. */
enum set_kind { SET_NONE, SET_DATABASE, SET_LABEL, SET_EPOCH, SET_TIME, SET_HOST, SET_KINDS };

struct profile_set_choice; /* an option as it was given */

struct profile_sets {
	size_t count; /* known after profile_sets_read(): a pattern may match several */
	struct profile_set *sets;
	bool stacks;    /* set by the tool: the samples of call stacks, as in struct selection_request */
	bool is_joined; /* set by the tool: all labels or epochs that one option matches are one set */

	/* private */
	enum set_kind kind;
	size_t capacity, choice_count, choice_capacity, group_count;
	bool has_side[2]; /* by profile_sets_side() */
	struct profile_set_choice *choices;
};

void profile_sets_init(struct profile_sets *sets);
void profile_sets_fini(struct profile_sets *sets);

/* --set --db --epoch --since --until --comm --cgroup --label --host; the input is the struct profile_sets. */
extern const struct argp profile_sets_options;

/* An option_take of options.h for a database that is named without an option; `sets` is a struct profile_sets. */
void profile_sets_argument(void *sets, char *directory, struct argp_state *state);

/* An option_take of --versus EPOCH: a second --epoch, behind the first. `sets` is a struct profile_sets. */
void profile_sets_versus(void *sets, char *epoch, struct argp_state *state);

/*
 * --before PATTERN (side 0) and --after PATTERN (side 1): two sets, of the runs whose labels match; instead of --set
 * and of several --label. All other options apply to both sets.
 */
void profile_sets_side(struct profile_sets *sets, unsigned side, const char *pattern, const struct argp_state *state);

/* The pattern that matches `text` alone; the caller frees it. NULL when memory ends. */
char *profile_set_literal(const char *text);

/* One set while its database is open. */
struct profile_set_visit {
	size_t index; /* in sets->sets, which does not grow any more */
	const struct profile_set *set;
	struct database *database;
	struct symbolizer *symbolizer; /* one for all sets of a database, freed when it is closed */
	struct selection *selection;   /* the visitor's to free */
};

/* Result of a visitor: remove the set, which matched a pattern but is not meant. */
#define PROFILE_SET_PASSED (-1)

/* Returns an exit status: 0, or another after a message, which ends the reading; or PROFILE_SET_PASSED. */
typedef int profile_set_visitor(void *context, const struct profile_set_visit *visit);

/*
 * Find out which sets there are, at least `least` and at most `most`, read each and call `visit` with it: the sets of
 * one database follow each other, so they are not always in the order of their numbers. An exit status: 0, or another
 * after a message (too few sets, nothing selected, ...).
 */
int profile_sets_read(struct profile_sets *sets, size_t least, size_t most, profile_set_visitor *visit, void *context);

/*
 * Check that there are so many sets, for callers that read with other bounds. An exit status: 0, or another after a
 * message.
 */
int profile_sets_check(const struct profile_sets *sets, size_t least, size_t most);

#endif
