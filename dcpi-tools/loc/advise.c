#include "dcpi-tools/loc/advise.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#define LEAST_SHARE 0.01
#define SHOWN       4u  /* remedies of a nest */
#define GAIN        0.9 /* of the cycles as it is: what takes more is no remedy */
#define PERCENT     100.0
#define PER_MILLE   1000.0
#define WORDS_SIZE  256

/* ---- what may be done ---- */

static double
cost_of(const struct loc_remedy *remedy)
{
	return remedy->is_tried ? (double)remedy->trial.cycles : remedy->lines;
}

static int
compare_remedies(const void *a, const void *b)
{
	const double first = cost_of(a), second = cost_of(b);

	return (first > second) - (first < second);
}

static int
try_remedy(struct loc_advice *advice, const struct loc_nest *nest, struct loc_remedy *remedy)
{
	struct locality_part parts[LOCALITY_PARTS_MAX];
	struct locality_nest advised = nest->nest;
	struct locality_order order = locality_order_of(&nest->nest);

	if (!advice->machine)
		return 0;
	if (!remedy->is_as_it_is) {
		advised = locality_advised(nest->record, &nest->nest, &remedy->advice, parts);
		order = remedy->advice.order;
	}
	remedy->is_tried = true;
	return loc_try(advice->machine, nest->record, &advised, &order, &remedy->trial);
}

/* Those that gain something, the best first. */
static void
order_remedies(struct loc_advised *advised)
{
	const double as_it_is = cost_of(&advised->remedies[0]);
	size_t kept = 1;

	for (size_t i = 1; i < advised->count; i++)
		if (cost_of(&advised->remedies[i]) <= GAIN * as_it_is)
			advised->remedies[kept++] = advised->remedies[i];
	advised->count = kept;
	if (kept > 2)
		qsort(advised->remedies + 1, kept - 1, sizeof(*advised->remedies), compare_remedies);
	if (advised->count > 1 + SHOWN)
		advised->count = 1 + SHOWN;
}

static int
advise_nest(struct loc_advice *advice, const struct loc_nest *nest)
{
	const struct machine *machine = advice->machine;
	struct locality_advice found[LOCALITY_ADVICE_MAX];
	struct locality_caches caches = {.line = 0};
	struct loc_advised *advised = &advice->advised[advice->count];
	double lines;
	size_t count;
	int err = 0;

	if (machine) {
		caches.line = machine->line_bytes;
		for (unsigned i = 0; i < machine->level_count && i < ARRAY_COUNT(caches.levels); i++)
			caches.levels[i] = machine->levels[i].bytes;
	}
	count = locality_advise(nest->record, &nest->nest, machine ? &caches : NULL, found, &lines);
	if (!count)
		return 0;
	*advised = (struct loc_advised){.nest = nest, .count = count + 1};
	advised->remedies = calloc(count + 1, sizeof(*advised->remedies));
	if (!advised->remedies)
		return -ENOMEM;
	advice->count++;
	advised->remedies[0] = (struct loc_remedy){.is_as_it_is = true, .lines = lines};
	for (size_t i = 0; i < count; i++)
		advised->remedies[i + 1] = (struct loc_remedy){.advice = found[i], .lines = found[i].lines};
	for (size_t i = 0; i <= count && !err; i++)
		err = try_remedy(advice, nest, &advised->remedies[i]);
	order_remedies(advised);
	if (advised->count == 1) {
		free(advised->remedies);
		advice->count--;
	}
	return err;
}

static bool
is_chosen(const struct loc_profile *profile, const struct loc_nest *nest, const char *loop)
{
	if (loop)
		return loc_loop_is_called(loc_nest_loop(nest), loop);
	return (double)nest->references >= LEAST_SHARE * (double)profile->count;
}

int
loc_advise(const struct loc_profile *profile, const char *loop, const struct machine *machine,
           struct loc_advice *advice)
{
	int err;

	*advice = (struct loc_advice){.machine = machine};
	err = loc_nests_collect(profile, &advice->nests);
	if (!err && advice->nests.count) {
		advice->advised = calloc(advice->nests.count, sizeof(*advice->advised));
		err = advice->advised ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < advice->nests.count && !err; i++)
		if (is_chosen(profile, &advice->nests.nests[i], loop))
			err = advise_nest(advice, &advice->nests.nests[i]);
	return err;
}

void
loc_advice_free(struct loc_advice *advice)
{
	for (size_t i = 0; i < advice->count; i++)
		free(advice->advised[i].remedies);
	free(advice->advised);
	loc_nests_free(&advice->nests);
}

/* ---- in words ---- */

static void __attribute__((format(printf, 2, 3))) add_words(char words[WORDS_SIZE], const char *format, ...)
{
	const size_t length = strlen(words);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words + length, WORDS_SIZE - length, format, arguments);
	va_end(arguments);
}

/* Loops are called by their lines, or by their depth if two are in one line. */
static bool
has_lines(const struct loc_nest *nest)
{
	for (uint32_t i = 0; i < nest->nest.levels; i++) {
		for (uint32_t k = 0; k < i; k++)
			if (loc_nest_line(nest, i) == loc_nest_line(nest, k))
				return false;
		if (!loc_nest_line(nest, i))
			return false;
	}
	return true;
}

/* The order's loops over iterations, outermost first. */
static void
add_order(char words[WORDS_SIZE], const struct loc_nest *nest, const struct locality_order *order)
{
	const bool by_lines = has_lines(nest);
	const char *separator = by_lines ? " of lines " : " that were at depth ";

	for (uint32_t i = 0; i < order->count; i++) {
		const uint32_t level = order->loops[i].level;

		if (order->loops[i].tile)
			continue;
		add_words(words, "%s%" PRIu32, separator, by_lines ? loc_nest_line(nest, level) : level + 1);
		separator = ", ";
	}
}

static const char *
format_remedy(const struct loc_nest *nest, const struct loc_remedy *remedy, char words[WORDS_SIZE])
{
	const struct locality_advice *advice = &remedy->advice;

	words[0] = '\0';
	if (remedy->is_as_it_is && nest->nest.levels == 1) {
		add_words(words, "as it is");
		return words;
	}
	if (remedy->is_as_it_is) {
		const struct locality_order own = locality_order_of(&nest->nest);

		add_words(words, "as it is: loops");
		add_order(words, nest, &own);
		return words;
	}
	switch (advice->kind) {
	case LOCALITY_INTERCHANGE:
		add_words(words, "interchange: loops");
		add_order(words, nest, &advice->order);
		break;
	case LOCALITY_TILE:
		add_words(words, "tiles of %" PRIu64 " iterations, in them loops", advice->tile);
		add_order(words, nest, &advice->order);
		break;
	case LOCALITY_TRANSPOSE:
		add_words(words, "keep %.*s transposed", (int)advice->array_size, advice->array);
		break;
	case LOCALITY_SPLIT:
		add_words(words,
		          "keep members of %.*s in arrays of their own (%" PRIu32 " of %" PRIu32 " bytes are used)",
		          (int)advice->array_size, advice->array, advice->used, advice->bytes);
		break;
	}
	if (advice->sums_reordered)
		add_words(words, "; sums are added in another order");
	return words;
}

/* ---- text ---- */

static void
add_place(struct table *table, const struct loc_nest *nest)
{
	const struct locality_loop *loop = loc_nest_loop(nest);

	table_text(table, STYLE_PLAIN, loop->function);
	if (*loop->file && loop->line)
		table_format(table, STYLE_PLAIN, "%s:%" PRIu32, text_basename(loop->file), loop->line);
	else
		table_text(table, STYLE_PLAIN, "[no line]");
}

static void
add_row(const struct loc_profile *profile, const struct loc_advice *advice, const struct loc_advised *advised,
        size_t at, struct table *table)
{
	const struct loc_remedy *remedy = &advised->remedies[at];
	char words[WORDS_SIZE];

	if (at == 0)
		table_format(table, STYLE_PLAIN, "%.1f %%",
		             PERCENT * (double)advised->nest->references / (double)(profile->count + !profile->count));
	else
		table_text(table, STYLE_PLAIN, "");
	if (advice->machine) {
		for (unsigned i = 0; i < advice->machine->level_count; i++)
			table_format(table, STYLE_PLAIN, "%" PRIu64, remedy->trial.missed[i]);
		table_format(table, STYLE_PLAIN, "%.2f",
		             (double)remedy->trial.cycles / (double)(advised->nest->most + !advised->nest->most));
	} else {
		table_format(table, STYLE_PLAIN, "%.0f", PER_MILLE * remedy->lines);
	}
	if (at == 0) {
		add_place(table, advised->nest);
	} else {
		table_text(table, STYLE_PLAIN, "");
		table_text(table, STYLE_PLAIN, "");
	}
	table_text(table, STYLE_PLAIN, format_remedy(advised->nest, remedy, words));
}

static struct table *
make_table(const struct loc_advice *advice)
{
	static const char *const levels[MACHINE_LEVELS_MAX] = {"L1 misses", "L2 misses", "L3 misses", "L4 misses"};
	struct table_column columns[MACHINE_LEVELS_MAX + 6] = {{.heading = "refs", .align = TABLE_RIGHT}};
	size_t count = 1;

	for (unsigned i = 0; advice->machine && i < advice->machine->level_count; i++)
		columns[count++] = (struct table_column){.heading = levels[i], .gap = 2, .align = TABLE_RIGHT};
	columns[count++] = (struct table_column){
		.heading = advice->machine ? "cycles/ref" : "lines/1000", .gap = 2, .align = TABLE_RIGHT};
	columns[count++] =
		(struct table_column){.heading = "function", .gap = 2, .cut = TABLE_CUT_END, .max_width = 32};
	columns[count++] = (struct table_column){.heading = "loop", .gap = 2, .cut = TABLE_CUT_START};
	columns[count++] = (struct table_column){.heading = "remedy", .gap = 2};
	return table_new(columns, count);
}

static void
print_head(const struct loc_advice *advice, const struct output *output)
{
	bool is_part = false;

	for (size_t i = 0; i < advice->count; i++)
		is_part |= advice->advised[i].remedies[0].trial.is_part;
	if (advice->machine)
		fprintf(output->stream,
		        "\nWhat may be done, and how a core of %s would serve it (of the entry with most references%s; "
		        "cycles: beyond hits, one after the other):\n\n",
		        advice->machine->name, is_part ? ", by its first 17 million" : "");
	else
		fputs("\nWhat may be done, and lines fetched for 1,000 references if none stays in a cache "
		      "(--try --machine NAME tries it):\n\n",
		      output->stream);
}

int
loc_advice_print(const struct loc_profile *profile, const struct loc_advice *advice, const struct output *output)
{
	struct table *table;
	int err;

	if (!advice->count && advice->machine)
		fputs("\nThere is no remedy that the references of these loops allow, and that gains a tenth.\n",
		      output->stream);
	if (!advice->count)
		return 0;
	table = make_table(advice);
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < advice->count; i++)
		for (size_t k = 0; k < advice->advised[i].count; k++)
			add_row(profile, advice, &advice->advised[i], k, table);
	print_head(advice, output);
	err = table_print(table, output, true);
	table_free(table);
	return err;
}

/* ---- JSON ---- */

static const char *
kind_text(const struct loc_remedy *remedy)
{
	static const char *const kinds[] = {[LOCALITY_INTERCHANGE] = "interchange",
	                                    [LOCALITY_TILE] = "tile",
	                                    [LOCALITY_TRANSPOSE] = "transpose",
	                                    [LOCALITY_SPLIT] = "split"};

	return remedy->is_as_it_is ? "as it is" : kinds[remedy->advice.kind];
}

static json_t *
trial_json(const struct loc_trial *trial, const struct machine *machine)
{
	json_t *missed = json_array();
	int failed = !missed;

	if (!machine) {
		json_decref(missed);
		return json_null();
	}
	for (unsigned i = 0; i < machine->level_count; i++)
		failed |= json_array_append_new(missed, json_count(trial->missed[i]));
	return json_kept(json_pack("{s:o, s:o, s:b}", "missed", missed, "cycles", json_count(trial->cycles), "part",
	                           trial->is_part),
	                 failed);
}

static json_t *
remedy_json(const struct loc_advice *advice, const struct loc_nest *nest, const struct loc_remedy *remedy)
{
	char words[WORDS_SIZE];

	return json_pack("{s:s, s:o, s:f, s:I, s:b, s:o}", "kind", kind_text(remedy), "text",
	                 json_shown(format_remedy(nest, remedy, words)), "lines", remedy->lines, "tile",
	                 (json_int_t)remedy->advice.tile, "sums_reordered", remedy->advice.sums_reordered, "trial",
	                 trial_json(&remedy->trial, advice->machine));
}

json_t *
loc_advice_json(const struct loc_advice *advice)
{
	json_t *all = json_array();
	int failed = !all;

	for (size_t i = 0; i < advice->count; i++) {
		const struct loc_advised *advised = &advice->advised[i];
		const struct locality_loop *loop = loc_nest_loop(advised->nest);
		json_t *remedies = json_array();

		failed |= !remedies;
		for (size_t k = 0; k < advised->count; k++)
			failed |= json_array_append_new(remedies,
			                                remedy_json(advice, advised->nest, &advised->remedies[k]));
		failed |= json_array_append_new(
			all, json_pack("{s:o, s:o, s:I, s:o, s:o}", "function", json_shown(loop->function), "file",
		                       json_shown(loop->file), "line", (json_int_t)loop->line, "references",
		                       json_count(advised->nest->references), "remedies", remedies));
	}
	return json_kept(all, failed);
}
