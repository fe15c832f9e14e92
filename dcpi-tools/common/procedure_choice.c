#include "dcpi-tools/common/procedure_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/symbolizer.h"

static int
find_procedure(const struct procedure_query *query, struct procedure_choice *choice)
{
	struct procedure procedure = {.kind = PROCEDURE_UNNAMED};
	char why[1024];
	int err;

	err = procedure_find(query, &choice->found, why, sizeof(why));
	if (err && !why[0])
		return message_cannot(query->name, "find the procedure", err, NULL);
	if (err) {
		message_print(query->name, "%s", why);
		return err == -DCPI_EDAMAGED ? STATUS_FAILURE : error_exit_status(err); /* not the database */
	}
	procedure.offset = choice->found.symbol->offset;
	procedure.name = choice->found.symbol->name;
	if (procedure.name)
		procedure.kind = PROCEDURE_NAMED;
	choice->title = procedure_title(&procedure, choice->found.code.image, true);
	return choice->title ? STATUS_OK : message_cannot(NULL, "name the procedure", -ENOMEM, NULL);
}

int
procedure_choose(const struct selection *selection, const struct procedure_request *request,
                 struct procedure_choice *choice)
{
	const struct image_request images = {
		.patterns = request->images,
		.count = request->image_count,
		.event = request->event,
	};
	struct procedure_query query = {.selection = selection, .name = request->name, .event = request->event};
	bool *wanted;
	int status;

	memset(choice, 0, sizeof(*choice));
	choice->title_count = selection->image_count;
	status = images_ask(selection, &images, &choice->titles, &wanted);
	if (status)
		return status;
	query.wanted = wanted;
	status = find_procedure(&query, choice);
	free(wanted);
	return status;
}

void
procedure_choice_fini(struct procedure_choice *choice)
{
	code_image_close(&choice->found.code);
	free(choice->title);
	image_titles_free(choice->titles, choice->title_count);
	memset(choice, 0, sizeof(*choice));
}

json_t *
procedure_choice_json(const struct procedure_choice *choice, const char *schema)
{
	const struct image *image = choice->found.code.image;
	char build_id[BUILD_ID_TEXT_SIZE];

	build_id_format(image, build_id);
	return json_pack("{s:s, s:o, s:o, s:s?}", "schema", schema, "procedure", json_shown(choice->title), "image",
	                 json_shown(image->path), "build_id", build_id[0] ? build_id : NULL);
}

void
instruction_format(const struct code_image *code, const struct instruction *instruction, enum listing_syntax syntax,
                   char text[INSTRUCTION_TEXT_SIZE])
{
	const uint8_t *bytes;
	size_t size;

	bytes = image_contents_code(code->contents, instruction->address, &size);
	if (bytes)
		decoder_text(procedures_decoder(code->procedures), bytes, size, instruction->address, syntax, text,
		             INSTRUCTION_TEXT_SIZE);
	else
		snprintf(text, INSTRUCTION_TEXT_SIZE, "?");
}

void
procedure_options_argument(struct procedure_options *procedure, struct options *options, char *text,
                           struct argp_state *state)
{
	if (!*text && !procedure->name)
		argp_error(state, PROCEDURE_MISSING);
	else if (!procedure->name)
		procedure->name = text;
	else
		options_add_image(options, text, state);
}

void
procedure_options_syntax(void *listing_syntax, char *text, struct argp_state *state)
{
	enum listing_syntax *syntax = listing_syntax;

	if (strcmp(text, "att") == 0)
		*syntax = LISTING_ATT;
	else if (strcmp(text, "intel") == 0)
		*syntax = LISTING_INTEL;
	else
		argp_error(state, "--asm is one of 'att' and 'intel'");
}

struct guard
procedure_guard(const char *shown)
{
	return (struct guard){
		.subject = shown ? shown : "?",
		.claim = "an image cannot be read: its file is damaged",
		.advice = "name another one with --image",
		.status = STATUS_FAILURE,
	};
}
