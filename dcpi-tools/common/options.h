/*
 * options.h - a tool's command line as one table, and the options that tools share
 *
 * The table has one row for each option. A row names the member of the tool's request (any struct) that the option
 * sets; the macros below check the member's type when the tool is compiled. A value that needs more than a conversion
 * has its own function in the tool. argp reads the command line and prints --help from the table. Sets of options that
 * tools share are argp children: a tool lists them in its struct command_line, and each gets the request's struct
 * options; dcpiemu and profile_set.c pass it themselves (state->child_inputs).
 * A wrong value ends the program with a sentence and STATUS_USAGE, as argp does. Texts are borrowed from argv.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_OPTIONS_H
#define DCPI_TOOLS_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/shown_events.h"
#include "dcpi-tools/common/output.h"
#include "profile/selection.h"

/* ---- values of the shared options ---- */

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

/* Add an argument of --image, or of --event; each is an option_take. `text` must stay valid. */
void options_add_image(void *options, char *text, struct argp_state *state); /* to a struct options */
void options_add_event(void *request, char *text, struct argp_state *state); /* to a struct shown_events_request */

extern const struct argp options_database;  /* --db */
extern const struct argp options_selection; /* --epoch --since --until --comm --cgroup --label --host */
extern const struct argp options_output;    /* --json --color --no-pager */
extern const struct argp options_table;     /* --csv --no-header */

/*
 * The entries of --db and of the selection, for a parser that accepts options several times (profile_set.h). It keeps
 * key and text, and later calls options_parse(), whose state's input is the struct options that stores them.
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
	OPTIONS_KEYS_END, /* other options have keys from here on */
};
extern const struct argp_option options_database_entries[], options_selection_entries[];
error_t options_parse(int key, char *text, struct argp_state *state);

/* A number between `least` and `most`; else the program ends with a sentence that names `option`. */
double options_number(const struct argp_state *state, const char *option, const char *text, double least, double most);
uint64_t options_whole(const struct argp_state *state, const char *option, const char *text, uint64_t least,
                       uint64_t most);
size_t options_count(const struct argp_state *state, const char *option, const char *text); /* a whole one, from 1 on */

/* The index of `text` in `names`; else the program ends with a sentence: there is no `what` of this name. */
size_t options_choice(const struct argp_state *state, const char *what, const char *text, const char *const *names,
                      size_t count);

/* To be called at ARGP_KEY_ARG: the argument is a program, and all that follow are its arguments. */
char **options_program(struct argp_state *state);

/* ---- the table ---- */

enum option_kind {
	OPTION_KIND_END,
	OPTION_KIND_HEADING, /* a line of --help above the options of its group */
	OPTION_KIND_TRUE,    /* bool */
	OPTION_KIND_FALSE,   /* bool */
	OPTION_KIND_ENUM,    /* an enum, or an int, that becomes `value` */
	OPTION_KIND_TEXT,    /* const char *; 1 to `most` bytes, or of any length if `most` is 0 */
	OPTION_KIND_DOUBLE,  /* double, from `least` to `most` */
	OPTION_KIND_COUNT,   /* size_t, from 1 on */
	OPTION_KIND_CALL,    /* any, by `take` */
	OPTION_KIND_ARGUMENT /* an argument that is not an option: `take` is called for each */
};

/* Convert `text` (NULL: the option has no argument) and store it in `member`; refuse it by argp_error(). */
typedef void option_take(void *member, char *text, struct argp_state *state);

struct option_row {
	int group;  /* of --help, which sorts the options of a group by name */
	int letter; /* 0: none */
	const char *name;
	const char *argument; /* its name in --help; NULL: the option has none */
	const char *help;     /* NULL: --help does not show the option */
	enum option_kind kind;
	int value;
	size_t offset; /* of the member in the request */
	double least, most;
	option_take *take;
};

/* The offset of a member, which must have the type `wanted`. */
#define OPTION_MEMBER(request, member, wanted)                                                                         \
	(offsetof(request, member) + 0 * sizeof(_Generic(&((request *)NULL)->member, wanted * : 1)))
#define OPTION_INT_MEMBER(request, member)                                                                             \
	(offsetof(request, member) + 0 * sizeof(char[sizeof(((request *)NULL)->member) == sizeof(int) ? 1 : -1]))

#define OPTION_ROW(in_group, long_name, short_letter, argument_name, help_text, of_kind, at, becomes, from, to, by)    \
	{                                                                                                              \
		.group = (in_group), .letter = (short_letter), .name = (long_name), .argument = (argument_name),       \
		.help = (help_text), .kind = (of_kind), .value = (becomes), .offset = (at), .least = (from),           \
		.most = (to), .take = (by)                                                                             \
	}
#define OPTION_END                  OPTION_ROW(0, NULL, 0, NULL, NULL, OPTION_KIND_END, 0, 0, 0, 0, NULL)
#define OPTION_HEADING(group, help) OPTION_ROW(group, NULL, 0, NULL, help, OPTION_KIND_HEADING, 0, 0, 0, 0, NULL)
#define OPTION_TRUE(group, name, letter, request, member, help)                                                        \
	OPTION_ROW(group, name, letter, NULL, help, OPTION_KIND_TRUE, OPTION_MEMBER(request, member, bool), 0, 0, 0,   \
	           NULL)
#define OPTION_FALSE(group, name, request, member, help)                                                               \
	OPTION_ROW(group, name, 0, NULL, help, OPTION_KIND_FALSE, OPTION_MEMBER(request, member, bool), 0, 0, 0, NULL)
#define OPTION_ENUM(group, name, letter, request, member, value, help)                                                 \
	OPTION_ROW(group, name, letter, NULL, help, OPTION_KIND_ENUM, OPTION_INT_MEMBER(request, member), value, 0, 0, \
	           NULL)
#define OPTION_TEXT(group, name, argument, request, member, help)                                                      \
	OPTION_NAME(group, name, argument, request, member, 0, help)
#define OPTION_NAME(group, name, argument, request, member, most, help)                                                \
	OPTION_ROW(group, name, 0, argument, help, OPTION_KIND_TEXT, OPTION_MEMBER(request, member, const char *), 0,  \
	           0, most, NULL)
#define OPTION_DOUBLE(group, name, argument, request, member, least, most, help)                                       \
	OPTION_ROW(group, name, 0, argument, help, OPTION_KIND_DOUBLE, OPTION_MEMBER(request, member, double), 0,      \
	           least, most, NULL)
#define OPTION_COUNT(group, name, argument, request, member, help)                                                     \
	OPTION_ROW(group, name, 0, argument, help, OPTION_KIND_COUNT, OPTION_MEMBER(request, member, size_t), 0, 0, 0, \
	           NULL)
/* `offset` is that of the member that `take` sets; 0 is the whole request. */
#define OPTION_CALL(group, name, letter, argument, offset, take, help)                                                 \
	OPTION_ROW(group, name, letter, argument, help, OPTION_KIND_CALL, offset, 0, 0, 0, take)
#define OPTION_ARGUMENT(offset, take) OPTION_ROW(0, NULL, 0, NULL, NULL, OPTION_KIND_ARGUMENT, offset, 0, 0, 0, take)

/* Rows that several tools have. Others are in the header of what they select: analysis_choice.h. */
#define OPTION_IMAGE(request, member)                                                                                  \
	OPTION_CALL(1, "image", 0, "IMAGE", OPTION_MEMBER(request, member, struct options), options_add_image,         \
	            "Only this image: a file name, a path, a pattern or a build-id's beginning")
#define OPTION_IMAGE_ARGUMENTS(request, member)                                                                        \
	OPTION_ARGUMENT(OPTION_MEMBER(request, member, struct options), options_add_image)
#define OPTION_SHOWN_EVENTS(request, shown_events, help)                                                               \
	OPTION_CALL(1, "event", 0, "EVENT", OPTION_MEMBER(request, shown_events, struct shown_events_request),         \
	            options_add_event, help)
#define OPTION_ROW_LIMIT(request, limit) OPTION_COUNT(1, "limit", "N", request, limit, "At most N rows")
#define OPTION_NO_DEMANGLE(request, demangle)                                                                          \
	OPTION_FALSE(1, "no-demangle", request, demangle, "Names as the linker knows them")
#define OPTION_NO_INLINE(request, no_inline)                                                                           \
	OPTION_TRUE(1, "no-inline", 0, request, no_inline, "Inlined procedures count for those that they are in")
#define OPTION_REPORT_JSON(group, request, json) OPTION_TRUE(group, "json", 0, request, json, "Print it as JSON")
#define OPTION_REPORT_FILE(group, request, output)                                                                     \
	OPTION_TEXT(group, "output", "FILE", request, output, "Write it to FILE, not to standard error")

/* The sets of options that tools share: options_database and so on. */
enum command_line_shared {
	SHARED_DATABASE = 1 << 0,
	SHARED_SELECTION = 1 << 1,
	SHARED_OUTPUT = 1 << 2,
	SHARED_TABLE = 1 << 3,
};

struct command_line {
	const struct option_row *rows; /* the last one is OPTION_END */
	const char *arguments;         /* their names in --help */
	const char *doc;               /* of argp: what the tool does, \v, what stands below the options */
	unsigned shared;               /* of enum command_line_shared */
	size_t options;                /* the offset of the request's struct options */
	const struct argp *child;      /* a set of options more; NULL: none */
	size_t child_offset;           /* of the child's input in the request */
	bool in_order;                 /* arguments are taken before the options that follow them */
	const char *argument_missing;  /* the sentence that refuses a command line without arguments; NULL: allowed */
	void (*check)(void *request, struct argp_state *state); /* at the end: refuses invalid combinations; or NULL */
};

/* Initialise the request's struct options and read the command line. An exit status: 0, or another after a message. */
int command_line_read(const struct command_line *line, void *request, int argc, char **argv);

struct options *command_line_options(const struct command_line *line, void *request);

#endif
