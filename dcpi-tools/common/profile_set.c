#include "dcpi-tools/common/profile_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/profile_set_parts.h"

#define KEY_SET (OPTIONS_KEYS_END + 0x100)

static const char *const kind_names[] = {"nothing", "databases", "labels", "epochs", "stretches of time", "hosts"};

static enum set_kind
kind_of(int key)
{
	switch (key) {
	case OPTIONS_DB:
		return SET_DATABASE;
	case OPTIONS_LABEL:
		return SET_LABEL;
	case OPTIONS_EPOCH:
		return SET_EPOCH;
	case OPTIONS_SINCE:
	case OPTIONS_UNTIL:
		return SET_TIME;
	case OPTIONS_HOST:
		return SET_HOST;
	default:
		return SET_NONE;
	}
}

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
		.kind = kind_of(key),
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

/* Which stretch of time, counted from 0, each --since and --until of the command line belongs to; how many there are.
 */
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

/* Put one choice where options.h keeps it. */
static error_t
apply(const struct profile_set_choice *choice, struct options *options, struct argp_state *state)
{
	void *input = state->input;
	error_t err;

	state->input = options;
	err = options_parse(choice->key, choice->text, state);
	state->input = input;
	return err;
}

static struct profile_set *
add_set(struct profile_sets *sets, const struct options *options, char *title)
{
	struct profile_set *set = title ? profile_sets_grow(sets) : NULL;

	if (!set) {
		free(title);
		return NULL;
	}
	*set = (struct profile_set){.directory = options->directory, .request = options->request, .title = title};
	if (set->request.label && !set->request.epoch)
		set->request.epoch = "all";
	return set;
}

/* A choice that all sets share, that makes the one numbered `member`, or that is of another. */
enum part {
	PART_SHARED,
	PART_OWN,
	PART_OTHER,
};

static enum part
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
	struct options options;
	size_t own_count = 0;
	error_t err = 0;

	options_init(&options);
	for (enum part part = PART_SHARED; part <= PART_OWN; part++) {
		for (size_t i = 0; !err && i < sets->choice_count; i++) {
			const struct profile_set_choice *choice = &sets->choices[i];

			if (part_of(sets, choice, kind, member) != part)
				continue;
			err = apply(choice, &options, state);
			if (part == PART_OWN && own_count < SET_CHOICES_MAX)
				own[own_count++] = choice;
		}
	}
	if (!err && !add_set(sets, &options, profile_set_title(own, own_count)))
		err = ENOMEM;
	if (!err)
		sets->sets[sets->count - 1].has_runs = sets->has_side[0];
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

void
profile_sets_init(struct profile_sets *sets)
{
	memset(sets, 0, sizeof(*sets));
}

static void
set_fini(struct profile_set *set)
{
	free(set->title);
	free(set->owned);
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

struct profile_set *
profile_sets_grow(struct profile_sets *sets)
{
	struct profile_set *grown = array_grow(sets->sets, &sets->capacity, sets->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	sets->sets = grown;
	return &grown[sets->count++];
}

void
profile_sets_remove(struct profile_sets *sets, size_t index)
{
	set_fini(&sets->sets[index]);
	sets->count--;
	memmove(&sets->sets[index], &sets->sets[index + 1], (sets->count - index) * sizeof(*sets->sets));
}
