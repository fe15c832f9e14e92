/* Names and texts of what is shown. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/procedure_choice.h"
#include "dcpi-tools/common/symbolizer.h"
#include "dcpi-tools/topstalls/worst.h"
#include "image/lines.h"

struct topstalls_looker {
	const struct code_image *code;
	const struct worst_lookup *lookup;
	struct image_lines *lines; /* NULL: there are none, or they are not asked for */
};

static int
look_at(const struct topstalls_looker *looker, struct worst_place *place)
{
	const struct instruction instruction = {.address = place->address};
	char text[INSTRUCTION_TEXT_SIZE];
	struct source_place source;

	instruction_format(looker->code, &instruction, looker->lookup->syntax, text);
	place->text = strdup(text);
	if (!place->text)
		return -ENOMEM;
	if (!looker->lines || image_lines_find(looker->lines, place->address, &source))
		return 0;
	place->line = source.line;
	place->path = strdup(source.path);
	return place->path ? 0 : -ENOMEM;
}

static int
look_up(const struct topstalls_looker *looker, struct worst_stall *stall)
{
	const struct procedure procedure = {
		.kind = stall->symbol->name ? PROCEDURE_NAMED : PROCEDURE_UNNAMED,
		.offset = stall->symbol->offset,
		.name = stall->symbol->name,
	};
	int err;

	stall->symbol = NULL;
	stall->title = procedure_title(&procedure, looker->code->image, looker->lookup->demangle);
	err = stall->title ? look_at(looker, &stall->place) : -ENOMEM;
	for (size_t i = 0; i < stall->reason_count && !err; i++)
		for (size_t k = 0; k < stall->reasons[i].culprit_count && !err; k++)
			err = look_at(looker, &stall->reasons[i].culprits[k]);
	return err;
}

int
worst_look_up(struct worst *worst, const struct code_image *code, const struct worst_lookup *lookup)
{
	struct topstalls_looker looker = {.code = code, .lookup = lookup};
	int err = 0;

	for (size_t i = 0; i < worst->count && !err; i++) {
		struct worst_stall *stall = &worst->stalls[i];

		if (stall->image != code->index || !stall->symbol)
			continue;
		if (lookup->source && !looker.lines) {
			err = image_lines_new(code->file, &looker.lines);
			if (err == -ENOENT || err == -DCPI_EDAMAGED)
				err = 0;
		}
		if (!err)
			err = look_up(&looker, stall);
	}
	image_lines_free(looker.lines);
	return err;
}
