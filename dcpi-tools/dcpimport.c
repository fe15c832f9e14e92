/*
 * dcpimport - recordings of perf and other databases into a profile database
 *
 * Its options; how it is read and kept is in dcpi-tools/import/, and man/dcpimport.1.scd describes it.
 */
#include <stddef.h>

#include "dcpi-tools/common/options.h"
#include "dcpi-tools/import/run.h"

const char *argp_program_version = "dcpimport " DCPI_VERSION;

static void
take_files(void *member, char *text, struct argp_state *state)
{
	struct import_request *request = member;

	(void)text; /* the first of them */
	request->file_count = (size_t)(state->argc - state->next + 1);
	request->files = options_program(state);
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is imported:"),
	OPTION_NAME(1, "label", "LABEL", struct import_request, label, EPOCH_LABEL_SIZE - 1,
                    "Call the epoch LABEL (default: the file's name)"),
	OPTION_NAME(1, "host", "HOST", struct import_request, host, EPOCH_TEXT_SIZE - 1,
                    "It is HOST's (default: what the recording says)"),
	OPTION_FALSE(1, "no-sums", struct import_request, sums, "Do not keep the sums of periods that vary"),
	OPTION_HEADING(2, "Where it is kept:"),
	OPTION_HEADING(3, "The report:"),
	OPTION_ARGUMENT(0, take_files),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "FILE|DIR...",
	.doc = "Import recordings of perf record (perf.data; - is standard input) into a profile database, each as an "
	       "epoch, and what other profile databases hold: all tools work on it.\v"
	       "The database is made where there is none; a dcpid may be writing to it. See dcpimport(1).",
	.shared = SHARED_DATABASE | SHARED_OUTPUT,
	.options = offsetof(struct import_request, options),
	.argument_missing = "which recording? dcpimport FILE...",
};

int
main(int argc, char **argv)
{
	struct import_request request = {.sums = true};
	int status = command_line_read(&line, &request, argc, argv);

	if (!status)
		status = import_run(&request);
	options_fini(&request.options);
	return status;
}
