/* libsample.c - the interface of libsample.so over the rooms of libsample/ */
#include <libsample/database.h>
#include <libsample/error.h>
#include <libsample/selection.h>
#include <libsample/symbols.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/contents.h"
#include "image/lines.h"
#include "image/symbols.h"
#include "profile/profile.h"
#include "profile/selection.h"

/* Programs have these numbers in them. */
_Static_assert((int)SAMPLE_EDAMAGED == (int)DCPI_EDAMAGED, "the table has another number");
_Static_assert((int)SAMPLE_ENEWER == (int)DCPI_ENEWER, "the table has another number");
_Static_assert((int)SAMPLE_EREADERS == (int)DCPI_EREADERS, "the table has another number");
_Static_assert((int)SAMPLE_ENODATABASE == (int)DCPI_ENODATABASE, "the table has another number");
_Static_assert((int)SAMPLE_ENOSELECTION == (int)DCPI_ENOSELECTION, "the table has another number");
_Static_assert((int)SAMPLE_EBUILDID == (int)DCPI_EBUILDID, "the table has another number");
_Static_assert((int)SAMPLE_ESYMLINK == (int)DCPI_ESYMLINK, "the table has another number");
_Static_assert((int)SAMPLE_EFOREIGN == (int)DCPI_EFOREIGN, "the table has another number");

const char *
sample_error_text(int error)
{
	return error_text(error);
}

const char *
sample_version(void)
{
	return DCPI_VERSION;
}

struct sample_database {
	struct profile *profile;
};

struct sample_selection {
	struct selection *inner;
	uint64_t *image_samples; /* event_count for each image */
};

/* ---- the database ---- */

int
sample_database_open(const char *directory, struct sample_database **database)
{
	const struct profile_options options = {.write = false};
	const char *wanted = directory ? directory : getenv("DCPI_DB");
	int err;

	*database = calloc(1, sizeof(**database));
	if (!*database)
		return -ENOMEM;
	err = profile_open(wanted && *wanted ? wanted : PROFILE_DIRECTORY, &options, &(*database)->profile);
	if (err) {
		free(*database);
		*database = NULL;
	}
	return err;
}

void
sample_database_close(struct sample_database *database)
{
	if (!database)
		return;
	profile_close(database->profile);
	free(database);
}

/* ---- what was read of it ---- */

_Static_assert((int)SAMPLE_KIND_USER == (int)IMAGE_USER && (int)SAMPLE_KIND_KERNEL == (int)IMAGE_KERNEL,
               "they are the database's");
_Static_assert((int)SAMPLE_KIND_MODULE == (int)IMAGE_MODULE && (int)SAMPLE_KIND_VDSO == (int)IMAGE_VDSO,
               "they are the database's");
_Static_assert((int)SAMPLE_KIND_JIT == (int)IMAGE_JIT && (int)SAMPLE_KIND_ANON == (int)IMAGE_ANON,
               "they are the database's");

/* What a caller that was built with an older version knows of a request. */
static struct selection_request
request_of(const struct sample_request *request)
{
	struct sample_request known = {.size = sizeof(known)};

	if (request)
		memcpy(&known, request, request->size < sizeof(known) ? request->size : sizeof(known));
	return (struct selection_request){
		.epoch = known.epoch,
		.since_ns = known.since_ns,
		.until_ns = known.until_ns,
		.comm = known.comm,
		.cgroup = known.cgroup,
		.label = known.label,
		.host = known.host,
	};
}

static int
add_up_images(struct sample_selection *selection)
{
	const struct selection *inner = selection->inner;

	selection->image_samples = calloc(inner->image_count * inner->event_count + 1, sizeof(uint64_t));
	if (!selection->image_samples)
		return -ENOMEM;
	for (size_t i = 0; i < inner->count_count; i++) {
		const struct selection_count *count = &inner->counts[i];

		selection->image_samples[count->image * inner->event_count + count->event] += count->count;
	}
	return 0;
}

int
sample_selection_read(struct sample_database *database, const struct sample_request *request,
                      struct sample_selection **selection, char *why, size_t why_size)
{
	const struct selection_request wanted = request_of(request);
	char unused[1];
	int err;

	*selection = calloc(1, sizeof(**selection));
	if (!*selection)
		return -ENOMEM;
	err = selection_read(database->profile, &wanted, &(*selection)->inner, why ? why : unused,
	                     why ? why_size : sizeof(unused));
	if (!err)
		err = add_up_images(*selection);
	if (err) {
		sample_selection_free(*selection);
		*selection = NULL;
	}
	return err;
}

void
sample_selection_free(struct sample_selection *selection)
{
	if (!selection)
		return;
	free(selection->image_samples);
	selection_free(selection->inner);
	free(selection);
}

uint64_t
sample_selection_start_ns(const struct sample_selection *selection)
{
	return selection->inner->start_ns;
}

uint64_t
sample_selection_end_ns(const struct sample_selection *selection)
{
	return selection->inner->end_ns;
}

/* NULL: out of range. */
static const struct selection_event *
event_at(const struct sample_selection *selection, size_t event)
{
	return event < selection->inner->event_count ? &selection->inner->events[event] : NULL;
}

size_t
sample_event_count(const struct sample_selection *selection)
{
	return selection->inner->event_count;
}

int
sample_event_find(const struct sample_selection *selection, const char *name, size_t *event)
{
	for (size_t i = 0; i < selection->inner->event_count; i++)
		if (strcmp(selection->inner->events[i].name, name) == 0) {
			*event = i;
			return 0;
		}
	return -ENOENT;
}

int
sample_event_first(const struct sample_selection *selection, size_t *event)
{
	for (size_t i = 0; i < selection->inner->event_count; i++)
		if (selection->inner->events[i].available) {
			*event = i;
			return 0;
		}
	return -ENOENT;
}

const char *
sample_event_name(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);

	return found ? found->name : NULL;
}

const char *
sample_event_unit(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);

	return found ? found->unit : NULL;
}

uint64_t
sample_event_period(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);

	return found ? found->period : 0;
}

bool
sample_event_is_available(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);

	return found && found->available;
}

uint64_t
sample_event_samples(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);

	return found ? found->totals.samples : 0;
}

uint64_t
sample_event_unknown(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);
	uint64_t sum = 0;

	for (unsigned cause = 0; found && cause < UNKNOWN_CAUSE_COUNT; cause++)
		sum += found->totals.unknown[cause];
	return sum;
}

uint64_t
sample_event_lost(const struct sample_selection *selection, size_t event)
{
	const struct selection_event *found = event_at(selection, event);

	return found ? found->totals.lost : 0;
}

static const struct image *
image_at(const struct sample_selection *selection, size_t image)
{
	return image < selection->inner->image_count ? selection->inner->images[image].image : NULL;
}

size_t
sample_image_count(const struct sample_selection *selection)
{
	return selection->inner->image_count;
}

const char *
sample_image_path(const struct sample_selection *selection, size_t image)
{
	const struct image *found = image_at(selection, image);

	return found ? found->path : NULL;
}

enum sample_kind
sample_image_kind(const struct sample_selection *selection, size_t image)
{
	const struct image *found = image_at(selection, image);

	return found ? (enum sample_kind)found->kind : SAMPLE_KIND_UNKNOWN;
}

const uint8_t *
sample_image_build_id(const struct sample_selection *selection, size_t image, size_t *size)
{
	const struct image *found = image_at(selection, image);

	*size = found ? found->build_id_size : 0;
	return *size ? found->build_id : NULL;
}

uint64_t
sample_image_samples(const struct sample_selection *selection, size_t image, size_t event)
{
	const size_t event_count = selection->inner->event_count;

	if (image >= selection->inner->image_count || event >= event_count)
		return 0;
	return selection->image_samples[image * event_count + event];
}

size_t
sample_point_count(const struct sample_selection *selection)
{
	return selection->inner->count_count;
}

int
sample_point_get(const struct sample_selection *selection, size_t index, struct sample_point *point)
{
	const struct selection_count *count;

	if (index >= selection->inner->count_count)
		return -ERANGE;
	count = &selection->inner->counts[index];
	*point = (struct sample_point){
		.offset = count->offset,
		.samples = count->count,
		.image = count->image,
		.event = count->event,
	};
	return 0;
}

/* ---- names and lines ---- */

struct sample_symbols {
	struct symbol_table *table;
	struct image_file *file;   /* NULL: it is not there */
	struct image_lines *lines; /* NULL: there are none, or nobody has asked yet */
	int lines_error;           /* why there are none */
};

static int
read_file(const struct image *image, struct sample_symbols *symbols)
{
	int err;

	if (image->kind != IMAGE_USER && image->kind != IMAGE_VDSO)
		return -ENOTSUP;
	err = image_file_open(image, &symbols->file);
	if (err) {
		symbols->file = NULL;
		return err;
	}
	return symbol_table_from_file(symbols->file, &symbols->table);
}

static int
read_captured(struct profile *profile, uint32_t number, struct sample_symbols *symbols)
{
	struct profile_symbol *captured;
	size_t count;
	int err;

	err = profile_get_symbols(profile, number, &captured, &count);
	if (err)
		return err;
	err = symbol_table_from_captured(captured, count, &symbols->table);
	profile_free_symbols(captured);
	return err;
}

int
sample_symbols_open(struct sample_database *database, const struct sample_selection *selection, size_t image,
                    struct sample_symbols **symbols)
{
	const struct selection_image *found;
	int err;

	if (image >= selection->inner->image_count)
		return -ERANGE;
	found = &selection->inner->images[image];
	*symbols = calloc(1, sizeof(**symbols));
	if (!*symbols)
		return -ENOMEM;
	err = read_file(found->image, *symbols);
	if (err && err != -ENOMEM) {
		int captured = read_captured(database->profile, found->number, *symbols);

		err = captured == -ENOENT ? err : captured;
	}
	if (!err)
		return 0;
	sample_symbols_close(*symbols);
	*symbols = NULL;
	return err;
}

void
sample_symbols_close(struct sample_symbols *symbols)
{
	if (!symbols)
		return;
	image_lines_free(symbols->lines);
	image_file_close(symbols->file);
	symbol_table_free(symbols->table);
	free(symbols);
}

int
sample_symbols_find(const struct sample_symbols *symbols, uint64_t offset, uint64_t *start, const char **name)
{
	const struct symbol *symbol = symbol_table_find(symbols->table, offset);

	if (!symbol)
		return -ENOENT;
	*start = symbol->offset;
	*name = symbol->name;
	return 0;
}

int
sample_symbols_line(struct sample_symbols *symbols, uint64_t offset, const char **path, unsigned *line)
{
	struct source_place place;
	uint64_t address;
	int err;

	if (!symbols->file)
		return -ENOENT;
	if (!symbols->lines && !symbols->lines_error)
		symbols->lines_error = image_lines_new(symbols->file, &symbols->lines);
	err = symbols->lines_error;
	if (!err)
		err = image_file_address(symbols->file, offset, &address);
	if (!err)
		err = image_lines_find(symbols->lines, address, &place);
	if (err)
		return err;
	*path = place.path;
	*line = place.line;
	return 0;
}

char *
sample_demangle(const char *name)
{
	return symbol_demangle(name);
}
