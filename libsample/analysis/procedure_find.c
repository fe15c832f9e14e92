#include "analysis/procedure_find.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"

#define CLONE_TIMES     10 /* as many samples: a procedure that only starts its loop is not what is asked for */
#define PART_LENGTH_MIN 3  /* of a name: shorter ones are parts of too many */
#define CONTAINING_MAX  3  /* names that are suggested */
#define LISTED_MAX      4  /* procedures that a message lists */
#define SHOWN_SIZE      256

struct procedure_match {
	uint32_t image;
	uint64_t offset, size, address;
	uint64_t samples;
};

/* A name that contains the one that was asked for. */
struct containing_name {
	char *name; /* owned */
	uint64_t samples;
};

struct procedure_search {
	const struct procedure_query *query;
	bool by_address;
	uint64_t address; /* ELF's, with by_address */
	struct procedure_match *matches;
	size_t count, capacity;
	char *similar;                                     /* a name that is like the one that was asked for; owned */
	struct containing_name containing[CONTAINING_MAX]; /* descending by samples */
	size_t containing_count;
	size_t opened; /* images */
	int trouble;   /* of the image that could not be opened and has most samples; 0: of none */
	uint32_t trouble_image;
	uint64_t trouble_samples;
	bool trouble_has_name;           /* a procedure there is called what was asked for */
	struct procedure_match nameless; /* the hottest piece of code without a name; size 0: none */
};

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
parse_offset_name(const char *text, uint64_t *offset)
{
	const char *plus = strrchr(text, '+');

	return plus && plus > text && is_hexadecimal(plus + 1, offset) ? plus : NULL;
}

static uint64_t
symbol_samples(const struct procedure_search *search, const struct code_image *code, const struct symbol *symbol)
{
	return code_image_samples(search->query->selection, code->index, symbol->offset, symbol->offset + symbol->size,
	                          search->query->event);
}

static int
add_match(struct procedure_search *search, const struct code_image *code, const struct symbol *symbol)
{
	struct procedure_match *matches =
		array_grow(search->matches, &search->capacity, search->count + 1, sizeof(*matches));
	struct procedure_match *match;

	if (!matches)
		return -ENOMEM;
	search->matches = matches;
	match = &matches[search->count++];
	*match = (struct procedure_match){
		.image = code->index,
		.offset = symbol->offset,
		.size = symbol->size,
		.samples = symbol_samples(search, code, symbol),
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
match_names(struct procedure_search *search, const struct code_image *code, bool demangled)
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

/* A compiler's clone of it: "NAME._omp_fn.0", "NAME.constprop.0", "NAME [clone .part.0]". */
static bool
is_clone_of(const struct symbol *symbol, const char *name)
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
match_clones(struct procedure_search *search, const struct code_image *code, size_t before)
{
	const size_t count = symbol_table_size(code->symbols), own_count = search->count - before;
	uint64_t own = 0;
	int err = 0;

	for (size_t i = before; i < before + own_count; i++)
		own += search->matches[i].samples;
	for (size_t i = 0; i < count && !err; i++) {
		const struct symbol *symbol = symbol_table_at(code->symbols, i);

		if (symbol_samples(search, code, symbol) > CLONE_TIMES * own &&
		    is_clone_of(symbol, search->query->name))
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
match_address(struct procedure_search *search, const struct code_image *code)
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
match_offset_name(struct procedure_search *search, const struct code_image *code)
{
	const char *path = code->image->path, *slash = strrchr(path, '/'), *end;
	const char *name = search->query->name, *file = slash ? slash + 1 : path;
	const struct symbol *symbol;
	uint64_t offset;

	end = parse_offset_name(name, &offset);
	if (!end || strlen(file) != (size_t)(end - name) || strncmp(file, name, (size_t)(end - name)) != 0)
		return 0;
	symbol = symbol_table_find(code->symbols, offset);
	return symbol ? add_match(search, code, symbol) : 0;
}

/* Suggestions: what could have been meant by a name that is none. */

/* Keep the name that is most like the one that was asked for. */
static int
suggest_similar(struct procedure_search *search, const struct code_image *code)
{
	const size_t count = symbol_table_size(code->symbols);
	const char **names = calloc(count + 1, sizeof(*names));
	const char *similar;
	size_t named = 0;

	if (!names)
		return -ENOMEM;
	if (search->similar)
		names[named++] = search->similar;
	for (size_t i = 0; i < count; i++) {
		const struct symbol *symbol = symbol_table_at(code->symbols, i);

		if (symbol->name)
			names[named++] = symbol->name;
	}
	similar = suggest_name(search->query->name, names, named);
	free(names);
	if (!similar || similar == search->similar)
		return 0;
	free(search->similar);
	search->similar = strdup(similar);
	return search->similar ? 0 : -ENOMEM;
}

static void
find_hottest_nameless(struct procedure_search *search, const struct code_image *code)
{
	const size_t count = symbol_table_size(code->symbols);

	for (size_t i = 0; i < count; i++) {
		const struct symbol *symbol = symbol_table_at(code->symbols, i);
		uint64_t samples;

		if (symbol->name)
			continue;
		samples = symbol_samples(search, code, symbol);
		if (samples <= search->nameless.samples)
			continue;
		search->nameless =
			(struct procedure_match){.image = code->index, .size = symbol->size, .samples = samples};
		if (image_file_address(code->file, symbol->offset, &search->nameless.address))
			search->nameless.address = symbol->offset;
	}
}

/* Keep `name` among those with most samples; they descend. Takes it over. */
static void
keep_containing(struct procedure_search *search, char *name, uint64_t samples)
{
	struct containing_name *containing = search->containing;
	size_t at = search->containing_count < CONTAINING_MAX ? search->containing_count++ : CONTAINING_MAX - 1;

	free(containing[at].name);
	for (; at > 0 && containing[at - 1].samples < samples; at--)
		containing[at] = containing[at - 1];
	containing[at] = (struct containing_name){.name = name, .samples = samples};
}

/* Names that the one that was asked for is a part of, as that of a method without its class. */
static int
suggest_containing(struct procedure_search *search, const struct code_image *code)
{
	const size_t count = symbol_table_size(code->symbols);

	for (size_t i = 0; i < count; i++) {
		const struct symbol *symbol = symbol_table_at(code->symbols, i);
		const uint64_t samples = symbol->name ? symbol_samples(search, code, symbol) : 0;
		char *name;

		if (!samples || (search->containing_count == CONTAINING_MAX &&
		                 samples <= search->containing[CONTAINING_MAX - 1].samples))
			continue;
		name = symbol_demangle(symbol->name);
		if (!name)
			name = strdup(symbol->name);
		if (!name)
			return -ENOMEM;
		if (strstr(name, search->query->name))
			keep_containing(search, name, samples);
		else
			free(name);
	}
	return 0;
}

static int
suggest_from_image(struct procedure_search *search, const struct code_image *code)
{
	int err = suggest_similar(search, code);

	if (!err && strlen(search->query->name) >= PART_LENGTH_MIN)
		err = suggest_containing(search, code);
	find_hottest_nameless(search, code);
	return err;
}

/* The search over all images. */

static int
search_image(struct procedure_search *search, const struct code_image *code)
{
	const size_t before = search->count;
	int err;

	if (search->by_address)
		return match_address(search, code);
	err = match_names(search, code, false);
	if (!err && search->count == before)
		err = match_names(search, code, true);
	if (err)
		return err;
	err = match_clones(search, code, before);
	if (!err && search->count == before)
		err = match_offset_name(search, code);
	return err || search->count ? err : suggest_from_image(search, code);
}

/* Names may have been captured where text was not. */
static bool
has_name(const struct procedure_search *search, uint32_t image)
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
note_trouble(struct procedure_search *search, uint32_t image, int err)
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
search_images(struct procedure_search *search)
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
	const struct procedure_match *one = a, *other = b;

	if (one->samples != other->samples)
		return one->samples < other->samples ? 1 : -1;
	return (one->image > other->image) - (one->image < other->image);
}

/* The only match, or the only one that has samples; NULL when there is no such. */
static const struct procedure_match *
choose(const struct procedure_search *search)
{
	if (search->count == 0 || search->matches[0].samples == 0)
		return NULL;
	return search->count > 1 && search->matches[1].samples > 0 ? NULL : &search->matches[0];
}

/* Why none of the matches can be meant; they descend by samples. */

static const char *
image_path_text(const struct procedure_search *search, uint32_t image, char shown[SHOWN_SIZE])
{
	return escape_text(search->query->selection->images[image].image->path, shown, SHOWN_SIZE);
}

/* As it may be copied from a listing. */
static bool
looks_like_an_address(const char *name)
{
	return name[0] && name[strspn(name, "0123456789abcdefABCDEF")] == '\0' && strpbrk(name, "0123456789");
}

static void
say_containing(const struct procedure_search *search, FILE *why)
{
	char shown[SHOWN_SIZE];

	for (size_t i = 0; i < search->containing_count; i++) {
		if (i == 0)
			fputs("; did you mean ", why);
		else
			fputs(i + 1 < search->containing_count ? ", " : " or ", why);
		fputs(escape_text(search->containing[i].name, shown, sizeof(shown)), why);
	}
	fputc('?', why);
}

static void
say_unknown(const struct procedure_search *search, FILE *why)
{
	char shown[SHOWN_SIZE];

	if (search->trouble && (!search->opened || search->trouble_has_name)) {
		fprintf(why, "%s cannot be analysed: %s", image_path_text(search, search->trouble_image, shown),
		        code_image_trouble(search->query->selection->images[search->trouble_image].image,
		                           search->trouble));
		return;
	}
	fputs(search->by_address ? "no procedure holds that address" : "no procedure is called that", why);
	if (search->similar)
		fprintf(why, "; did you mean %s?", escape_text(search->similar, shown, sizeof(shown)));
	else if (looks_like_an_address(search->query->name))
		fprintf(why, "; an address is written 0x%s", search->query->name);
	else if (search->containing_count)
		say_containing(search, why);
	else if (search->nameless.size)
		fprintf(why, "; %s was stripped: name a procedure by an address in it, 0x%" PRIx64 " for the hottest",
		        image_path_text(search, search->nameless.image, shown), search->nameless.address);
	else if (search->trouble)
		fprintf(why, "; %s was not searched: %s", image_path_text(search, search->trouble_image, shown),
		        code_image_trouble(search->query->selection->images[search->trouble_image].image,
		                           search->trouble));
}

static void
say_ambiguous(const struct procedure_search *search, FILE *why)
{
	bool is_one_image = true;
	char shown[SHOWN_SIZE];
	size_t count = 0;

	for (; count < search->count && search->matches[count].samples > 0; count++)
		is_one_image = is_one_image && search->matches[count].image == search->matches[0].image;
	fprintf(why, "%zu procedures with samples %s; name one by %s:", count,
	        search->by_address ? "hold that address" : "are called that",
	        is_one_image ? "its address" : "its image");
	for (size_t i = 0; i < count && i < LISTED_MAX; i++) {
		const struct procedure_match *match = &search->matches[i];

		fprintf(why, "%s 0x%" PRIx64 " in %s (%" PRIu64 " samples)", i ? "," : "", match->address,
		        image_path_text(search, match->image, shown), match->samples);
	}
	if (count > LISTED_MAX)
		fputs(", ...", why);
}

/* Name the other events that it has samples of. */
static bool
say_other_events(const struct procedure_search *search, FILE *why)
{
	const struct selection *selection = search->query->selection;
	const struct procedure_match *match = &search->matches[0];
	char shown[SHOWN_SIZE];
	bool is_first = true;

	for (uint16_t event = 0; event < selection->event_count && search->count == 1; event++) {
		const uint64_t samples =
			code_image_samples(selection, match->image, match->offset, match->offset + match->size, event);

		if (!samples)
			continue;
		fprintf(why, "%s %" PRIu64 " of %s", is_first ? ", but" : ",", samples,
		        escape_text(selection->events[event].name, shown, sizeof(shown)));
		is_first = false;
	}
	if (!is_first)
		fputs(": --event takes another", why);
	return !is_first;
}

static void
say_without_samples(const struct procedure_search *search, FILE *why)
{
	char shown[SHOWN_SIZE];

	fprintf(why, "it has no samples of %s in what was selected",
	        escape_text(search->query->selection->events[search->query->event].name, shown, sizeof(shown)));
	if (search->count > 1)
		fputs(", and neither has another of that name", why);
	if (!say_other_events(search, why))
		fputs("; 'dcpiprof' shows which have", why);
}

static void
say_why_none(const struct procedure_search *search, FILE *why)
{
	if (search->count == 0)
		say_unknown(search, why);
	else if (search->matches[0].samples > 0)
		say_ambiguous(search, why);
	else
		say_without_samples(search, why);
}

static int
open_match(const struct procedure_search *search, const struct procedure_match *match, struct procedure_found *found,
           FILE *why)
{
	char shown[SHOWN_SIZE];
	int err;

	err = code_image_open(&found->code, search->query->selection, match->image);
	if (!err)
		err = code_image_read(&found->code);
	if (err) {
		fprintf(why, "%s cannot be analysed: %s", image_path_text(search, match->image, shown),
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
	struct procedure_search search = {.query = query};
	const struct procedure_match *match;
	FILE *stream;
	int err;

	memset(found, 0, sizeof(*found));
	why[0] = '\0';
	search.by_address = is_hexadecimal(query->name, &search.address);
	err = search_images(&search);
	if (err)
		goto out;
	err = -ENOMEM;
	stream = fmemopen(why, size, "w");
	if (!stream)
		goto out;
	if (search.count)
		qsort(search.matches, search.count, sizeof(*search.matches), compare_matches);
	match = choose(&search);
	if (match) {
		err = open_match(&search, match, found, stream);
	} else {
		say_why_none(&search, stream);
		err = search.opened || !search.trouble ? -DCPI_ENOSELECTION : search.trouble;
	}
	fclose(stream);
out:
	free(search.matches);
	free(search.similar);
	for (size_t i = 0; i < search.containing_count; i++)
		free(search.containing[i].name);
	return err;
}
