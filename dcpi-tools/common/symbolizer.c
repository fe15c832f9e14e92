#include "dcpi-tools/common/symbolizer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/text.h"
#include "image/contents.h"
#include "image/lines.h"
#include "process/hash.h"

#define OPEN_LINES_MAX 64 /* images whose DWARF is open at once */

/* What was inlined at an offset. */
struct inlined_place {
	uint64_t offset;
	UT_hash_handle hh;
	size_t count;
	const char *names[]; /* and their text behind them */
};

struct symbolizer_image {
	uint32_t number;             /* of the image in the database: the key */
	struct symbol_table *table;  /* NULL: `missing` says why */
	enum procedure_kind missing; /* what the whole image is then */
	bool lacks_lines;            /* it has no DWARF, or none that can be read */
	struct image_file *file;     /* of the lines */
	struct image_lines *lines;   /* NULL: not open */
	uint64_t used;               /* when they were needed last */
	struct inlined_place *inlined;
	UT_hash_handle hh;
};

struct symbolizer {
	struct profile *profile;
	struct symbolizer_image *images;
	size_t open_count; /* of lines */
	uint64_t clock;
};

const char *
procedure_kind_text(enum procedure_kind kind)
{
	static const char *const texts[PROCEDURE_KINDS] = {
		[PROCEDURE_NAMED] = "",
		[PROCEDURE_UNNAMED] = "",
		[PROCEDURE_NO_SYMBOL] = "no symbol",
		[PROCEDURE_OTHER_BUILD] = "another build",
		[PROCEDURE_NO_FILE] = "file not found",
		[PROCEDURE_NOT_READABLE] = "file not readable",
		[PROCEDURE_NOT_ELF] = "not an ELF file",
		[PROCEDURE_NO_NAMES] = "no names",
		[PROCEDURE_ANON] = "memory without a file",
	};

	return texts[kind];
}

struct symbolizer *
symbolizer_new(struct profile *profile)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (symbolizer)
		symbolizer->profile = profile;
	return symbolizer;
}

static void
free_image(struct symbolizer_image *symbols)
{
	symbol_table_free(symbols->table);
	HASH_FREE_ALL(symbols->inlined);
	image_lines_free(symbols->lines);
	image_file_close(symbols->file);
	free(symbols);
}

void
symbolizer_free(struct symbolizer *symbolizer)
{
	struct symbolizer_image *symbols, *next;

	if (!symbolizer)
		return;
	symbols = symbolizer->images;
	HASH_CLEAR(hh, symbolizer->images);
	for (; symbols; symbols = next) {
		next = symbols->hh.next;
		free_image(symbols);
	}
	free(symbolizer);
}

static int
table_from_file(const struct image *image, struct symbol_table **table)
{
	struct image_file *file;
	int err;

	err = image_file_open(image, &file);
	if (err)
		return err;
	err = symbol_table_from_file(file, table);
	image_file_close(file);
	return err;
}

static enum procedure_kind
file_error_kind(int err)
{
	switch (-err) {
	case ENOENT:
	case ENOTDIR:
		return PROCEDURE_NO_FILE;
	case DCPI_EBUILDID:
		return PROCEDURE_OTHER_BUILD;
	case DCPI_EDAMAGED:
		return PROCEDURE_NOT_ELF;
	default:
		return PROCEDURE_NOT_READABLE;
	}
}

/* A fault inside libelf or libdw is the file's, not the database's. 0, or -ENOMEM: then it is not entered. */
static int
enter_guard(struct guard *guard, const struct image *image, const char *advice)
{
	char *shown = text_shown(image->path);

	if (!shown)
		return -ENOMEM;
	*guard = (struct guard){
		.subject = shown,
		.claim = "its symbols cannot be read: the file is damaged",
		.advice = advice,
		.status = STATUS_FAILURE,
	};
	guard_enter(guard);
	return 0;
}

static void
leave_guard(struct guard *guard)
{
	guard_leave(guard);
	free((char *)guard->subject);
}

static int
read_file(const struct image *image, struct symbolizer_image *symbols)
{
	struct guard guard;
	int err = enter_guard(&guard, image, "leave it out with --image, or use -i");

	if (err)
		return err;
	err = table_from_file(image, &symbols->table);
	leave_guard(&guard);
	if (err == -ENOMEM)
		return err;
	if (err)
		symbols->missing = file_error_kind(err);
	return 0;
}

/* Symbols that were captured; if there are none, the image is `missing`. */
static int
read_captured(struct profile *profile, const struct selection_image *image, struct symbolizer_image *symbols,
              enum procedure_kind missing)
{
	struct profile_symbol *captured;
	size_t count;
	int err;

	symbols->missing = missing;
	err = profile ? profile_get_symbols(profile, image->number, &captured, &count) : -ENOENT;
	if (err)
		return err == -ENOENT ? 0 : err;
	err = symbol_table_from_captured(captured, count, &symbols->table);
	profile_free_symbols(captured);
	return err == -ENOENT ? 0 : err;
}

/* Captured names stand in for a file that cannot be read any more, or not by this user. */
static int
read_file_or_captured(struct profile *profile, const struct selection_image *image, struct symbolizer_image *symbols)
{
	int err = read_file(image->image, symbols);

	return err || symbols->table ? err : read_captured(profile, image, symbols, symbols->missing);
}

static int
read_symbols(struct profile *profile, const struct selection_image *image, struct symbolizer_image *symbols)
{
	switch (image->image->kind) {
	case IMAGE_USER:
	case IMAGE_VDSO:
		return read_file_or_captured(profile, image, symbols);
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
		return read_captured(profile, image, symbols, PROCEDURE_NO_NAMES);
	case IMAGE_JIT: /* without symbols: one procedure that is called as the image is */
		return read_captured(profile, image, symbols, PROCEDURE_NAMED);
	case IMAGE_ANON:
		return read_captured(profile, image, symbols, PROCEDURE_ANON);
	default:
		return read_captured(profile, image, symbols, PROCEDURE_NO_SYMBOL);
	}
}

static int
find_symbols(struct symbolizer *symbolizer, const struct selection_image *image, struct symbolizer_image **found)
{
	struct symbolizer_image *symbols;
	int err;

	HASH_FIND(hh, symbolizer->images, &image->number, sizeof(image->number), *found);
	if (*found)
		return 0;
	symbols = calloc(1, sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	symbols->number = image->number;
	err = read_symbols(symbolizer->profile, image, symbols);
	if (err) {
		free(symbols);
		return err;
	}
	HASH_ADD(hh, symbolizer->images, number, sizeof(symbols->number), symbols);
	if (!hash_added(symbols)) {
		free_image(symbols);
		return -ENOMEM;
	}
	*found = symbols;
	return 0;
}

struct procedure
procedure_of_symbol(const struct symbol *symbol)
{
	return (struct procedure){
		.kind = symbol->name ? PROCEDURE_NAMED : PROCEDURE_UNNAMED,
		.offset = symbol->offset,
		.name = symbol->name,
	};
}

int
symbolizer_find(struct symbolizer *symbolizer, const struct selection_image *image, uint64_t offset,
                struct procedure *procedure)
{
	struct symbolizer_image *symbols;
	const struct symbol *symbol;
	int err;

	err = find_symbols(symbolizer, image, &symbols);
	if (err)
		return err;
	memset(procedure, 0, sizeof(*procedure));
	if (!symbols->table) {
		procedure->kind = symbols->missing;
		procedure->name = symbols->missing == PROCEDURE_NAMED ? image->image->path : NULL;
		return 0;
	}
	symbol = symbol_table_find(symbols->table, offset);
	if (!symbol) {
		procedure->kind = PROCEDURE_NO_SYMBOL;
		return 0;
	}
	*procedure = procedure_of_symbol(symbol);
	return 0;
}

/* ---- what was inlined ---- */

static void
close_lines(struct symbolizer *symbolizer, struct symbolizer_image *symbols)
{
	symbolizer->open_count -= symbols->lines != NULL;
	image_lines_free(symbols->lines);
	image_file_close(symbols->file);
	symbols->lines = NULL;
	symbols->file = NULL;
}

/* Each open file takes a descriptor or two, and memory for what libdw has read. */
static void
close_oldest_lines(struct symbolizer *symbolizer)
{
	struct symbolizer_image *oldest = NULL;

	for (struct symbolizer_image *at = symbolizer->images; at; at = at->hh.next)
		if (at->lines && (!oldest || at->used < oldest->used))
			oldest = at;
	if (oldest)
		close_lines(symbolizer, oldest);
}

/* Lines of the image; `lacks_lines` when there are none. 0 or -ENOMEM. */
static int
open_lines(struct symbolizer *symbolizer, const struct image *image, struct symbolizer_image *symbols)
{
	int err = -ENOENT;

	if (symbolizer->open_count == OPEN_LINES_MAX)
		close_oldest_lines(symbolizer);
	if (image->kind == IMAGE_USER || image->kind == IMAGE_VDSO)
		err = image_file_open(image, &symbols->file);
	if (!err) {
		image_file_find_debug(symbols->file);
		err = image_lines_new(symbols->file, &symbols->lines);
	}
	symbolizer->open_count += symbols->lines != NULL;
	symbols->lacks_lines = err != 0;
	if (err)
		close_lines(symbolizer, symbols);
	return err == -ENOMEM ? err : 0;
}

/* Names are copied: the lines may be closed. */
static struct inlined_place *
new_place(uint64_t offset, const struct inlined_call *calls, size_t count)
{
	size_t size = sizeof(struct inlined_place) + count * sizeof(char *);
	struct inlined_place *place;
	char *text;

	for (size_t i = 0; i < count; i++)
		size += strlen(calls[i].name) + 1;
	place = calloc(1, size);
	if (!place)
		return NULL;
	place->offset = offset;
	place->count = count;
	text = (char *)&place->names[count];
	for (size_t i = 0; i < count; i++) {
		place->names[i] = text;
		text = stpcpy(text, calls[i].name) + 1;
	}
	return place;
}

static int
find_place(struct symbolizer *symbolizer, const struct image *image, struct symbolizer_image *symbols, uint64_t offset,
           struct inlined_place **found)
{
	struct inlined_call calls[INLINED_MAX];
	struct inlined_place *place;
	size_t count = 0;
	uint64_t address;
	int err = 0;

	if (!symbols->lines)
		err = open_lines(symbolizer, image, symbols);
	if (err || symbols->lacks_lines)
		return err;
	symbols->used = ++symbolizer->clock;
	if (image_file_address(symbols->file, offset, &address) == 0)
		err = image_lines_inlined(symbols->lines, address, calls, &count);
	place = err ? NULL : new_place(offset, calls, count);
	if (!place)
		return -ENOMEM;
	HASH_ADD(hh, symbols->inlined, offset, sizeof(place->offset), place);
	if (!hash_added(place)) {
		free(place);
		return -ENOMEM;
	}
	*found = place;
	return 0;
}

int
symbolizer_find_inlined(struct symbolizer *symbolizer, const struct selection_image *image, uint64_t offset,
                        const char *const **names, size_t *count)
{
	struct symbolizer_image *symbols;
	struct inlined_place *place = NULL;
	struct guard guard;
	int err = find_symbols(symbolizer, image, &symbols);

	*count = 0;
	if (err || symbols->lacks_lines)
		return err;
	HASH_FIND(hh, symbols->inlined, &offset, sizeof(offset), place);
	if (!place) {
		err = enter_guard(&guard, image->image, "leave inlined procedures out with --no-inline");
		if (err)
			return err;
		err = find_place(symbolizer, image->image, symbols, offset, &place);
		leave_guard(&guard);
	}
	if (place) {
		*names = place->names;
		*count = place->count;
	}
	return err;
}

/* ---- titles ---- */

/* "libfoo.so" of /usr/lib/libfoo.so, "ext4" of [ext4]. */
static char *
short_name(const struct image *image)
{
	const char *name = text_basename(image->path);
	size_t length = strlen(name);

	if (image->kind != IMAGE_USER && length > 2 && name[0] == '[' && name[length - 1] == ']')
		return strndup(name + 1, length - 2);
	return strdup(name);
}

char *
procedure_title(const struct procedure *procedure, const struct image *image, bool demangle)
{
	char *title, *name;
	int length;

	if (procedure->kind == PROCEDURE_NAMED) {
		errno = 0; /* symbol_demangle() leaves it when there is nothing to demangle */
		title = demangle ? symbol_demangle(procedure->name) : NULL;
		return title || errno == ENOMEM ? title : strdup(procedure->name);
	}
	if (procedure->kind == PROCEDURE_ANON)
		return strdup("[anon]");
	name = short_name(image);
	if (!name)
		return NULL;
	if (procedure->kind == PROCEDURE_UNNAMED)
		length = asprintf(&title, "%s+0x%" PRIx64, name, procedure->offset);
	else
		length = asprintf(&title, "[%s: %s]", procedure_kind_text(procedure->kind), name);
	free(name);
	return length < 0 ? NULL : title;
}
