/*
 * dcpimport - what others recorded, into a profile database
 *
 * Its options; how it is read and kept is in dcpi-tools/import/, and man/dcpimport.1.scd describes it.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/import/run.h"

const char *argp_program_version = "dcpimport " DCPI_VERSION;

enum import_key {
	KEY_LABEL = 1,
	KEY_HOST,
	KEY_NO_SUMS,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is imported:", 1},
	{"label", KEY_LABEL, "LABEL", 0, "Call the epoch LABEL (default: the file's name)", 1},
	{"host", KEY_HOST, "HOST", 0, "It is HOST's (default: what the recording says)", 1},
	{"no-sums", KEY_NO_SUMS, NULL, 0, "Do not keep the sums of periods that vary", 1},
	{NULL, 0, NULL, 0, "Where it is kept:", 2},
	{NULL, 0, NULL, 0, "The report:", 3},
	{0},
};

static const struct argp_child children[] = {
	{&options_database, 0, NULL, 0},
	{&options_output, 0, NULL, 0},
	{0},
};

static void
check_length(const struct argp_state *state, const char *option, const char *text, size_t size)
{
	if (!*text || strlen(text) >= size)
		argp_error(state, "%s takes 1 to %zu bytes", option, size - 1);
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct import_request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &request->options;
		return 0;
	case KEY_LABEL:
		check_length(state, "--label", text, EPOCH_LABEL_SIZE);
		request->label = text;
		return 0;
	case KEY_HOST:
		check_length(state, "--host", text, EPOCH_TEXT_SIZE);
		request->host = text;
		return 0;
	case KEY_NO_SUMS:
		request->sums = false;
		return 0;
	case ARGP_KEY_ARGS:
		request->files = state->argv + state->next;
		request->file_count = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which recording? dcpimport FILE...");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "FILE|DIR...",
	.doc = "Import recordings of perf record (perf.data; - is standard input) into a profile database, each as an "
	       "epoch, and what other profile databases hold: all tools work on it.\v"
	       "The database is made where there is none; a dcpid may be writing to it. See dcpimport(1).",
	.children = children,
};

int
main(int argc, char **argv)
{
	struct import_request request = {.sums = true};
	int status;

	text_init();
	options_init(&request.options);
	status = argp_parse(&argp, argc, argv, 0, NULL, &request);
	if (status)
		return message_cannot(NULL, "read the command line", -status, NULL);
	status = import_run(&request);
	options_fini(&request.options);
	return status;
}
