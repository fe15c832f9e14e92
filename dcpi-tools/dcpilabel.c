/*
 * dcpilabel - runs a program several times, each time under a label of its own, and compares the runs
 *
 * Its options, and the comparison; what a run is, is in dcpi-tools/label/series.h and dcpi-tools/ctl/remote.h.
 * man/dcpilabel.1.scd describes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/label/series.h"
#include "profile/catalog.h"

#define COMPARE_PROGRAM "dcpistats"

const char *argp_program_version = "dcpilabel " DCPI_VERSION;

struct label_request {
	struct series series;
	bool adds;     /* to what the labels have already */
	bool is_alone; /* without dcpistats behind it */
	bool prints_json;
};

static void
take_json(void *member, char *text, struct argp_state *state)
{
	struct label_request *request = member;

	(void)text;
	(void)state;
	request->prints_json = request->series.is_quiet = true;
}

/* What follows the name is the program's. */
static void
take_argument(void *member, char *text, struct argp_state *state)
{
	struct series *series = member;

	if (series->name) {
		series->program = options_program(state);
		return;
	}
	if (!*text || strpbrk(text, "*?[\\"))
		argp_error(state, "the name may not be empty or have wildcards");
	series->name = text;
}

static void
check(void *checked, struct argp_state *state)
{
	const struct label_request *request = checked;
	const struct series *series = &request->series;
	char label[LABEL_SIZE];

	if (!series->name || !series->program)
		argp_error(state, "which name, and which program? dcpilabel NAME -- PROGRAM [ARGUMENT]...");
	if (series->runs > SERIES_RUNS_MAX)
		argp_error(state, "--runs: at most %d", SERIES_RUNS_MAX);
	if (series->name && series_label(series, series->runs - 1, label))
		argp_error(state, "the name is too long: a label has at most %d bytes", LABEL_SIZE - 1);
}

static const struct option_row rows[] = {
	OPTION_COUNT(1, "runs", "N", struct label_request, series.runs, "Run PROGRAM so many times (default: 8)"),
	OPTION_COUNT(1, "first", "N", struct label_request, series.first, "Call the first run NAME.N, not NAME.1"),
	OPTION_TRUE(1, "add", 0, struct label_request, adds,
                    "Let samples add up with those that these labels have already"),
	OPTION_TRUE(1, "quiet", 'q', struct label_request, series.is_quiet,
                    "Drop what PROGRAM prints to standard output"),
	OPTION_TRUE(1, "keep-going", 0, struct label_request, series.keeps_going, "Go on after a run that failed"),
	OPTION_TRUE(1, "no-stats", 0, struct label_request, is_alone, "Do not run " COMPARE_PROGRAM " at the end"),
	OPTION_CALL(1, "json", 0, NULL, 0, take_json, "Print JSON, and what PROGRAM prints not"),
	OPTION_TEXT(1, "socket", "PATH", struct label_request, series.asking.socket,
                    "Talk to the dcpid that listens at PATH"),
	OPTION_ARGUMENT(offsetof(struct label_request, series), take_argument),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "NAME [--] PROGRAM [ARGUMENT]...",
	.doc = "Run PROGRAM several times, each time under a label of its own, NAME.1, NAME.2, ..., and show what "
	       "differs "
	       "between the runs.\v"
	       "It needs a dcpid that runs. At the end " COMPARE_PROGRAM " compares the runs. See dcpilabel(1).",
	.shared = SHARED_DATABASE,
	.options = offsetof(struct label_request, series.asking.options),
	.in_order = true,
	.check = check,
};

/* One of those that the runs will have? */
static bool
is_ours(const struct series *series, const char *label)
{
	char ours[LABEL_SIZE];

	for (size_t i = 0; i < series->runs; i++)
		if (series_label(series, i, ours) == 0 && strcmp(ours, label) == 0)
			return true;
	return false;
}

/* Samples of another day would be taken for these runs'. An exit status, after a message if it is not 0. */
static int
check_labels(const struct series *series, struct profile *profile)
{
	char pattern[LABEL_SIZE + 2], why[512];
	const struct selection_request request = {.epoch = "all", .label = pattern};
	int status = STATUS_OK;
	size_t count;
	char **labels;

	snprintf(pattern, sizeof(pattern), "%s.*", series->name);
	if (catalog_labels(profile, &request, &labels, &count, why, sizeof(why)))
		return STATUS_OK; /* there is none, most likely */
	for (size_t i = 0; i < count && !status; i++) {
		if (!is_ours(series, labels[i]))
			continue;
		message_print(labels[i], "there is such a label already: take another name, go on behind it with "
		                         "--first, or let samples add up with --add");
		status = STATUS_USAGE;
	}
	catalog_free_labels(labels, count);
	return status;
}

static int
look_for_labels(const struct label_request *request)
{
	struct database database;
	int status;

	if (request->adds)
		return STATUS_OK;
	status = database_open(&database, request->series.asking.options.directory);
	if (status)
		return status;
	status = check_labels(&request->series, database.profile);
	database_close(&database);
	return status;
}

/* ---- dcpistats over the runs ---- */

/*
 * Become dcpistats --db DIR [--json] --label NAME.1 --label NAME.2 ...: the one beside this program, or that in $PATH.
 * Returns only when that cannot be: an exit status, after a message.
 */
static int
become_statistics(const struct series *series, bool as_json)
{
	static char program[] = COMPARE_PROGRAM, db[] = "--db", label[] = "--label", json[] = "--json";
	char(*labels)[LABEL_SIZE] = calloc(series->done, sizeof(*labels));
	char **command = calloc(2 * series->done + 5, sizeof(*command));
	char self[PATH_MAX], path[PATH_MAX + sizeof(COMPARE_PROGRAM)], *slash;
	const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t count = 0;
	int err = ENOMEM;

	if (labels && command) {
		command[count++] = program;
		command[count++] = db;
		command[count++] = (char *)series->asking.options.directory;
		if (as_json)
			command[count++] = json;
		for (size_t i = 0; i < series->done; i++) {
			(void)series_label(series, i, labels[i]);
			command[count++] = label;
			command[count++] = labels[i];
		}
		fflush(NULL);
		self[length > 0 ? length : 0] = '\0';
		slash = strrchr(self, '/');
		if (slash) {
			snprintf(path, sizeof(path), "%.*s/" COMPARE_PROGRAM, (int)(slash - self), self);
			execv(path, command);
		}
		execvp(COMPARE_PROGRAM, command);
		err = errno;
	}
	free(command);
	free(labels);
	return message_cannot(COMPARE_PROGRAM, "run it", -err, NULL);
}

/*
 * Run dcpistats --json and parse what it prints into *statistics, NULL where that is no JSON. The exit status of
 * dcpistats; where it could not be run, another after a message.
 */
static int
read_statistics(const struct series *series, json_t **statistics)
{
	int ends[2], status = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return message_cannot(COMPARE_PROGRAM, "run it", -errno, NULL);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(dup2(ends[1], STDOUT_FILENO) < 0 ? message_cannot(COMPARE_PROGRAM, "run it", -errno, NULL)
		                                       : become_statistics(series, true));
	if (pid < 0)
		status = message_cannot(COMPARE_PROGRAM, "run it", -errno, NULL);
	close(ends[1]);
	if (pid > 0)
		*statistics = json_loadfd(ends[0], 0, NULL);
	close(ends[0]);
	if (pid < 0)
		return status;
	if (TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) < 0)
		return message_cannot(COMPARE_PROGRAM, "wait for it", -errno, NULL);
	return child_exit_status(status, STATUS_OK);
}

/* Both in one object: of a run that failed, too. An exit status. */
static int
print_json(const struct series *series, bool is_alone, int status)
{
	json_t *statistics = NULL;
	int err;

	if (!status && !is_alone && series->done >= 2)
		status = read_statistics(series, &statistics);
	err = json_print_exact(series_json(series, statistics), stdout);
	if (!err && fflush(stdout)) /* a signal may be our end */
		err = -errno;
	return err ? message_cannot(NULL, "write the report", err, NULL) : status;
}

int
main(int argc, char **argv)
{
	struct label_request request = {.series = {.first = 1, .runs = 8}};
	struct series *series = &request.series;
	int status = command_line_read(&line, &request, argc, argv);

	if (!status)
		status = look_for_labels(&request);
	if (status)
		return status;
	status = series_run(series);
	if (!status)
		series_print(series);
	if (request.prints_json)
		status = print_json(series, request.is_alone, status);
	if (series->is_cut)
		return child_exit_status(series->results[series->done - 1].status, STATUS_FAILURE);
	if (status || request.prints_json)
		return status;
	if (request.is_alone || series->done < 2)
		return STATUS_OK;
	return become_statistics(series, false);
}
