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
	uint64_t samples[SELECTION_EVENTS_MAX]; /* of the present location, by column */
	bool is_timed[SELECTION_EVENTS_MAX];    /* by column: it has a value in nanoseconds, too */
};

static int
put(struct pprof_writer *writer, const piece_t *piece)
{
	const size_t size = perftools__profiles__profile__get_packed_size(piece);
	int code;

	if (size > writer->capacity) {
		uint8_t *grown = realloc(writer->buffer, 2 * size);

		if (!grown)
			return -ENOMEM;
		writer->buffer = grown;
		writer->capacity = 2 * size;
	}
	perftools__profiles__profile__pack(piece, writer->buffer);
	if (gzfwrite(writer->buffer, 1, size, writer->file) == size)
		return 0;
	gzerror(writer->file, &code);
	return code == Z_ERRNO && errno ? -errno : -EIO;
}

/* The number of a text as it is shown: it must be UTF-8. */
static int
number_text(struct pprof_writer *writer, const char *text, int64_t *number)
{
	char *shown = text_shown(text);
	uint32_t found = 0;
	int err;

	err = shown ? strings_add(writer->texts, shown, &found) : -ENOMEM;
	free(shown);
	*number = found;
	return err;
}

static int
put_type(struct pprof_writer *writer, const char *name, const char *unit)
{
	Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT, *types = &type;
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	int err;

	err = number_text(writer, name, &type.type);
	if (!err)
		err = number_text(writer, unit, &type.unit);
	if (err)
		return err;
	piece.n_sample_type = 1;
	piece.sample_type = &types;
	return put(writer, &piece);
}

/* Samples of each event, then the time of samples of clock events. */
static int
put_types(struct pprof_writer *writer)
{
	const struct export_report *report = writer->report;
	int err = 0;

	for (size_t i = 0; i < report->choice.columns.count && !err; i++)
		err = put_type(writer, report->choice.selection->events[report->choice.columns.events[i]].name,
		               "count");
	for (size_t i = 0; i < report->choice.columns.count && !err; i++) {
		const struct selection_event *event =
			&report->choice.selection->events[report->choice.columns.events[i]];
		char name[EVENT_NAME_SIZE + sizeof("-time")];

		writer->is_timed[i] = strcmp(event->unit, "ns") == 0 && event->period > 0;
		if (!writer->is_timed[i])
			continue;
		snprintf(name, sizeof(name), "%s-time", event->name);
		err = put_type(writer, name, "nanoseconds");
	}
	return err;
}

static int
put_comment(struct pprof_writer *writer, const char *text)
{
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	int64_t number;
	int err;

	err = number_text(writer, text, &number);
	piece.n_comment = 1;
	piece.comment = &number;
	return err ? err : put(writer, &piece);
}

/* Host and kernel, and the notes of events that stand in for others. */
static int
put_comments(struct pprof_writer *writer)
{
	const struct export_report *report = writer->report;
	const struct selection *selection = report->choice.selection;
	char text[2 * EPOCH_TEXT_SIZE + EVENT_NOTE_SIZE];
	int err = 0;

	if (selection->epoch_count > 0) {
		const struct epoch *newest = &selection->epochs[selection->epoch_count - 1];

		snprintf(text, sizeof(text), "dcpiexport " DCPI_VERSION ": %s, %s", newest->host, newest->kernel);
		err = put_comment(writer, text);
	}
	if (report->request->options.request.label && !selection->run.is_known && !err)
		err = put_comment(writer,
		                  "the duration is that of the slices with samples under the label: how long its "
		                  "runs lasted is not known");
	for (size_t i = 0; i < report->choice.columns.count && !err; i++) {
		const struct selection_event *event = &selection->events[report->choice.columns.events[i]];

		snprintf(text, sizeof(text), "%s: %s", event->name, event->note);
		if (event->note[0])
			err = put_comment(writer, text);
		if (!err && summary_weights(event, text))
			err = put_comment(writer, text);
	}
	return err;
}

static int
put_head(struct pprof_writer *writer)
{
	const struct export_report *report = writer->report;
	const struct selection_event *event = &report->choice.selection->events[report->choice.columns.events[0]];
	const struct selection_run *run = &report->choice.selection->run;
	Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	const char *unit = strcmp(event->unit, "ns") == 0 ? "nanoseconds" : event->unit;
	int err;

	err = put_types(writer);
	if (err)
		return err;
	err = put_comments(writer);
	if (err)
		return err;
	err = number_text(writer, event->name, &type.type);
	if (err)
		return err;
	err = number_text(writer, unit, &type.unit);
	if (err)
		return err;
	piece.time_nanos = (int64_t)(run->is_known ? run->begin_ns : report->choice.selection->start_ns);
	piece.duration_nanos = (int64_t)(run->is_known ? run->elapsed_ns : report->choice.selection->covered_ns);
	piece.period_type = &type;
	piece.period = (int64_t)event->period;
	piece.default_sample_type = type.type;
	return put(writer, &piece);
}

/* A stretch of an image at addresses of its own; offsets are the file's, so that its code is found. */
static int
put_mapping(struct pprof_writer *writer, const struct export_stretch *stretch)
{
	const struct image *image = writer->report->choice.selection->images[stretch->image].image;
	Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT, *mappings = &mapping;
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	char build_id[BUILD_ID_TEXT_SIZE];
	int err;

	mapping.id = ++writer->mapping;
	mapping.file_offset = stretch->start;
	mapping.memory_start = writer->next_address + stretch->start % PAGE;
	mapping.memory_limit = mapping.memory_start + (stretch->end - stretch->start);
	writer->shift = mapping.memory_start - mapping.file_offset;
	/* pprof merges mappings that touch */
	writer->next_address = (mapping.memory_limit & ~(PAGE - 1)) + 2 * PAGE;
	/* without these pprof would read names and lines from the file */
	mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;
	err = number_text(writer, image->path, &mapping.filename);
	if (!err)
		err = number_text(writer, build_id_format(image, build_id), &mapping.build_id);
	piece.n_mapping = 1;
	piece.mapping = &mappings;
	return err ? err : put(writer, &piece);
}

static int
put_function(struct pprof_writer *writer, const char *name, const char *linked, const char *path, uint64_t id)
{
	Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT, *functions = &function;
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	int err;

	function.id = id;
	err = number_text(writer, name, &function.name);
	if (!err) /* pprof shortens names that are not the readable form of another */
		err = number_text(writer, linked, &function.system_name);
	if (!err)
		err = number_text(writer, path, &function.filename);
	piece.n_function = 1;
	piece.function = &functions;
	return err ? err : put(writer, &piece);
}

/* The identity of the procedure of point `index`, with the file of its line. */
static int
find_function(struct pprof_writer *writer, size_t index, uint64_t *id)
{
	const struct export_report *report = writer->report;
	const struct sampled_offset *point = &report->points.points[index];
	const struct sample_procedure *procedure = &report->points.procedures[point->procedure];
	const size_t count = strings_count(writer->functions);
	char key[FUNCTION_KEY_SIZE];
	uint32_t number;
	int err;

	snprintf(key, sizeof(key), "%" PRIu32 " %" PRIu32, point->procedure, report->places[index].file);
	err = strings_add(writer->functions, key, &number);
	*id = number;
	if (err || number < count)
		return err;
	return put_function(writer, procedure->title, procedure->name ? procedure->name : procedure->title,
	                    strings_get(report->strings, report->places[index].file), number);
}

static int
put_location(struct pprof_writer *writer, uint64_t mapping, uint64_t address, const Perftools__Profiles__Line *line)
{
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT, *locations = &location;
	Perftools__Profiles__Line *lines = (Perftools__Profiles__Line *)line;
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;

	location.id = ++writer->location;
	location.mapping_id = mapping;
	location.address = address;
	location.n_line = 1;
	location.line = &lines;
	piece.n_location = 1;
	piece.location = &locations;
	return put(writer, &piece);
}

/* The samples at the location that was put last. */
static int
put_sample(struct pprof_writer *writer)
{
	const struct export_report *report = writer->report;
	const uint64_t *samples = writer->samples;
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT, *sample_list = &sample;
	piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	int64_t values[VALUES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < report->choice.columns.count; i++)
		values[count++] = samples[i] > INT64_MAX ? INT64_MAX : (int64_t)samples[i];
	for (size_t i = 0; i < report->choice.columns.count; i++) {
		const uint64_t period = report->choice.selection->events[report->choice.columns.events[i]].period;
		int64_t time_ns;

		if (!writer->is_timed[i])
			continue;
		if (__builtin_mul_overflow(samples[i], period, &time_ns))
			time_ns = INT64_MAX;
		values[count++] = time_ns;
	}
	sample.n_location_id = 1;
	sample.location_id = &writer->location;
	sample.n_value = count;
	sample.value = values;
	piece.n_sample = 1;
	piece.sample = &sample_list;
	return put(writer, &piece);
}

static int
put_point(struct pprof_writer *writer, size_t index)
{
	const struct export_report *report = writer->report;
	const struct sampled_offset *point = &report->points.points[index];
	Perftools__Profiles__Line line = PERFTOOLS__PROFILES__LINE__INIT;
	int err;

	if (report->places[index].stretch == writer->mapping) { /* identities begin with 1 */
		err = put_mapping(writer, &report->stretches[writer->mapping]);
		if (err)
			return err;
	}
	for (size_t i = 0; i < report->choice.columns.count; i++)
		writer->samples[i] = sample_points_samples(&report->points, point, report->choice.columns.events[i]);
	err = find_function(writer, index, &line.function_id);
	if (err)
		return err;
	line.line = report->places[index].line;
	err = put_location(writer, writer->mapping, writer->shift + point->offset, &line);
	return err ? err : put_sample(writer);
}

/* Samples without an image: a function for each cause. */
static int
put_unknown(struct pprof_writer *writer, unsigned cause)
{
	const struct export_report *report = writer->report;
	Perftools__Profiles__Line line = PERFTOOLS__PROFILES__LINE__INIT;
	uint64_t sum = 0;
	char name[64];
	int err;

	for (size_t i = 0; i < report->choice.columns.count; i++)
		sum |= writer->samples[i] = export_report_unknown(report, report->choice.columns.events[i], cause);
	if (sum == 0)
		return 0;
	snprintf(name, sizeof(name), "[unknown: %s]", unknown_cause_name(cause));
	line.function_id = strings_count(writer->functions) + cause;
	err = put_function(writer, name, name, "", line.function_id);
	if (!err)
		err = put_location(writer, 0, 0, &line);
	return err ? err : put_sample(writer);
}

static int
put_texts(struct pprof_writer *writer)
{
	int err = 0;

	for (size_t i = 0; i < strings_count(writer->texts) && !err; i++) {
		piece_t piece = PERFTOOLS__PROFILES__PROFILE__INIT;
		char *text = (char *)strings_get(writer->texts, (uint32_t)i);

		piece.n_string_table = 1;
		piece.string_table = &text;
		err = put(writer, &piece);
	}
	return err;
}

static int
put_all(struct pprof_writer *writer)
{
	int err;

	err = put_head(writer);
	for (size_t i = 0; i < writer->report->points.count && !err; i++)
		err = put_point(writer, i);
	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT && !err; cause++)
		err = put_unknown(writer, cause);
	return err ? err : put_texts(writer);
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
	int err, code;

	err = writer.texts && writer.functions ? open_compressed(stream, &writer.file) : -ENOMEM;
	if (!err) {
		err = put_all(&writer);
		errno = 0;
		code = gzclose(writer.file);
		if (!err && code != Z_OK)
			err = code == Z_ERRNO && errno ? -errno : -EIO;
	}
	strings_free(writer.functions);
	strings_free(writer.texts);
	free(writer.buffer);
	return err;
}
