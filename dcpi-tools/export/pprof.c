/*
 * The profile is written in pieces, entry after entry: a reader of protocol buffers puts messages that follow one
 * another together. So nothing is kept of it here but the texts.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/export/profile.pb-c.h"
#include "dcpi-tools/export/report.h"
#include "image/lines.h"

#define PAGE              UINT64_C(4096)
#define LEAST_ADDRESS     UINT64_C(0x100000) /* that a stretch is laid out at; any would do */
#define FUNCTION_KEY_SIZE 32
#define VALUES_MAX        (2 * SELECTION_EVENTS_MAX)

typedef Perftools__Profiles__Profile piece_t;

struct pprof_writer {
	const struct export_report *report;
	gzFile file;
	uint8_t *buffer; /* for one packed piece */
	size_t capacity;
	struct export_strings *texts; /* the string table */
	struct export_strings
		*functions;    /* "PROCEDURE FILE" by identity: a procedure has one for each file of its lines */
	uint64_t next_address; /* for the next stretch */
	uint64_t shift;        /* from an offset of the present one to its address */
	uint64_t mapping;      /* of the present stretch */
	uint64_t location;     /* the last one's identity */
	bool is_timed[SELECTION_EVENTS_MAX]; /* by column: it has a value in nanoseconds, too */
	int err;                             /* that it ended with */
};

/* Once it has failed, nothing more is written. */
static void
put(struct pprof_writer *writer, const piece_t *piece)
{
	const size_t size = perftools__profiles__profile__get_packed_size(piece);
	int code;

	if (!writer->err && size > writer->capacity) {
		uint8_t *grown = realloc(writer->buffer, 2 * size);

		if (grown) {
			writer->buffer = grown;
			writer->capacity = 2 * size;
		} else {
			writer->err = -ENOMEM;
		}
	}
	if (writer->err)
		return;
	perftools__profiles__profile__pack(piece, writer->buffer);
	if (gzfwrite(writer->buffer, 1, size, writer->file) == size)
		return;
	gzerror(writer->file, &code);
	writer->err = code == Z_ERRNO && errno ? -errno : -EIO;
}

/* The number of a text as it is shown: it must be UTF-8. */
static int64_t
number_text(struct pprof_writer *writer, const char *text)
{
	char *shown = text_shown(text);
	uint32_t number = 0;

	if ((!shown || strings_add(writer->texts, shown, &number)) && !writer->err)
		writer->err = -ENOMEM;
	free(shown);
	return number;
}

static void
put_type(struct pprof_writer *writer, const char *name, const char *unit)
{
	Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT, *types = &type;
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;

	type.type = number_text(writer, name);
	type.unit = number_text(writer, unit);
	piece.n_sample_type = 1;
	piece.sample_type = &types;
	put(writer, &piece);
}

/* Samples of each event, then the time of samples of clock events. */
static void
put_types(struct pprof_writer *writer)
{
	const struct export_report *report = writer->report;

	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		put_type(writer, export_report_event(report, i)->name, "count");
	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		const struct selection_event *event = export_report_event(report, i);
		char name[EVENT_NAME_SIZE + sizeof("-time")];

		writer->is_timed[i] = strcmp(event->unit, "ns") == 0 && event->period > 0;
		if (!writer->is_timed[i])
			continue;
		snprintf(name, sizeof(name), "%s-time", event->name);
		put_type(writer, name, "nanoseconds");
	}
}

static void
put_comment(struct pprof_writer *writer, const char *text)
{
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	int64_t number = number_text(writer, text);

	piece.n_comment = 1;
	piece.comment = &number;
	put(writer, &piece);
}

/* Host and kernel, and the notes of events that stand in for others. */
static void
put_comments(struct pprof_writer *writer)
{
	const struct export_report *report = writer->report;
	const struct selection *selection = report->choice.selection;
	char text[2 * EPOCH_TEXT_SIZE + EVENT_NOTE_SIZE];

	if (selection->epoch_count > 0) {
		const struct epoch *newest = &selection->epochs[selection->epoch_count - 1];

		snprintf(text, sizeof(text), "dcpiexport " DCPI_VERSION ": %s, %s", newest->host, newest->kernel);
		put_comment(writer, text);
	}
	if (report->request->options.request.label && !selection->run.is_known)
		put_comment(writer, "the duration is that of the slices with samples under the label: how long its "
		                    "runs lasted is not known");
	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		const struct selection_event *event = export_report_event(report, i);

		snprintf(text, sizeof(text), "%s: %s", event->name, event->note);
		if (event->note[0])
			put_comment(writer, text);
		if (summary_weights(event, text))
			put_comment(writer, text);
	}
}

static void
put_head(struct pprof_writer *writer)
{
	const struct selection *selection = writer->report->choice.selection;
	const struct selection_event *event = export_report_event(writer->report, 0);
	const struct selection_run *run = &selection->run;
	Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;

	put_types(writer);
	put_comments(writer);
	type.type = number_text(writer, event->name);
	type.unit = number_text(writer, strcmp(event->unit, "ns") == 0 ? "nanoseconds" : event->unit);
	piece.time_nanos = (int64_t)(run->is_known ? run->begin_ns : selection->start_ns);
	piece.duration_nanos = (int64_t)(run->is_known ? run->elapsed_ns : selection->covered_ns);
	piece.period_type = &type;
	piece.period = (int64_t)event->period;
	piece.default_sample_type = type.type;
	put(writer, &piece);
}

/* A stretch of an image at addresses of its own; offsets are the file's, so that its code is found. */
static void
put_mapping(struct pprof_writer *writer, const struct export_stretch *stretch)
{
	const struct image *image = writer->report->choice.selection->images[stretch->image].image;
	Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT, *mappings = &mapping;
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	char build_id[BUILD_ID_TEXT_SIZE];

	mapping.id = ++writer->mapping;
	mapping.file_offset = stretch->start;
	mapping.memory_start = writer->next_address + stretch->start % PAGE;
	mapping.memory_limit = mapping.memory_start + (stretch->end - stretch->start);
	writer->shift = mapping.memory_start - mapping.file_offset;
	/* pprof merges mappings that touch */
	writer->next_address = (mapping.memory_limit & ~(PAGE - 1)) + 2 * PAGE;
	/* without these pprof would read names and lines from the file */
	mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;
	mapping.filename = number_text(writer, image->path);
	mapping.build_id = number_text(writer, build_id_format(image, build_id));
	piece.n_mapping = 1;
	piece.mapping = &mappings;
	put(writer, &piece);
}

static void
put_function(struct pprof_writer *writer, const char *name, const char *linked, const char *path, uint64_t id)
{
	Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT, *functions = &function;
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;

	function.id = id;
	function.name = number_text(writer, name);
	/* pprof shortens names that are not the readable form of another */
	function.system_name = number_text(writer, linked);
	function.filename = number_text(writer, path);
	piece.n_function = 1;
	piece.function = &functions;
	put(writer, &piece);
}

/* The identity of the function with this key, which is put if it is new. */
static uint64_t
find_function(struct pprof_writer *writer, const char *key, const char *title, const char *linked, uint32_t file)
{
	const size_t count = strings_count(writer->functions);
	uint32_t number = 0;

	if (strings_add(writer->functions, key, &number))
		writer->err = writer->err ? writer->err : -ENOMEM;
	else if (number == count)
		put_function(writer, title, linked, strings_get(writer->report->strings, file), number);
	return number;
}

/* The procedure of point `index`, with the file of its line. */
static uint64_t
find_procedure(struct pprof_writer *writer, size_t index, uint32_t file)
{
	const struct export_report *report = writer->report;
	const struct sampled_offset *point = &report->points.points[index];
	const struct sample_procedure *procedure = &report->points.procedures[point->procedure];
	char key[FUNCTION_KEY_SIZE];

	snprintf(key, sizeof(key), "%" PRIu32 " %" PRIu32, point->procedure, file);
	return find_function(writer, key, procedure->title, procedure->name ? procedure->name : procedure->title, file);
}

static uint64_t
find_inlined(struct pprof_writer *writer, const struct export_inlined *inlined, uint32_t file)
{
	const struct export_strings *strings = writer->report->strings;
	char key[FUNCTION_KEY_SIZE];

	snprintf(key, sizeof(key), "i%" PRIu32 " %" PRIu32, inlined->linked, file);
	return find_function(writer, key, strings_get(strings, inlined->title), strings_get(strings, inlined->linked),
	                     file);
}

/* A location, whose identity is writer->location afterwards; of several lines, the first is of what was inlined. */
static void
put_location(struct pprof_writer *writer, uint64_t mapping, uint64_t address, Perftools__Profiles__Line **lines,
             size_t line_count)
{
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT, *locations = &location;
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;

	location.id = ++writer->location;
	location.mapping_id = mapping;
	location.address = address;
	location.n_line = line_count;
	location.line = lines;
	piece.n_location = 1;
	piece.location = &locations;
	put(writer, &piece);
}

/* Samples of a stack of `count` locations, the innermost first. */
static void
put_samples(struct pprof_writer *writer, uint64_t *locations, size_t count, const uint64_t *samples)
{
	const struct export_report *report = writer->report;
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT, *sample_list = &sample;
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	int64_t values[VALUES_MAX];

	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		values[sample.n_value++] = samples[i] > INT64_MAX ? INT64_MAX : (int64_t)samples[i];
	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		int64_t time_ns;

		if (!writer->is_timed[i])
			continue;
		if (__builtin_mul_overflow(samples[i], export_report_event(report, i)->period, &time_ns))
			time_ns = INT64_MAX;
		values[sample.n_value++] = time_ns;
	}
	sample.n_location_id = count;
	sample.location_id = locations;
	sample.value = values;
	piece.n_sample = 1;
	piece.sample = &sample_list;
	put(writer, &piece);
}

/* The location of a point: a line for each subroutine that was inlined there, and one for the procedure. */
static void
put_place(struct pprof_writer *writer, size_t index)
{
	const struct export_report *report = writer->report;
	const struct export_place *place = &report->places[index];
	Perftools__Profiles__Line lines[INLINED_MAX + 1], *list[INLINED_MAX + 1];
	uint32_t file = place->file, line = place->line, count = 0;

	for (; count < place->inlined_count; count++) {
		const struct export_inlined *inlined = &report->inlined[place->first_inlined + count];

		lines[count] = (Perftools__Profiles__Line)PERFTOOLS__PROFILES__LINE__INIT;
		lines[count].function_id = find_inlined(writer, inlined, file);
		lines[count].line = line;
		list[count] = &lines[count];
		file = inlined->call_file; /* the next one is where it calls this one */
		line = inlined->call_line;
	}
	lines[count] = (Perftools__Profiles__Line)PERFTOOLS__PROFILES__LINE__INIT;
	lines[count].function_id = find_procedure(writer, index, file);
	lines[count].line = line;
	list[count] = &lines[count];
	put_location(writer, writer->mapping, writer->shift + report->points.points[index].offset, list, count + 1);
}

static void
put_point(struct pprof_writer *writer, size_t index)
{
	const struct export_report *report = writer->report;
	const struct sampled_offset *point = &report->points.points[index];
	uint64_t samples[SELECTION_EVENTS_MAX] = {0};

	if (report->places[index].stretch == writer->mapping) /* identities begin with 1 */
		put_mapping(writer, &report->stretches[writer->mapping]);
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		samples[i] = sample_points_samples(&report->points, point, report->choice.shown_events.events[i]);
	put_place(writer, index);
	if (!report->stacks)
		put_samples(writer, &writer->location, 1, samples);
}

/* A location of a function that is no procedure: `number` tells them apart. */
static void
put_named(struct pprof_writer *writer, const char *name, unsigned number)
{
	Perftools__Profiles__Line line = PERFTOOLS__PROFILES__LINE__INIT, *lines = &line;

	line.function_id = strings_count(writer->functions) + number;
	put_function(writer, name, name, "", line.function_id);
	put_location(writer, 0, 0, &lines, 1);
}

/* All stacks. The points' locations have the numbers from 1 on, in their order, and then come the causes of ends. */
static void
put_stacks(struct pprof_writer *writer)
{
	const struct export_report *report = writer->report;
	const struct stack_node *nodes = report->choice.selection->stacks.nodes;
	const uint64_t ends = writer->location + 1;
	uint64_t *locations = calloc((size_t)report->choice.selection->stacks.count + 1, sizeof(*locations));

	if (!locations) {
		writer->err = writer->err ? writer->err : -ENOMEM;
		return;
	}
	for (unsigned end = 0; end < STACK_END_COUNT; end++) {
		const struct stack_node node = {.offset = end, .image = STACK_NO_IMAGE};
		char name[EXPORT_TRUNCATED_SIZE];

		put_named(writer, export_truncated(&node, name), UNKNOWN_CAUSE_COUNT + end);
	}
	for (size_t i = 0; i < report->stack_count && !writer->err; i++) {
		uint64_t samples[SELECTION_EVENTS_MAX] = {0};
		size_t count = 0;

		for (uint32_t at = report->stacks[i].node; at; at = nodes[at].caller) {
			const struct sampled_offset *point = sample_points_frame(&report->points, at);
			const unsigned end = nodes[at].offset < STACK_END_COUNT ? (unsigned)nodes[at].offset : 0;

			locations[count++] = point ? (uint64_t)(point - report->points.points) + 1 : ends + end;
		}
		for (size_t k = 0; k < report->choice.shown_events.count; k++)
			samples[k] =
				export_stack_samples(report, &report->stacks[i], report->choice.shown_events.events[k]);
		put_samples(writer, locations, count, samples);
	}
	free(locations);
}

/* Samples without an image: a function for each cause. */
static void
put_unknown(struct pprof_writer *writer, unsigned cause)
{
	const struct export_report *report = writer->report;
	uint64_t samples[SELECTION_EVENTS_MAX] = {0}, sum = 0;
	char name[64];

	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		sum |= samples[i] = export_report_unknown(report, report->choice.shown_events.events[i], cause);
	if (sum == 0)
		return;
	snprintf(name, sizeof(name), "[unknown: %s]", unknown_cause_name(cause));
	put_named(writer, name, cause);
	put_samples(writer, &writer->location, 1, samples);
}

static void
put_all(struct pprof_writer *writer)
{
	put_head(writer);
	for (size_t i = 0; i < writer->report->points.count && !writer->err; i++)
		put_point(writer, i);
	if (writer->report->stacks && !writer->err)
		put_stacks(writer);
	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
		put_unknown(writer, cause);
	for (size_t i = 0; i < strings_count(writer->texts) && !writer->err; i++) {
		piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;
		char *text = (char *)strings_get(writer->texts, (uint32_t)i);

		piece.n_string_table = 1;
		piece.string_table = &text;
		put(writer, &piece);
	}
}

/* gzip output after the content of the stream so far, with its own descriptor. */
static int
open_compressed(FILE *stream, gzFile *file)
{
	int fd = fflush(stream) ? -1 : fcntl(fileno(stream), F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	*file = gzdopen(fd, "wb");
	if (*file)
		return 0;
	close(fd);
	return -ENOMEM;
}

int
export_write_pprof(const struct export_report *report, FILE *stream)
{
	struct pprof_writer writer = {
		.report = report,
		.texts = strings_new(),
		.functions = strings_new(),
		.next_address = LEAST_ADDRESS,
	};
	int code;

	writer.err = writer.texts && writer.functions ? open_compressed(stream, &writer.file) : -ENOMEM;
	if (writer.file) {
		put_all(&writer);
		errno = 0;
		code = gzclose(writer.file);
		if (!writer.err && code != Z_OK)
			writer.err = code == Z_ERRNO && errno ? -errno : -EIO;
	}
	strings_free(writer.functions);
	strings_free(writer.texts);
	free(writer.buffer);
	return writer.err;
}
