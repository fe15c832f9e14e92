/*
 * analysis_choice.h - what the user wants to analyse: the event that is time, the pipeline, the procedure
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_ANALYSIS_CHOICE_H
#define DCPI_TOOLS_ANALYSIS_CHOICE_H

#include <jansson.h>
#include <stdbool.h>

#include "analysis/procedure_find.h"
#include "analysis/skid.h"
#include "base/guard.h"
#include "code/decoder.h"
#include "code/pipeline.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"
#include "profile/selection.h"

/* ---- time, and the pipeline ---- */

struct model_choice {
	struct pipeline pipeline;
	struct skid skid; /* of the event that is time */
	char note[256];   /* why this model was chosen, if the CPU's name does not show it; else "" */
};

/* Rows of options.h for --event and --cpu: what time_event_ask() and model_ask() take as `name`. */
#define OPTION_TIME_EVENT(request, event)                                                                              \
	OPTION_TEXT(1, "event", "EVENT", request, event,                                                               \
	            "Take the samples of EVENT for time (default: cycles, else a clock)")
#define OPTION_CPU(request, cpu)                                                                                       \
	OPTION_TEXT(1, "cpu", "MODEL", request, cpu,                                                                   \
	            "The pipeline: a model's name, or its file (default: that of the epoch's CPU)")

/* Choose the event called `name`, or for NULL the one that counts time. 0, or an exit status after a message. */
int time_event_ask(const struct selection *selection, const char *name, const char *directory, uint16_t *event);

/*
 * Choose the model called `name`, or for NULL that of the CPU of the newest sampled epoch; and the skid of `event`,
 * which depends on how it was sampled. 0, or an exit status after a message.
 */
int model_ask(const struct selection *selection, const char *name, uint16_t event, struct model_choice *model);

/* A line for the head of a report, and the note below it. */
void model_print(const struct model_choice *model, const struct output *output);

json_t *model_json(const struct model_choice *model);

/*
 * Samples of time that an analysis leaves out because cores of another kind took them. A CPU with several kinds of
 * cores counts time by an event for each kind: `cpu_core/cycles/`, `cpu_atom/cycles/`. Only one of them is analysed,
 * with the pipeline of its cores.
 */
struct other_cores {
	uint64_t samples[SELECTION_EVENTS_MAX]; /* by event of the selection */
};

/* Add samples of `event` if it is time on another kind of cores than `analyzed` is; else do nothing. */
void other_cores_add(struct other_cores *others, const struct selection *selection, uint16_t analyzed, size_t event,
                     uint64_t samples);

/* A line for each event with such samples. */
void other_cores_print(const struct other_cores *others, const struct selection *selection,
                       const struct output *output);

/* Add the key `left_out`, the samples by event, if there are any. Not 0: no memory. */
int other_cores_json(const struct other_cores *others, const struct selection *selection, json_t *object);

/* ---- the procedure, and its instructions as text ---- */

/* The procedure that the user wants; a member of the tool's request. */
struct procedure_options {
	struct options options; /* which images, and all else that tools share */
	const char *name;       /* as procedure_find() takes it */
	enum listing_syntax syntax;
};

/* The message for a command line without a procedure. */
#define PROCEDURE_MISSING "which procedure? 'dcpiprof' shows which are hot"

/* PROCEDURE [IMAGE...], as an option_take of options.h; the member is a struct procedure_options. */
void procedure_options_argument(void *procedure_options, char *text, struct argp_state *state);

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

/* A guard for reading images: a fault inside libelf or libdw is caused by the file. */
struct image_guard {
	struct guard guard;
	char *shown; /* the escaped name */
};

/* `name` is the subject of the message; `advice` NULL: to name another image. */
void image_guard_enter(struct image_guard *guard, const char *name, const char *advice);
void image_guard_leave(struct image_guard *guard);

struct procedure_choice {
	char **titles; /* of images */
	size_t title_count;
	struct procedure_found found;
	char *title; /* of the procedure, not escaped */
};

/*
 * Find the procedure; of several with its name, samples of `event` decide. 0, or an exit status after a message;
 * procedure_choice_fini() it in any case. The selection must outlive it.
 */
int procedure_choose(const struct selection *selection, const struct procedure_options *procedure, uint16_t event,
                     struct procedure_choice *choice);
void procedure_choice_fini(struct procedure_choice *choice); /* a zeroed one is allowed */

/* An object that says what was chosen: schema, procedure, image, build_id. */
json_t *procedure_choice_json(const struct procedure_choice *choice, const char *schema);

/* An instruction of the image; "?" where its code is not known. */
void instruction_format(const struct code_image *code, const struct instruction *instruction,
                        enum listing_syntax syntax, char text[INSTRUCTION_TEXT_SIZE]);

#endif
