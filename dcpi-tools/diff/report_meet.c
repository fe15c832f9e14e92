/* From what the sides hold to what meet.h asks for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "dcpi-tools/common/procedure_choice.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/diff/report.h"
#include "image/image_file.h"
#include "image/lines.h"
#include "image/symbols.h"

static char *
read_source(struct image_file *file)
{
	struct symbol_table *symbols = NULL;
	struct image_lines *lines = NULL;
	char *source = NULL;

	if (symbol_table_from_file(file, &symbols) == 0 && image_lines_new(file, &lines) == 0)
		(void)image_lines_source(lines, &source);
	image_lines_free(lines);
	symbol_table_free(symbols);
	return source;
}

/* A file that cannot be read says nothing. */
static char *
read_origin(void *context, const struct image *image, enum meet_question question)
{
	char *shown = text_shown(image->path), *said = NULL;
	struct guard guard = procedure_guard(shown);
	struct image_file *file;

	(void)context;
	guard_enter(&guard);
	if (image_file_open(image, &file) == 0) {
		if (question == MEET_SOURCE)
			said = read_source(file);
		else
			(void)image_file_soname(file, &said);
		image_file_close(file);
	}
	guard_leave(&guard);
	free(shown);
	return said;
}

/* What is sorted: names of one image beside each other. */
struct diff_named {
	uint32_t image;
	struct meet_procedure procedure;
};

static int
compare_named(const void *a, const void *b)
{
	const struct diff_named *one = a, *other = b;

	if (one->image != other->image)
		return one->image < other->image ? -1 : 1;
	return strcmp(one->procedure.name, other->procedure.name);
}

static size_t
list_named(const struct diff_side *side, struct diff_named *named)
{
	size_t count = 0;

	for (size_t i = 0; i < side->row_count; i++) {
		const struct side_row *row = &side->rows[i];

		if (row->title && row->kind == PROCEDURE_NAMED)
			named[count++] = (struct diff_named){row->image, {row->title, row->samples.count}};
	}
	if (count > 0)
		qsort(named, count, sizeof(*named), compare_named);
	return count;
}

/* Each name of an image once. */
static int
take_procedures(const struct diff_side *side, struct meet_procedure **procedures, struct meet_image **by_image)
{
	struct diff_named *named = calloc(side->row_count + 1, sizeof(*named));
	size_t count = named ? list_named(side, named) : 0, used = 0;

	*procedures = calloc(count + 1, sizeof(**procedures));
	if (!named || !*procedures) {
		free(named);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		struct meet_image *image = by_image[named[i].image];

		if (i > 0 && compare_named(&named[i - 1], &named[i]) == 0) {
			(*procedures)[used - 1].samples += named[i].procedure.samples;
			continue;
		}
		(*procedures)[used] = named[i].procedure;
		if (image->procedure_count++ == 0)
			image->procedures = &(*procedures)[used];
		used++;
	}
	free(named);
	return 0;
}

/* The images that have rows. */
static int
list_images(const struct diff_side *side, struct meet_side *met, struct meet_image **by_image)
{
	bool *has = calloc(side->all.selection->image_count + 1, sizeof(*has));

	met->images = calloc(side->all.selection->image_count + 1, sizeof(*met->images));
	for (size_t i = 0; has && met->images && i < side->row_count; i++)
		has[side->rows[i].image] = true;
	for (uint32_t i = 0; has && met->images && i < side->all.selection->image_count; i++) {
		if (!has[i])
			continue;
		by_image[i] = &met->images[met->count++];
		by_image[i]->image = side_image(side, i);
		by_image[i]->index = i;
	}
	free(has);
	return has && met->images ? 0 : -ENOMEM;
}

static int
prepare(struct report *report, unsigned side)
{
	const struct diff_side *of = &report->sides[side];
	struct meet_image **by_image = calloc(of->all.selection->image_count + 1, sizeof(*by_image));
	int err = by_image ? list_images(of, &report->met[side], by_image) : -ENOMEM;

	if (!err)
		err = take_procedures(of, &report->procedures[side], by_image);
	free(by_image);
	return err;
}

/* Each group with both sides and more than one build. */
static int
list_rebuilt(struct report *report)
{
	report->rebuilt = calloc(report->group_count + 1, sizeof(*report->rebuilt));
	report->same_build = calloc(report->group_count + 1, sizeof(*report->same_build));
	if (!report->rebuilt || !report->same_build)
		return -ENOMEM;
	for (uint32_t group = 0; group < report->group_count; group++) {
		struct rebuilt *rebuilt = &report->rebuilt[report->rebuilt_count];
		bool has[2] = {false};

		report->same_build[group] = meet_is_same_build(report->met, group);
		for (unsigned side = 0; side < 2; side++)
			for (size_t i = 0; i < report->met[side].count && !has[side]; i++) {
				const struct meet_image *image = &report->met[side].images[i];

				if (image->group != group)
					continue;
				has[side] = true;
				rebuilt->images[side] = image->index;
				rebuilt->why = image->why ? image->why : "path";
			}
		if (has[0] && has[1] && !report->same_build[group] &&
		    side_image(&report->sides[1], rebuilt->images[1])->kind != IMAGE_JIT)
			report->rebuilt_count++;
	}
	return 0;
}

static int
list_groups(struct report *report, unsigned side)
{
	report->groups[side] = calloc(report->sides[side].all.selection->image_count + 1, sizeof(**report->groups));
	if (!report->groups[side])
		return -ENOMEM;
	for (size_t i = 0; i < report->met[side].count; i++)
		report->groups[side][report->met[side].images[i].index] = report->met[side].images[i].group;
	return 0;
}

int
diff_report_meet(struct report *report)
{
	int found, err = prepare(report, 0);

	if (!err)
		err = prepare(report, 1);
	if (err)
		return err;
	found = images_meet(report->met, read_origin, NULL);
	if (found < 0)
		return found;
	report->group_count = (size_t)found;
	err = list_groups(report, 0);
	if (!err)
		err = list_groups(report, 1);
	return err ? err : list_rebuilt(report);
}
