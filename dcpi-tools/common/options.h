/*
 * options.h - the options that tools share, as argp children
 *
 * A tool names the sets it wants in its struct command_line, which hands each the same struct options (command_line.h);
 * dcpiemu and profile_set.c hand them over themselves (state->child_inputs).
 * A wrong value ends the program with a sentence and STATUS_USAGE, as argp does.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_OPTIONS_H
#define DCPI_TOOLS_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "dcpi-tools/common/columns.h"
#include "dcpi-tools/common/output.h"
#include "profile/selection.h"

enum output_format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_CSV,
};

struct options {
	const char *directory; /* of the database: --db, else $DCPI_DB, else PROFILE_DIRECTORY */
	struct selection_request request;
	const char **images; /* patterns (image_name.h) */
	size_t image_count;  /* 0: all images */
	enum output_format format;
	enum color_mode color;
	bool header; /* false: rows only */
	bool pager;
};

/* Defaults, the environment, and argp's exit status. */
void options_init(struct options *options);
void options_fini(struct options *options);

/* One more of --image, of --event, as command_line.h calls them; `text` must stay. */
void options_add_image(void *options, char *text, struct argp_state *state);         /* to a struct options */
void options_add_event(void *columns_request, char *text, struct argp_state *state); /* to a struct columns_request */

extern const struct argp options_database;  /* --db */
extern const struct argp options_selection; /* --epoch --since --until --comm --cgroup --label --host */
extern const struct argp options_output;    /* --json --color --no-pager */
extern const struct argp options_table;     /* --csv --no-header */

/*
 * The same entries with another parser, for who takes options several times (profile_set.h): a key as below is theirs
 * to keep, and options_parse() with a struct options as the state's input puts it there.
 */
enum options_key {
	OPTIONS_DB = 0x1000,
	OPTIONS_EPOCH,
	OPTIONS_SINCE,
	OPTIONS_UNTIL,
	OPTIONS_COMM,
	OPTIONS_CGROUP,
	OPTIONS_LABEL,
	OPTIONS_HOST,
	OPTIONS_KEYS_END, /* what is no selection has keys from here on */
};
extern const struct argp_option options_database_entries[], options_selection_entries[];
error_t options_parse(int key, char *text, struct argp_state *state);

/* A number between `least` and `most`; else the program ends with a sentence that names `option`. */
double options_number(const struct argp_state *state, const char *option, const char *text, double least, double most);
uint64_t options_whole(const struct argp_state *state, const char *option, const char *text, uint64_t least,
                       uint64_t most);
size_t options_count(const struct argp_state *state, const char *option, const char *text); /* a whole one, from 1 on */

/* Which of `names` it is; else the program ends with a sentence: there is no `what` of this name. */
size_t options_choice(const struct argp_state *state, const char *what, const char *text, const char *const *names,
                      size_t count);

/* A label of at most `max` bytes. */
const char *options_label(const struct argp_state *state, const char *text, size_t max);

/* At ARGP_KEY_ARG: a program, whose arguments are all that follows. */
char **options_program(struct argp_state *state);

#endif
