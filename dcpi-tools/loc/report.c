#include "dcpi-tools/loc/report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/loc/functions.h"

#define LEAST_SHARE 0.001
#define KINDS_SIZE  160
#define PERCENT     100.0
#define KIB         1024.0

/* ---- words ---- */

static const char *const class_names[STRIDE_CLASSES] = {"stride 0", "stride 1", "strided", "by index", "irregular"};

/* "3 stride 1, 2 by index" */
static const char *
format_kinds(const struct loc_loop *loop, char text[KINDS_SIZE])
{
	uint32_t counts[STRIDE_CLASSES] = {0};
	int length = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < loop->loop->count; i++)
		counts[loc_stride_class(&loop->loop->references[i], &loop->references[i])]++;
	for (unsigned i = 0; i < STRIDE_CLASSES; i++) {
		if (counts[i])
			length += snprintf(text + length, KINDS_SIZE - (size_t)length, "%s%" PRIu32 " %s",
			                   length ? ", " : "", counts[i], class_names[i]);
	}
	return text;
}

const char *
loc_format_bytes(uint64_t bytes, char text[LOC_SIZE_TEXT])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double size = (double)bytes;
	unsigned unit = 0;

	for (; size >= KIB && unit < 4; unit++)
		size /= KIB;
	snprintf(text, LOC_SIZE_TEXT, size < 10 && unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
	return text;
}

/* From the first byte that was referred to, to the last one. */
static uint64_t
range_of(const struct locality_reference *text, const struct loc_reference *reference)
{
	return reference->low > reference->high ? 0 : reference->high - reference->low + text->bytes;
}

/* The sum of those of its references, of the same name only once. */
static uint64_t
footprint_of(const struct loc_loop *loop)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < loop->loop->count; i++) {
		const struct loc_reference *reference = &loop->references[i];
		bool is_inside = false;

		for (uint32_t k = 0; k < loop->loop->count && !is_inside; k++) {
			const struct loc_reference *other = &loop->references[k];

			is_inside = k != i && other->low <= reference->low && other->high >= reference->high &&
			            (k < i || other->low < reference->low || other->high > reference->high);
		}
		sum += is_inside ? 0 : range_of(&loop->loop->references[i], reference);
	}
	return sum;
}

static bool
is_shown(const struct loc_profile *profile, const struct loc_view *view, size_t at, size_t shown)
{
	if (profile->loops[at].loop->is_function)
		return false;
	if (view->loop)
		return loc_loop_is_called(profile->loops[at].loop, view->loop);
	return view->limit ? shown < view->limit
	                   : !shown || loc_profile_share(profile, &profile->loops[at]) >= LEAST_SHARE;
}

/* ---- text ---- */

static void
print_head(const struct loc_profile *profile, const struct loc_view *view, const struct output *output)
{
	const size_t loops = profile->loop_count - profile->function_count;
	const size_t records = profile->record_count;
	char time[TIME_TEXT_SIZE];

	if (view->epoch)
		fprintf(output->stream, "Epoch %" PRIu32 ": ", view->epoch);
	(void)text_print(locality_record_program(profile->records[0]), output->stream);
	if (records == 1)
		fprintf(output->stream, ", process %" PRIu32 " of %s\n", locality_record_pid(profile->records[0]),
		        time_format(locality_record_began(profile->records[0]), time));
	else
		fprintf(output->stream, " and others, %zu records\n", records);
	fprintf(output->stream, "%" PRIu64 " references of %zu loop%s are recorded", profile->count, loops,
	        text_plural(loops));
	if (profile->skipped)
		fprintf(output->stream, ", of %" PRIu64, profile->count + profile->skipped);
	fprintf(output->stream, ". All together: spatial %.3f, temporal ", profile->spatial);
	if (profile->temporal >= 0)
		fprintf(output->stream, "%.3f", profile->temporal);
	else
		fputs("not known", output->stream);
	fprintf(output->stream, " (words of %d bytes, reuse within %d addresses)\n", LOCALITY_WORD_BYTES,
	        (int)LOCALITY_REUSE_MAX);
}

static void
add_temporal(struct table *table, const struct locality_score *score)
{
	if (score->judged)
		table_format(table, STYLE_PLAIN, "%.3f", locality_temporal(score));
	else
		table_text(table, STYLE_PLAIN, "-");
}

static void
add_place(struct table *table, const char *file, uint32_t line)
{
	if (*file && line)
		table_format(table, STYLE_PLAIN, "%s:%" PRIu32, text_basename(file), line);
	else
		table_text(table, STYLE_PLAIN, "[no line]");
}

static void
add_loop_row(const struct loc_profile *profile, const struct loc_loop *loop, struct table *table)
{
	char kinds[KINDS_SIZE], size[LOC_SIZE_TEXT];

	table_format(table, STYLE_PLAIN, "%.1f %%", PERCENT * loc_profile_share(profile, loop));
	if (loop->entries) {
		table_format(table, STYLE_PLAIN, "%" PRIu64, loop->entries);
		table_format(table, STYLE_PLAIN, "%.1f", (double)loop->iterations / (double)loop->entries);
	} else {
		table_text(table, STYLE_PLAIN, "-");
		table_text(table, STYLE_PLAIN, "-");
	}
	table_format(table, STYLE_PLAIN, "%.3f", locality_spatial(&loop->score));
	add_temporal(table, &loop->score);
	table_text(table, STYLE_PLAIN, loc_format_bytes(loop->lines * LINE_SET_BYTES, size));
	table_text(table, STYLE_PLAIN, loop->loop->function);
	add_place(table, loop->loop->file, loop->loop->line);
	table_text(table, STYLE_PLAIN, format_kinds(loop, kinds));
}

static int
print_loops(const struct loc_profile *profile, const struct loc_view *view, const struct output *output)
{
	static const struct table_column columns[] = {
		{.heading = "refs", .align = TABLE_RIGHT},
		{.heading = "entries", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "iterations", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "spatial", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "temporal", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "footprint", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "function", .gap = 2, .cut = TABLE_CUT_END, .max_width = 32},
		{.heading = "loop", .gap = 2, .cut = TABLE_CUT_START},
		{.heading = "references", .gap = 2},
	};
	struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	size_t shown = 0;
	int err;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < profile->loop_count; i++) {
		if (is_shown(profile, view, i, shown)) {
			add_loop_row(profile, &profile->loops[i], table);
			shown++;
		}
	}
	fputs("\n", output->stream);
	err = table_print(table, output, true);
	table_free(table);
	return err;
}

/* ---- functions, where the compiler looked at the source ---- */

static bool
is_function_shown(const struct loc_profile *profile, const struct loc_view *view, const struct loc_function *function,
                  size_t shown)
{
	if (view->loop)
		return loc_loop_is_called(function->text->loop, view->loop);
	return view->limit ? shown < view->limit : function->references >= LEAST_SHARE * (double)profile->count;
}

/* "1 stride 0, 2 random", as the classes are few. */
static const char *
format_classes(const struct loc_function *function, char text[KINDS_SIZE])
{
	const uint32_t random = function->classes[STRIDE_INDEX] + function->classes[STRIDE_IRREGULAR];
	int length = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < STRIDE_INDEX; i++) {
		if (function->classes[i])
			length += snprintf(text + length, KINDS_SIZE - (size_t)length, "%s%" PRIu32 " %s",
			                   length ? ", " : "", function->classes[i], class_names[i]);
	}
	if (random)
		snprintf(text + length, KINDS_SIZE - (size_t)length, "%s%" PRIu32 " random", length ? ", " : "",
		         random);
	return text;
}

static void
add_function_row(const struct loc_function *function, struct table *table)
{
	const struct locality_loop *text = function->text->loop;
	char kinds[KINDS_SIZE];

	table_format(table, STYLE_PLAIN, "%" PRIu64, function->text->entries);
	table_format(table, STYLE_PLAIN, "%" PRIu32, text->blocks);
	if (function->known == text->blocks)
		table_format(table, STYLE_PLAIN, "%.0f:%.0f:%.0f", function->least, function->mean, function->most);
	else
		table_format(table, STYLE_PLAIN, "%.0f:%.0f:%.0f of %" PRIu32, function->least, function->mean,
		             function->most, function->known);
	table_format(table, STYLE_PLAIN, "%.3f", function->spatial);
	table_format(table, STYLE_PLAIN, "%.3f", function->by_stride);
	if (function->temporal < 0)
		table_text(table, STYLE_PLAIN, "-");
	else
		table_format(table, STYLE_PLAIN, "%.3f", function->temporal);
	table_text(table, STYLE_PLAIN, text->function);
	add_place(table, text->file, text->line);
	table_text(table, STYLE_PLAIN, format_classes(function, kinds));
}

static int
print_functions(const struct loc_profile *profile, const struct loc_view *view, const struct output *output)
{
	static const struct table_column columns[] = {
		{.heading = "calls", .align = TABLE_RIGHT},
		{.heading = "blocks", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "frequency", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "spatial", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "by stride", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "temporal", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "function", .gap = 2, .cut = TABLE_CUT_END, .max_width = 32},
		{.heading = "place", .gap = 2, .cut = TABLE_CUT_START},
		{.heading = "references", .gap = 2},
	};
	struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	struct loc_functions functions = {.functions = NULL};
	size_t shown = 0;
	int err = table ? loc_functions_init(&functions, profile) : -ENOMEM;

	for (size_t i = 0; i < functions.count && !err; i++) {
		if (is_function_shown(profile, view, &functions.functions[i], shown)) {
			add_function_row(&functions.functions[i], table);
			shown++;
		}
	}
	if (shown)
		fputs("\n", output->stream);
	if (shown && !err)
		err = table_print(table, output, true);
	loc_functions_fini(&functions);
	table_free(table);
	return err;
}

/* ---- references ---- */

static const char *
access_text(char access)
{
	return access == 'R' ? "read" : "write";
}

/* Whether basic blocks have numbers there. */
static bool
has_blocks(const struct loc_loop *loop)
{
	return *loop->loop->unique_name != '\0';
}

static void
add_reference_row(const struct loc_loop *loop, uint32_t at, struct table *table)
{
	const struct locality_reference *text = &loop->loop->references[at];
	const struct loc_reference *reference = &loop->references[at];
	const enum stride_class class = loc_stride_class(text, reference);
	char size[LOC_SIZE_TEXT];

	table_text(table, STYLE_PLAIN, access_text(text->access));
	table_format(table, STYLE_PLAIN, "%" PRIu32, text->bytes);
	if (class == STRIDE_INDEX || class == STRIDE_IRREGULAR)
		table_text(table, STYLE_PLAIN, class_names[class]);
	else
		table_format(table, STYLE_PLAIN, "%" PRId64, reference->stride);
	table_format(table, STYLE_PLAIN, "%.3f", locality_spatial(&reference->score));
	add_temporal(table, &reference->score);
	table_text(table, STYLE_PLAIN, loc_format_bytes(range_of(text, reference), size));
	if (reference->low <= reference->high)
		table_format(table, STYLE_PLAIN, "0x%" PRIx64, reference->low);
	else
		table_text(table, STYLE_PLAIN, "-");
	add_place(table, loop->loop->file, text->line);
	table_text(table, STYLE_PLAIN, *text->name ? text->name : "[no name]");
	if (has_blocks(loop))
		table_format(table, STYLE_PLAIN, "%" PRIu32, text->block);
}

static int
print_references(const struct loc_loop *loop, const struct output *output)
{
	static const struct table_column columns[] = {
		{.heading = "access"},
		{.heading = "bytes", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "stride", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "spatial", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "temporal", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "range", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "from", .gap = 2},
		{.heading = "line", .gap = 2, .cut = TABLE_CUT_START},
		{.heading = "name", .gap = 2, .cut = TABLE_CUT_END},
		{.heading = "block", .gap = 2, .align = TABLE_RIGHT},
	};
	struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]) - !has_blocks(loop));
	int err;

	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i < loop->loop->count; i++)
		add_reference_row(loop, i, table);
	fputs("\n", output->stream);
	err = table_print(table, output, true);
	table_free(table);
	if (loop->loop->left_out)
		fprintf(output->stream, "%" PRIu32 " reference%s of the loop %s not described.\n", loop->loop->left_out,
		        text_plural(loop->loop->left_out), loop->loop->left_out == 1 ? "is" : "are");
	return err;
}

static void
print_missing(const struct loc_profile *profile, const struct output *output)
{
	fprintf(output->stream,
	        "\nDescribed: %.1f %% of what these loops refer to; 'dcpiloc --exact' says how much is outside of "
	        "loops\n",
	        PERCENT * loc_profile_described(profile));
	if (profile->is_full)
		fputs("Missing: what came after a record, or its disk, was full\n", output->stream);
	if (profile->texts_lost)
		fprintf(output->stream, "Missing: %" PRIu64 " loops, for whose text a record had no room\n",
		        profile->texts_lost);
	if (profile->damaged)
		fprintf(output->stream, "Missing: what is behind a fault in %zu record%s\n", profile->damaged,
		        text_plural(profile->damaged));
}

int
loc_print_text(const struct loc_profile *profile, const struct loc_view *view, const struct loc_advice *advice,
               const struct output *output)
{
	int err;

	print_head(profile, view, output);
	err = print_loops(profile, view, output);
	if (!err)
		err = print_functions(profile, view, output);
	for (size_t i = 0; i < profile->loop_count && view->loop && !err; i++) {
		if (is_shown(profile, view, i, 0))
			err = print_references(&profile->loops[i], output);
	}
	if (!err)
		err = loc_advice_print(profile, advice, output);
	print_missing(profile, output);
	return err;
}

/* ---- JSON ---- */

static json_t *
temporal_json(const struct locality_score *score)
{
	return score->judged ? json_real(locality_temporal(score)) : json_null();
}

static json_t *
reference_json(const struct loc_loop *loop, uint32_t at)
{
	const struct locality_reference *text = &loop->loop->references[at];
	const struct loc_reference *reference = &loop->references[at];
	const enum stride_class class = loc_stride_class(text, reference);
	json_t *stride = class == STRIDE_INDEX || class == STRIDE_IRREGULAR
	                         ? json_null()
	                         : json_integer((json_int_t)reference->stride);

	return json_pack("{s:s, s:I, s:s, s:o, s:o, s:f, s:o, s:o, s:I, s:o, s:o}", "access", access_text(text->access),
	                 "bytes", (json_int_t)text->bytes, "class", class_names[class], "stride", stride, "references",
	                 json_count(reference->score.references), "spatial", locality_spatial(&reference->score),
	                 "temporal", temporal_json(&reference->score), "range", json_count(range_of(text, reference)),
	                 "line", (json_int_t)text->line, "name", json_shown(text->name), "block",
	                 has_blocks(loop) ? json_integer((json_int_t)text->block) : json_null());
}

static json_t *
loop_json(const struct loc_profile *profile, const struct loc_loop *loop)
{
	json_t *references = json_array();
	char build_id[BUILD_ID_TEXT_SIZE];
	int failed = !references;

	for (uint32_t i = 0; i < loop->loop->count; i++)
		failed |= json_array_append_new(references, reference_json(loop, i));
	return json_kept(
		json_pack("{s:o, s:s, s:o, s:I, s:I, s:f, s:o, s:o, s:o, s:f, s:o, s:o, s:o, s:I, s:o, s:o}",
	                  "function", json_shown(loop->loop->function), "build_id",
	                  build_id_text(loop->loop->build_id, loop->loop->build_id_size, build_id), "file",
	                  json_shown(loop->loop->file), "line", (json_int_t)loop->loop->line, "depth",
	                  (json_int_t)loop->loop->depth, "share", loc_profile_share(profile, loop), "references",
	                  json_count(loop->count), "entries", json_count(loop->entries), "iterations",
	                  json_count(loop->iterations), "spatial", locality_spatial(&loop->score), "temporal",
	                  temporal_json(&loop->score), "range", json_count(footprint_of(loop)), "footprint",
	                  json_count(loop->lines * LINE_SET_BYTES), "left_out", (json_int_t)loop->loop->left_out,
	                  "block", has_blocks(loop) ? json_integer((json_int_t)loop->loop->header) : json_null(),
	                  "streams", references),
		failed);
}

static json_t *
function_json(const struct loc_function *function)
{
	const struct locality_loop *text = function->text->loop;
	json_t *frequencies = json_array();
	int failed = !frequencies;

	for (uint32_t i = 0; i < text->blocks; i++)
		failed |= json_array_append_new(frequencies, function->frequencies[i] < 0
		                                                     ? json_null()
		                                                     : json_estimate(function->frequencies[i]));
	return json_kept(
		json_pack("{s:o, s:o, s:I, s:o, s:I, s:o, s:{s:o, s:f, s:o, s:I}, s:{s:I, s:I, s:I, s:I}, s:o, s:f, "
	                  "s:f, s:o}",
	                  "function", json_shown(text->function), "file", json_shown(text->file), "line",
	                  (json_int_t)text->line, "calls", json_count(function->text->entries), "basic_blocks",
	                  (json_int_t)text->blocks, "frequencies", frequencies, "frequency", "min",
	                  json_estimate(function->least), "mean", function->mean, "max", json_estimate(function->most),
	                  "known", (json_int_t)function->known, "classes", "stride_0",
	                  (json_int_t)function->classes[STRIDE_ITSELF], "stride_1",
	                  (json_int_t)function->classes[STRIDE_NEXT], "strided",
	                  (json_int_t)function->classes[STRIDE_FAR], "random",
	                  (json_int_t)function->classes[STRIDE_INDEX] + (json_int_t)function->classes[STRIDE_IRREGULAR],
	                  "references", json_estimate(function->references), "spatial", function->spatial, "by_stride",
	                  function->by_stride, "temporal",
	                  function->temporal < 0 ? json_null() : json_real(function->temporal)),
		failed);
}

/* NULL: no memory. */
static json_t *
functions_json(const struct loc_profile *profile, const struct loc_view *view)
{
	struct loc_functions functions;
	json_t *shown = json_array();
	int failed = !shown || loc_functions_init(&functions, profile);

	for (size_t i = 0; shown && i < functions.count; i++)
		if (is_function_shown(profile, view, &functions.functions[i], json_array_size(shown)))
			failed |= json_array_append_new(shown, function_json(&functions.functions[i]));
	if (shown)
		loc_functions_fini(&functions);
	return json_kept(shown, failed);
}

int
loc_print_json(const struct loc_profile *profile, const struct loc_view *view, const struct loc_advice *advice,
               FILE *stream)
{
	json_t *loops = json_array();
	int failed = !loops;
	size_t shown = 0;

	for (size_t i = 0; i < profile->loop_count; i++) {
		if (!is_shown(profile, view, i, shown))
			continue;
		failed |= json_array_append_new(loops, loop_json(profile, &profile->loops[i]));
		shown++;
	}
	return json_print_exact(
		json_kept(
			json_pack(
				"{s:s, s:f, s:o, s:o, s:I, s:o, s:o, s:I, s:I, s:f, s:o, s:b, s:o, s:I, s:o, s:o, s:o}",
				"schema", "dcpiloc/1", "described", loc_profile_described(profile), "epoch",
				view->epoch ? json_integer((json_int_t)view->epoch) : json_null(), "program",
				json_shown(locality_record_program(profile->records[0])), "records",
				(json_int_t)profile->record_count, "references", json_count(profile->count), "skipped",
				json_count(profile->skipped), "word_bytes", (json_int_t)LOCALITY_WORD_BYTES,
				"reuse_max", (json_int_t)LOCALITY_REUSE_MAX, "spatial", profile->spatial, "temporal",
				profile->temporal >= 0 ? json_real(profile->temporal) : json_null(), "full",
				profile->is_full, "texts_lost", json_count(profile->texts_lost), "damaged",
				(json_int_t)profile->damaged, "advice", loc_advice_json(advice), "loops", loops,
				"functions", functions_json(profile, view)),
			failed),
		stream);
}
