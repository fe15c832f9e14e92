/* What could have been meant by a name that is none: see procedure_search.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/procedure_search.h"
#include "base/text.h"

#define PART_LENGTH_MIN 3 /* of a name: shorter ones are parts of too many */

/* Keep the name that is most like the one that was asked for. */
static int
look_alike(struct search *search, const struct code_image *code)
{
	const size_t count = symbol_table_size(code->symbols);
	const char **names = calloc(count + 1, sizeof(*names));
	const char *near;
	size_t named = 0;

	if (!names)
		return -ENOMEM;
	if (search->near)
		names[named++] = search->near;
	for (size_t i = 0; i < count; i++) {
		const struct symbol *symbol = symbol_table_at(code->symbols, i);

		if (symbol->name)
			names[named++] = symbol->name;
	}
	near = suggest_name(search->query->name, names, named);
	free(names);
	if (!near || near == search->near)
		return 0;
	free(search->near);
	search->near = strdup(near);
	return search->near ? 0 : -ENOMEM;
}

static void
look_nameless(struct search *search, const struct code_image *code)
{
	const size_t count = symbol_table_size(code->symbols);

	for (size_t i = 0; i < count; i++) {
		const struct symbol *symbol = symbol_table_at(code->symbols, i);
		uint64_t samples;

		if (symbol->name)
			continue;
		samples = procedure_search_samples(search, code, symbol);
		if (samples <= search->nameless.samples)
			continue;
		search->nameless = (struct match){.image = code->index, .size = symbol->size, .samples = samples};
		if (image_file_address(code->file, symbol->offset, &search->nameless.address))
			search->nameless.address = symbol->offset;
	}
}

/* Keep `name` among those with most samples; they descend. Takes it over. */
static void
keep_part(struct search *search, char *name, uint64_t samples)
{
	struct part *parts = search->parts;
	size_t at = search->part_count < PARTS_MAX ? search->part_count++ : PARTS_MAX - 1;

	free(parts[at].name);
	for (; at > 0 && parts[at - 1].samples < samples; at--)
		parts[at] = parts[at - 1];
	parts[at] = (struct part){.name = name, .samples = samples};
}

/* Names that the one that was asked for is a part of, as that of a method without its class. */
static int
look_parts(struct search *search, const struct code_image *code)
{
	const size_t count = symbol_table_size(code->symbols);

	for (size_t i = 0; i < count; i++) {
		const struct symbol *symbol = symbol_table_at(code->symbols, i);
		const uint64_t samples = symbol->name ? procedure_search_samples(search, code, symbol) : 0;
		char *name;

		if (!samples || (search->part_count == PARTS_MAX && samples <= search->parts[PARTS_MAX - 1].samples))
			continue;
		name = symbol_demangle(symbol->name);
		if (!name)
			name = strdup(symbol->name);
		if (!name)
			return -ENOMEM;
		if (strstr(name, search->query->name))
			keep_part(search, name, samples);
		else
			free(name);
	}
	return 0;
}

int
procedure_search_near(struct search *search, const struct code_image *code)
{
	int err = look_alike(search, code);

	if (!err && strlen(search->query->name) >= PART_LENGTH_MIN)
		err = look_parts(search, code);
	look_nameless(search, code);
	return err;
}
