#include "dcpi-tools/calc/references.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "code/decoder.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/text.h"
#include "image/contents.h"
#include "image/lines.h"

struct calc_references {
	const struct code_image *code;
	const struct flow_graph *graph;
	struct image_lines *lines;
	struct loc_strides *strides;
	const struct architecture_registers *registers;
	bool is_x86;
	bool has_frame_pointer;
};

/* A frame pointer is set from the stack pointer; else its register may hold any address. */
static bool
sets_frame_pointer(const struct flow_graph *graph, const struct architecture_registers *registers)
{
	for (uint32_t i = 0; i < graph->instruction_count; i++) {
		const struct instruction *instruction = &graph->instructions[i];

		if (!instruction->loads && instruction_writes(instruction, registers->frame) &&
		    instruction_reads(instruction, registers->stack))
			return true;
	}
	return false;
}

/* Whether one of the procedure's instructions is of this line. */
static bool
has_line(const void *context, const char *file, uint32_t line)
{
	const struct calc_references *references = context;
	const struct flow_graph *graph = references->graph;
	struct source_place place;

	for (uint32_t i = 0; i < graph->instruction_count; i++) {
		if (image_lines_find(references->lines, graph->instructions[i].address, &place) == 0 &&
		    place.line == line && strcmp(text_basename(place.path), text_basename(file)) == 0)
			return true;
	}
	return false;
}

int
references_read(struct profile *from, const struct code_image *code, const struct flow_graph *graph,
                struct calc_references **references)
{
	struct calc_references *made = calloc(1, sizeof(*made));
	const struct locality_search search = {code->image->build_id, code->image->build_id_size, has_line, made};
	enum architecture architecture;
	int err = 0;

	*references = NULL;
	if (!made)
		return -ENOMEM;
	made->code = code;
	made->graph = graph;
	if (architecture_of_machine(image_contents_machine(code->contents), &architecture) == 0 &&
	    image_lines_new(code->file, &made->lines) == 0)
		err = loc_strides_read(from, &search, &made->strides);
	if (err || !made->strides) {
		references_free(made);
		return err;
	}
	made->is_x86 = architecture == ARCHITECTURE_X86_64;
	made->registers = architecture_registers(architecture);
	made->has_frame_pointer = sets_frame_pointer(graph, made->registers);
	*references = made;
	return 0;
}

void
references_free(struct calc_references *references)
{
	if (!references)
		return;
	image_lines_free(references->lines);
	loc_strides_free(references->strides);
	free(references);
}

/* A register that is not known to point to the stack is in its address: what is at a constant address has no stride. */
static bool
has_pointer(const struct calc_references *references, const struct instruction *instruction)
{
	for (unsigned i = 0; i < instruction->address_reads && i < instruction->read_count; i++) {
		const uint8_t reg = instruction->reads[instruction->read_count - 1 - i];

		if (reg != references->registers->stack &&
		    (reg != references->registers->frame || !references->has_frame_pointer))
			return true;
	}
	return false;
}

/* Of a thread's own, as the countdown of the run-time library is (compiler/calls.h). */
static bool
may_be_countdown(const struct calc_references *references, const struct instruction *instruction,
                 const struct source_place *place)
{
	char text[INSTRUCTION_TEXT_SIZE];

	if (!references->is_x86)
		return loc_strides_is_loop(references->strides, place->path, place->line);
	instruction_format(references->code, instruction, LISTING_ATT, text);
	return strstr(text, "%fs:") || strstr(text, "%gs:");
}

static size_t
find(const struct calc_references *references, uint32_t at, struct loc_stride found[LOC_STRIDES_MAX])
{
	const struct instruction *instruction;
	struct source_place place;

	if (!references)
		return 0;
	instruction = &references->graph->instructions[at];
	if (!instruction->access_size || !(instruction->loads || instruction->stores) ||
	    !has_pointer(references, instruction) ||
	    image_lines_find(references->lines, instruction->address, &place) ||
	    may_be_countdown(references, instruction, &place))
		return 0;
	return loc_strides_find(references->strides, place.path, place.line, !instruction->loads,
	                        instruction->access_size, found);
}

static const char *const class_names[STRIDE_CLASSES] = {
	[STRIDE_INDEX] = "by index",
	[STRIDE_IRREGULAR] = "irregular",
};

/* References with one stride stand together. */
static bool
is_alike(const struct loc_stride *a, const struct loc_stride *b)
{
	return class_names[a->class] ? a->class == b->class : !class_names[b->class] && a->bytes == b->bytes;
}

static size_t
add_word(char text[REFERENCES_TEXT], size_t length, const char *before, const char *word)
{
	const int added = snprintf(text + length, REFERENCES_TEXT - length, "%s%s", before, word);

	return added < 0 || length + (size_t)added >= REFERENCES_TEXT ? REFERENCES_TEXT - 1 : length + (size_t)added;
}

const char *
references_text(const struct calc_references *references, uint32_t instruction, char text[REFERENCES_TEXT])
{
	struct loc_stride found[LOC_STRIDES_MAX];
	const size_t count = find(references, instruction, found);
	bool is_done[LOC_STRIDES_MAX] = {false};
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		char stride[32];
		const char *separator = ": ";

		if (is_done[i])
			continue;
		snprintf(stride, sizeof(stride), "stride %" PRId64, found[i].bytes);
		length = add_word(text, length, length ? ", or " : "",
		                  class_names[found[i].class] ? class_names[found[i].class] : stride);
		for (size_t k = i; k < count; k++) {
			if (!is_alike(&found[i], &found[k]))
				continue;
			is_done[k] = true;
			if (!found[k].name[0])
				continue;
			length = add_word(text, length, separator, found[k].name);
			separator = " or ";
		}
	}
	return text;
}

json_t *
references_json(const struct calc_references *references, uint32_t instruction)
{
	struct loc_stride found[LOC_STRIDES_MAX];
	const size_t count = find(references, instruction, found);
	json_t *array = count ? json_array() : NULL;
	int failed = 0;

	for (size_t i = 0; i < count; i++) {
		const char *class = class_names[found[i].class];

		failed |= json_array_append_new(
			array, json_pack("{s:s, s:o, s:o}", "class", class ? class : "stride", "stride",
		                         class ? json_null() : json_integer((json_int_t)found[i].bytes), "name",
		                         json_shown(found[i].name)));
	}
	return count ? json_kept(array, failed) : NULL;
}
