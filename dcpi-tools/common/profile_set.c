#include "dcpi-tools/common/profile_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "profile/catalog.h"

#define KEY_SET         (OPTIONS_KEYS_END + 0x100)
#define BATCH_MAX       16 /* selections are in memory together */
#define SET_CHOICES_MAX 16 /* of one set that are in its title */

struct profile_set_choice {
	int key;    /* an enum options_key */
	char *text; /* borrowed from the command line */
	enum set_kind kind;
	size_t group;  /* 0: before the first --set */
	size_t member; /* of those of its kind, which set it is */
};

/* The options of enum options_key: what sets differ in by them, and how a title names their values. */
static const struct set_option {
	enum set_kind kind;
	const char *prefix;
} set_options[OPTIONS_KEYS_END - OPTIONS_DB] = {
	[0] = /* OPTIONS_DB */ {SET_DATABASE, ""},           [OPTIONS_EPOCH - OPTIONS_DB] = {SET_EPOCH, "epoch "},
	[OPTIONS_SINCE - OPTIONS_DB] = {SET_TIME, "since "}, [OPTIONS_UNTIL - OPTIONS_DB] = {SET_TIME, "until "},
	[OPTIONS_COMM - OPTIONS_DB] = {SET_NONE, "comm "},   [OPTIONS_CGROUP - OPTIONS_DB] = {SET_NONE, "cgroup "},
	[OPTIONS_LABEL - OPTIONS_DB] = {SET_LABEL, ""},      [OPTIONS_HOST - OPTIONS_DB] = {SET_HOST, "host "},
};

static const struct set_option *
option_of(int key)
{
	return &set_options[key - OPTIONS_DB];
}

static void
set_fini(struct profile_set *set)
{
	free(set->title);
	free(set->owned);
}

void
profile_sets_init(struct profile_sets *sets)
{
	memset(sets, 0, sizeof(*sets));
}

void
profile_sets_fini(struct profile_sets *sets)
{
	for (size_t i = 0; i < sets->count; i++)
		set_fini(&sets->sets[i]);
	free(sets->sets);
	free(sets->choices);
	memset(sets, 0, sizeof(*sets));
}

/* Append a set, not initialised; NULL when memory ends. */
static struct profile_set *
profile_sets_grow(struct profile_sets *sets)
{
	struct profile_set *grown = array_grow(sets->sets, &sets->capacity, sets->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	sets->sets = grown;
	return &grown[sets->count++];
}

static void
profile_sets_remove(struct profile_sets *sets, size_t index)
{
	set_fini(&sets->sets[index]);
	sets->count--;
	memmove(&sets->sets[index], &sets->sets[index + 1], (sets->count - index) * sizeof(*sets->sets));
}

/* Length without trailing slashes, which a shell's completion appends to directories. */
static size_t
shown_size(const char *text)
{
	size_t size = strlen(text);

	while (size > 1 && text[size - 1] == '/')
		size--;
	return size;
}

/* "run1", "epoch 4", "since 14:00 until 15:00"; several by commas. NULL when memory ends. */
static char *
profile_set_title(const struct profile_set_choice *const *choices, size_t count)
{
	size_t size = 0;
	char *title = NULL;
	FILE *stream;

	if (count == 0)
		return strdup("everything");
	stream = open_memstream(&title, &size);
	if (!stream)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const bool is_end = i > 0 && choices[i]->key == OPTIONS_UNTIL && choices[i - 1]->key == OPTIONS_SINCE;

		fprintf(stream, "%s%s%.*s",
		        i == 0   ? ""
		        : is_end ? " "
		                 : ", ",
		        option_of(choices[i]->key)->prefix, (int)shown_size(choices[i]->text), choices[i]->text);
	}
	if (fclose(stream) == 0)
		return title;
	free(title);
	return NULL;
}

static const char *const kind_names[] = {"nothing", "databases", "labels", "epochs", "stretches of time", "hosts"};

static void
add_choice(struct profile_sets *sets, int key, const char *text, const struct argp_state *state)
{
	struct profile_set_choice *choices;

	choices = array_grow(sets->choices, &sets->choice_capacity, sets->choice_count + 1, sizeof(*choices));
	if (!choices) {
		argp_failure(state, STATUS_FAILURE, ENOMEM, "the command line");
		return;
	}
	sets->choices = choices;
	choices[sets->choice_count++] = (struct profile_set_choice){
		.key = key,
		.text = (char *)text,
		.kind = option_of(key)->kind,
		.group = sets->group_count,
	};
}

void
profile_sets_argument(void *member, char *directory, struct argp_state *state)
{
	struct profile_sets *sets = member;

	if (sets->group_count > 0)
		argp_error(state, "with --set, a database is named by --db DIR behind it");
	add_choice(sets, OPTIONS_DB, directory, state);
}

void
profile_sets_versus(void *member, char *epoch, struct argp_state *state)
{
	struct profile_sets *sets = member;
	bool has_epoch = false;

	for (size_t i = 0; i < sets->choice_count; i++)
		has_epoch |= sets->choices[i].key == OPTIONS_EPOCH;
	if (!has_epoch)
		argp_error(state, "--versus compares with an epoch: name that one by --epoch before it");
	add_choice(sets, OPTIONS_EPOCH, epoch, state);
}

void
profile_sets_side(struct profile_sets *sets, unsigned side, const char *pattern, const struct argp_state *state)
{
	const size_t groups = sets->group_count;

	if (sets->has_side[side])
		argp_error(state, "--before and --after each name one pattern of labels");
	sets->has_side[side] = true;
	sets->group_count = side + 1;
	add_choice(sets, OPTIONS_LABEL, pattern, state);
	sets->group_count = groups;
}

/* What goes with --before and --after, which are two groups from here on. */
static void
check_sides(struct profile_sets *sets, const struct argp_state *state)
{
	size_t counts[SET_KINDS] = {0};

	if (!sets->has_side[0] && !sets->has_side[1])
		return;
	if (!sets->has_side[0] || !sets->has_side[1])
		argp_error(state, "--before and --after go together: name both");
	if (sets->group_count > 0)
		argp_error(state, "--before and --after are two sets: not with --set");
	for (size_t i = 0; i < sets->choice_count; i++) {
		const enum set_kind kind = sets->choices[i].kind;

		if (sets->choices[i].group > 0 || kind == SET_NONE || kind == SET_TIME)
			continue;
		if (kind == SET_LABEL || ++counts[kind] > 1)
			argp_error(state, "--before and --after are two sets of labels: not with more %s",
			           kind_names[kind]);
	}
	sets->group_count = 2;
}

/* Number the sets that choices of this kind make, and for times each --since and --until of one range: how many. */
static size_t
number_members(struct profile_sets *sets, enum set_kind kind)
{
	bool has_until = false;
	size_t count = 0;

	for (size_t i = 0; i < sets->choice_count; i++) {
		struct profile_set_choice *choice = &sets->choices[i];
		bool begins = kind != SET_TIME || count == 0;

		if (choice->kind != kind)
			continue;
		if (kind == SET_TIME)
			begins |= choice->key == OPTIONS_SINCE || has_until;
		has_until = (has_until && !begins) || choice->key == OPTIONS_UNTIL;
		count += begins;
		choice->member = count - 1;
	}
	return count;
}

static bool
has_wildcard(const struct profile_sets *sets, enum set_kind kind)
{
	for (size_t i = 0; i < sets->choice_count; i++)
		if (sets->choices[i].kind == kind && strpbrk(sets->choices[i].text, "*?["))
			return true;
	return false;
}

/* What the sets differ in, and how many the command line names. */
static enum set_kind
choose_kind(struct profile_sets *sets, const struct argp_state *state, size_t *count)
{
	enum set_kind repeated = SET_NONE, kind;
	size_t counts[SET_KINDS] = {0};

	for (kind = SET_NONE + 1; kind < SET_KINDS; kind++) {
		counts[kind] = number_members(sets, kind);
		if (counts[kind] < 2)
			continue;
		if (repeated != SET_NONE)
			argp_error(state, "several %s and several %s: begin each set with --set", kind_names[repeated],
			           kind_names[kind]);
		repeated = kind;
	}
	kind = repeated;
	if (kind == SET_NONE && has_wildcard(sets, SET_LABEL))
		kind = SET_LABEL;
	if (kind == SET_NONE && counts[SET_EPOCH] > 0)
		kind = SET_EPOCH;
	*count = kind == SET_NONE ? 1 : counts[kind];
	return kind;
}

/* A choice that all sets share, that makes the one numbered `member`, or that is of another. */
enum set_part {
	PART_SHARED,
	PART_OWN,
	PART_OTHER,
};

static enum set_part
part_of(const struct profile_sets *sets, const struct profile_set_choice *choice, enum set_kind kind, size_t member)
{
	if (sets->group_count > 0) {
		if (choice->group == 0)
			return PART_SHARED;
		return choice->group == member + 1 ? PART_OWN : PART_OTHER;
	}
	if (kind == SET_NONE || choice->kind != kind)
		return PART_SHARED;
	return choice->member == member ? PART_OWN : PART_OTHER;
}

static error_t
make_set(struct profile_sets *sets, enum set_kind kind, size_t member, struct argp_state *state)
{
	const struct profile_set_choice *own[SET_CHOICES_MAX];
	struct profile_set *set;
	struct options options;
	size_t own_count = 0;
	char *title = NULL;
	error_t err = 0;

	options_init(&options);
	for (enum set_part part = PART_SHARED; part <= PART_OWN; part++) {
		for (size_t i = 0; !err && i < sets->choice_count; i++) {
			const struct profile_set_choice *choice = &sets->choices[i];

			if (part_of(sets, choice, kind, member) != part)
				continue;
			state->input = &options;
			err = options_parse(choice->key, choice->text, state);
			state->input = sets;
			if (part == PART_OWN && own_count < SET_CHOICES_MAX)
				own[own_count++] = choice;
		}
	}
	if (!err)
		title = profile_set_title(own, own_count);
	set = title ? profile_sets_grow(sets) : NULL;
	if (set) {
		*set = (struct profile_set){.directory = options.directory,
		                            .request = options.request,
		                            .title = title,
		                            .has_runs = sets->has_side[0]};
		if (set->request.label && !set->request.epoch)
			set->request.epoch = "all";
	} else {
		free(title);
		err = err ? err : ENOMEM;
	}
	options_fini(&options);
	return err;
}

static error_t
make_sets(struct profile_sets *sets, struct argp_state *state)
{
	size_t count;
	error_t err = 0;

	check_sides(sets, state);
	count = sets->group_count;
	sets->kind = SET_NONE;
	if (count == 0)
		sets->kind = choose_kind(sets, state, &count);
	for (size_t i = 0; !err && i < count; i++)
		err = make_set(sets, sets->kind, i, state);
	return err;
}

static error_t
parse_set(int key, char *text, struct argp_state *state)
{
	struct profile_sets *sets = state->input;

	(void)text;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = sets;
		return 0;
	case KEY_SET:
		sets->group_count++;
		return 0;
	case ARGP_KEY_END:
		return make_sets(sets, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t
parse_choice(int key, char *text, struct argp_state *state)
{
	if (key < OPTIONS_DB || key >= OPTIONS_KEYS_END)
		return ARGP_ERR_UNKNOWN;
	add_choice(state->input, key, text, state);
	return 0;
}

static const struct argp_option entries[] = {
	{"set", KEY_SET, NULL, 0, "Begin a set: the options that follow, up to the next --set, are its own", 2},
	{0},
};
static const struct argp database_options = {.options = options_database_entries, .parser = parse_choice};
static const struct argp selection_options = {.options = options_selection_entries, .parser = parse_choice};
static const struct argp_child children[] = {{&database_options, 0, NULL, 0}, {&selection_options, 0, NULL, 0}, {0}};
const struct argp profile_sets_options = {.options = entries, .parser = parse_set, .children = children};

char *
profile_set_literal(const char *text)
{
	char *pattern = malloc(2 * strlen(text) + 1), *to = pattern;

	if (!pattern)
		return NULL;
	for (; *text; text++) {
		if (strchr("*?[\\", *text))
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '\0';
	return pattern;
}

/* One more set, as `from`, one of `count`; NULL when memory ends. */
static struct profile_set *
add_found(struct profile_sets *sets, const struct profile_set *from, size_t count, char *title, char *owned)
{
	struct profile_set *set = title && owned ? profile_sets_grow(sets) : NULL;

	if (!set) {
		free(title);
		free(owned);
		return NULL;
	}
	*set = *from;
	set->title = title;
	set->owned = owned;
	set->is_found = count > 1;
	return set;
}

static int
add_labels(struct profile_sets *sets, const struct profile_set *from, struct profile *profile, char *why, size_t size)
{
	struct profile_set *set;
	char **labels;
	size_t count;
	int err;

	err = catalog_labels(profile, &from->request, &labels, &count, why, size);
	if (err)
		return err;
	for (size_t i = 0; !err && i < count; i++) {
		set = add_found(sets, from, count, strdup(labels[i]), profile_set_literal(labels[i]));
		if (set)
			set->request.label = set->owned;
		else
			err = -ENOMEM;
	}
	catalog_free_labels(labels, count);
	return err;
}

static int
add_epochs(struct profile_sets *sets, const struct profile_set *from, struct profile *profile, char *why, size_t size)
{
	struct profile_set *set;
	uint32_t *ids;
	size_t count;
	int err;

	err = catalog_choose_epochs(profile, &from->request, &ids, &count, why, size);
	if (err)
		return err;
	for (size_t i = 0; !err && i < count; i++) {
		char title[32], number[16];

		snprintf(title, sizeof(title), "epoch %u", ids[i]);
		snprintf(number, sizeof(number), "%u", ids[i]);
		set = add_found(sets, from, count, strdup(title), strdup(number));
		if (set)
			set->request.epoch = set->owned;
		else
			err = -ENOMEM;
	}
	free(ids);
	return err;
}

static bool
is_pattern(const struct profile_sets *sets, const struct profile_set *set)
{
	if (sets->is_joined)
		return false;
	if (sets->kind == SET_LABEL)
		return strpbrk(set->request.label, "*?[") != NULL;
	return sets->kind == SET_EPOCH;
}

static int
expand_set(struct profile_sets *sets, const struct profile_set *from)
{
	struct database database;
	char why[512] = "";
	int status, err;

	status = database_open(&database, from->directory);
	if (status)
		return status;
	err = (sets->kind == SET_LABEL ? add_labels : add_epochs)(sets, from, database.profile, why, sizeof(why));
	if (err == -ENOMEM)
		status = message_cannot(NULL, "list the sets", err, NULL);
	else if (err)
		status = database_cannot_select(&database, err, why);
	database_close(&database);
	return status;
}

/* Replace each pattern by the sets that it stands for. */
static int
profile_sets_expand(struct profile_sets *sets)
{
	size_t left = sets->kind == SET_LABEL || sets->kind == SET_EPOCH ? sets->count : 0;

	/* Move each to the end, or append what it stands for, so that the order stays. */
	for (; left > 0; left--) {
		struct profile_set first = sets->sets[0];
		int status = STATUS_OK;

		if (is_pattern(sets, &first)) {
			status = expand_set(sets, &first);
			profile_sets_remove(sets, 0);
		} else {
			memmove(sets->sets, sets->sets + 1, (sets->count - 1) * sizeof(first));
			sets->sets[sets->count - 1] = first;
		}
		if (status)
			return status;
	}
	return STATUS_OK;
}

struct profile_set_reader {
	struct profile_sets *sets;
	profile_set_visitor *visit;
	void *context;
	struct database database;
	struct symbolizer *symbolizer;
};

/* Some sets that one pass through the database can read. */
struct profile_set_batch {
	size_t count;
	size_t indices[BATCH_MAX]; /* ascending, in the sets */
	const struct selection_request *requests[BATCH_MAX];
	struct selection *selections[BATCH_MAX];
	bool is_read; /* else each is read again by itself, for its own error message */
};

/* Hand the set and its selection, which the visitor then owns, to the visitor: an exit status, or PROFILE_SET_PASSED.
 */
static int
visit_set(struct profile_set_reader *reader, size_t index, struct selection *selection, bool is_read)
{
	struct profile_set_visit visit = {
		.index = index,
		.set = &reader->sets->sets[index],
		.database = &reader->database,
		.symbolizer = reader->symbolizer,
		.selection = selection,
	};
	int status;

	if (!selection && is_read && visit.set->is_found)
		return PROFILE_SET_PASSED;
	status = selection ? STATUS_OK : database_select(visit.database, &visit.set->request, &visit.selection);
	return status ? status : reader->visit(reader->context, &visit);
}

/* From the set `first` on, those that have not been read. */
static void
fill_batch(struct profile_set_reader *reader, size_t first, struct profile_set_batch *batch)
{
	struct profile_set *sets = reader->sets->sets;

	memset(batch, 0, sizeof(*batch));
	for (size_t i = first; i < reader->sets->count && batch->count < BATCH_MAX; i++) {
		if (sets[i].is_read || strcmp(sets[i].directory, sets[first].directory) != 0 ||
		    !selection_shares_scope(&sets[i].request, &sets[first].request))
			continue;
		sets[i].is_read = true;
		batch->requests[batch->count] = &sets[i].request;
		batch->indices[batch->count++] = i;
	}
}

static int
read_batch(struct profile_set_reader *reader, size_t first)
{
	struct profile_set_batch batch;
	size_t removed = 0;
	int status = STATUS_OK;

	fill_batch(reader, first, &batch);
	batch.is_read =
		database_read_each(reader->database.profile, batch.requests, batch.count, batch.selections) == 0;
	for (size_t i = 0; i < batch.count; i++) {
		const size_t index = batch.indices[i] - removed;

		if (status) {
			selection_free(batch.selections[i]);
			continue;
		}
		status = visit_set(reader, index, batch.selections[i], batch.is_read);
		if (status != PROFILE_SET_PASSED)
			continue;
		profile_sets_remove(reader->sets, index);
		removed++;
		status = STATUS_OK;
	}
	return status;
}

/* Read all sets of the database of the set `first`, from that on. */
static int
read_database(struct profile_set_reader *reader, size_t first)
{
	struct profile_sets *sets = reader->sets;
	const char *directory = sets->sets[first].directory;
	int status = database_open(&reader->database, directory);

	if (status)
		return status;
	reader->symbolizer = symbolizer_new(reader->database.profile);
	if (!reader->symbolizer)
		status = message_cannot(NULL, "name the procedures", -ENOMEM, NULL);
	for (size_t i = first; i < sets->count && !status;) {
		if (sets->sets[i].is_read || strcmp(sets->sets[i].directory, directory) != 0)
			i++;
		else
			status = read_batch(reader, i);
	}
	symbolizer_free(reader->symbolizer);
	database_close(&reader->database);
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
	struct profile_set_reader reader = {.sets = sets, .visit = visit, .context = context};
	int status = profile_sets_expand(sets);

	if (!status)
		status = profile_sets_check(sets, least, most);
	for (size_t i = 0; !status && i < sets->count; i++)
		sets->sets[i].request.stacks = sets->stacks;
	for (size_t i = 0; !status && i < sets->count; i++) {
		/* sets are only removed at index i or behind it */
		while (!status && i < sets->count && !sets->sets[i].is_read)
			status = read_database(&reader, i);
	}
	return status ? status : profile_sets_check(sets, least, most);
}
