/*
 * procedure_choice.h - the procedure that a user asked for, and its instructions as text
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_PROCEDURE_CHOICE_H
#define DCPI_TOOLS_PROCEDURE_CHOICE_H

#include <jansson.h>
#include <stdbool.h>

#include "analysis/procedure_find.h"
#include "base/guard.h"
#include "code/decoder.h"
#include "dcpi-tools/common/options.h"

struct procedure_options {
	const char *name; /* as procedure_find() takes it */
	enum listing_syntax syntax;
};

/* What a command line without a procedure is refused with. */
#define PROCEDURE_MISSING "which procedure? 'dcpiprof' shows which are hot"

/* PROCEDURE [IMAGE...] */
void procedure_options_argument(struct procedure_options *procedure, struct options *options, char *text,
                                struct argp_state *state);

/* --asm, as an option_take of options.h; `listing_syntax` is an enum listing_syntax. */
void procedure_options_syntax(void *listing_syntax, char *text, struct argp_state *state);

/* Rows of options.h for --image and --asm of a tool that shows one procedure. */
#define OPTION_PROCEDURE_IMAGE(request, member)                                                                        \
	OPTION_CALL(1, "image", 0, "IMAGE", OPTION_MEMBER(request, member, struct options), options_add_image,         \
	            "Look in this image: a file name, a path, a pattern or a build-id's beginning")
#define OPTION_SYNTAX(request, syntax, help)                                                                           \
	OPTION_CALL(3, "asm", 0, "SYNTAX", OPTION_MEMBER(request, syntax, enum listing_syntax),                        \
	            procedure_options_syntax, help)
#define SYNTAX_HELP "Instructions of x86-64: att (default) or intel"

/* For the time in which images are read: a fault inside libelf or libdw is the file's. `shown` is escaped, or NULL. */
struct guard procedure_guard(const char *shown);

struct procedure_request {
	const char *name;          /* as procedure_find() takes it */
	const char *const *images; /* patterns (image_name.h) */
	size_t image_count;        /* 0: all images */
	uint16_t event;            /* whose samples tell which of several is meant */
};

struct procedure_choice {
	char **titles; /* of images */
	size_t title_count;
	struct procedure_found found;
	char *title; /* of the procedure, not escaped */
};

/* 0, or an exit status after a message; procedure_choice_fini() it in any case. The selection must outlive it. */
int procedure_choose(const struct selection *selection, const struct procedure_request *request,
                     struct procedure_choice *choice);
void procedure_choice_fini(struct procedure_choice *choice); /* a zeroed one is allowed */

/* An object that says what was chosen: schema, procedure, image, build_id. */
json_t *procedure_choice_json(const struct procedure_choice *choice, const char *schema);

/* An instruction of the image; "?" where its code is not known. */
void instruction_format(const struct code_image *code, const struct instruction *instruction,
                        enum listing_syntax syntax, char text[INSTRUCTION_TEXT_SIZE]);

#endif
