#include "analysis/procedure_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/procedure_search.h"
#include "base/error.h"

#define CLONE_TIMES 10 /* as many samples: a procedure that only starts its loop is not what is asked for */

static bool
is_hexadecimal(const char *text, uint64_t *value)
{
	char *end;

	if (strncmp(text, "0x", 2) != 0 && strncmp(text, "0X", 2) != 0)
		return false;
	errno = 0;
	*value = strtoull(text, &end, 16);
	return !errno && end != text + 2 && !*end;
}

/* "NAME+0x10": the offset, and the end of NAME. NULL when it is no such text. */
static const char *
parse_place(const char *text, uint64_t *offset)
{
	const char *plus = strrchr(text, '+');

	return plus && plus > text && is_hexadecimal(plus + 1, offset) ? plus : NULL;
}

uint64_t
procedure_search_samples(const struct search *search, const struct code_image *code, const struct symbol *symbol)
{
	return code_image_samples(search->query->selection, code->index, symbol->offset, symbol->offset + symbol->size,
	                          search->query->event);
}

static int
add_match(struct search *search, const struct code_image *code, const struct symbol *symbol)
{
	struct match *match;

	if (search->count == search->capacity) {
		const size_t capacity = search->capacity ? 2 * search->capacity : 8;
		struct match *matches = reallocarray(search->matches, capacity, sizeof(*matches));

		if (!matches)
			return -ENOMEM;
		search->matches = matches;
		search->capacity = capacity;
	}
	match = &search->matches[search->count++];
	*match = (struct match){
		.image = code->index,
		.offset = symbol->offset,
		.size = symbol->size,
		.samples = procedure_search_samples(search, code, symbol),
	};
	if (image_file_address(code->file, symbol->offset, &match->address))
		match->address = symbol->offset;
	return 0;
}

static bool
is_called(const struct symbol *symbol, const char *name, bool demangled)
{
	char *readable;
	bool same;

	if (!symbol->name)
		return false;
	if (!demangled)
		return strcmp(symbol->name, name) == 0;
	readable = symbol_demangle(symbol->name);
	same = readable && strcmp(readable, name) == 0;
	free(readable);
	return same;
}

static int
match_names(struct search *search, const struct code_image *code, bool demangled)
{
	const size_t count = symbol_table_size(code->symbols);
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		const struct symbol *symbol = symbol_table_at(code->symbols, i);

		if (is_called(symbol, search->query->name, demangled))
			err = add_match(search, code, symbol);
	}
	return err;
}

/* What a compiler made of it besides: "NAME._omp_fn.0", "NAME.constprop.0", "NAME [clone .part.0]". */
static bool
is_made_of(const struct symbol *symbol, const char *name)
{
	const size_t length = strlen(name);
	char *readable;
	bool is_clone;

	if (!symbol->name)
		return false;
	if (strncmp(symbol->name, name, length) == 0 && symbol->name[length] == '.')
		return true;
	readable = symbol_demangle(symbol->name);
	is_clone = readable && strncmp(readable, name, length) == 0 && strncmp(readable + length, " [clone ", 8) == 0;
	free(readable);
	return is_clone;
}

/* Its clones instead, if they have nearly all samples: the matches from `before` on are those of the name itself. */
static int
match_clones(struct search *search, const struct code_image *code, size_t before)
{
	const size_t count = symbol_table_size(code->symbols), own_count = search->count - before;
	uint64_t own = 0;
	int err = 0;

	for (size_t i = before; i < before + own_count; i++)
		own += search->matches[i].samples;
	for (size_t i = 0; i < count && !err; i++) {
		const struct symbol *symbol = symbol_table_at(code->symbols, i);

		if (procedure_search_samples(search, code, symbol) > CLONE_TIMES * own &&
		    is_made_of(symbol, search->query->name))
			err = add_match(search, code, symbol);
	}
	if (err || search->count == before + own_count)
		return err;
	search->count -= own_count;
	for (size_t i = before; i < search->count; i++)
		search->matches[i] = search->matches[i + own_count];
	return 0;
}

static int
match_address(struct search *search, const struct code_image *code)
{
	const struct symbol *symbol;
	uint64_t offset;

	if (image_file_offset(code->file, search->address, &offset))
		return 0;
	symbol = symbol_table_find(code->symbols, offset);
	return symbol ? add_match(search, code, symbol) : 0;
}

/* "libx.so+0x1040", as code without a name is shown: the offset is the file's. */
static int
match_place(struct search *search, const struct code_image *code)
{
	const char *path = code->image->path, *slash = strrchr(path, '/'), *end;
	const char *name = search->query->name, *file = slash ? slash + 1 : path;
	const struct symbol *symbol;
	uint64_t offset;

	end = parse_place(name, &offset);
	if (!end || strlen(file) != (size_t)(end - name) || strncmp(file, name, (size_t)(end - name)) != 0)
		return 0;
	symbol = symbol_table_find(code->symbols, offset);
	return symbol ? add_match(search, code, symbol) : 0;
}

static int
search_image(struct search *search, const struct code_image *code)
{
	const size_t before = search->count;
	int err;

	if (search->by_address)
		return match_address(search, code);
	err = match_names(search, code, false);
	if (!err && search->count == before)
		err = match_names(search, code, true);
	if (!err)
		err = match_clones(search, code, before);
	if (!err && search->count == before)
		err = match_place(search, code);
	return err || search->count ? err : procedure_search_near(search, code);
}

/* Names may have been captured where text was not. */
static bool
has_name(const struct search *search, uint32_t image)
{
	const struct selection *selection = search->query->selection;
	struct profile_symbol *symbols;
	size_t count;
	bool has = false;

	if (!selection->profile ||
	    profile_get_symbols(selection->profile, selection->images[image].number, &symbols, &count))
		return false;
	for (size_t i = 0; i < count && !has; i++)
		has = symbols[i].name && strcmp(symbols[i].name, search->query->name) == 0;
	profile_free_symbols(symbols);
	return has;
}

static void
note_trouble(struct search *search, uint32_t image, int err)
{
	const uint64_t samples =
		code_image_samples(search->query->selection, image, 0, UINT64_MAX, search->query->event);
	const bool is_named = has_name(search, image);

	if (search->trouble && (is_named != search->trouble_has_name ? !is_named : samples <= search->trouble_samples))
		return;
	search->trouble_has_name = is_named;
	search->trouble = err;
	search->trouble_image = image;
	search->trouble_samples = samples;
}

static int
search_images(struct search *search)
{
	const struct procedure_query *query = search->query;
	int err = 0;

	for (uint32_t i = 0; i < query->selection->image_count && !err; i++) {
		struct code_image code;

		if (query->wanted ? !query->wanted[i]
		                  : !code_image_samples(query->selection, i, 0, UINT64_MAX, query->event))
			continue;
		err = code_image_open(&code, query->selection, i);
		if (err == -ENOMEM)
			return err;
		if (err) {
			note_trouble(search, i, err);
			err = 0;
			continue;
		}
		search->opened++;
		err = search_image(search, &code);
		code_image_close(&code);
	}
	return err;
}

static int
compare_matches(const void *a, const void *b)
{
	const struct match *one = a, *other = b;

	if (one->samples != other->samples)
		return one->samples < other->samples ? 1 : -1;
	return (one->image > other->image) - (one->image < other->image);
}

/* The only match, or the only one that has samples; NULL when there is no such. */
static const struct match *
choose(const struct search *search)
{
	if (search->count == 0 || search->matches[0].samples == 0)
		return NULL;
	return search->count > 1 && search->matches[1].samples > 0 ? NULL : &search->matches[0];
}

static int
open_match(const struct search *search, const struct match *match, struct procedure_found *found, FILE *why)
{
	char shown[SHOWN_SIZE];
	int err;

	err = code_image_open(&found->code, search->query->selection, match->image);
	if (!err)
		err = code_image_read(&found->code);
	if (err) {
		fprintf(why, "%s cannot be analysed: %s", procedure_search_path(search, match->image, shown),
		        code_image_trouble(search->query->selection->images[match->image].image, err));
		code_image_close(&found->code);
		return err;
	}
	found->symbol = symbol_table_find(found->code.symbols, match->offset);
	found->samples = match->samples;
	return 0;
}

int
procedure_find(const struct procedure_query *query, struct procedure_found *found, char *why, size_t size)
{
	struct search search = {.query = query};
	const struct match *match;
	FILE *stream;
	int err;

	memset(found, 0, sizeof(*found));
	why[0] = '\0';
	search.by_address = is_hexadecimal(query->name, &search.address);
	err = search_images(&search);
	stream = err ? NULL : fmemopen(why, size, "w");
	if (!err && !stream)
		err = -ENOMEM;
	if (err)
		goto out;
	if (search.count)
		qsort(search.matches, search.count, sizeof(*search.matches), compare_matches);
	match = choose(&search);
	if (match) {
		err = open_match(&search, match, found, stream);
	} else {
		procedure_search_complain(&search, stream);
		err = search.opened || !search.trouble ? -DCPI_ENOSELECTION : search.trouble;
	}
	fclose(stream);
out:
	free(search.matches);
	free(search.near);
	for (size_t i = 0; i < search.part_count; i++)
		free(search.parts[i].name);
	return err;
}
