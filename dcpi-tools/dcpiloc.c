/*
 * dcpiloc - how local the references of a program's loops are
 *
 * The compiler says what it knows of loops (compiler/pass.cc), the program what it entered (compiler/runtime.c). What
 * that means is in libsample/locality/, and man/dcpiloc.1.scd describes it.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/picture.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emulated/run_directory.h"
#include "dcpi-tools/loc/exact.h"
#include "dcpi-tools/loc/flags.h"
#include "dcpi-tools/loc/plot.h"
#include "dcpi-tools/loc/profile.h"
#include "dcpi-tools/loc/report.h"
#include "dcpi-tools/loc/runs.h"
#include "emulator/locality/trace_file.h"
#include "locality/record.h"
#include "locality/record_rows.h"
#include "machine/machine.h"
#include "profile/catalog.h"

#define WHY_SIZE 512

const char *argp_program_version = "dcpiloc " DCPI_VERSION;

struct dcpiloc_request {
	struct options options;
	struct loc_view view;
	const char *directory;
	const char **files;
	size_t file_count, file_room;
	bool compiler_flags, linker_flags, by_source;
	bool is_exact;
	struct loc_exact_request exact;
	const char *machine; /* NULL: nothing is tried */
	const char *plot;    /* NULL: there is no picture */
	bool tries;
	bool without_database;
};

/* A record; behind --exact, a program and its arguments. */
static void
take_argument(void *member, char *text, struct argp_state *state)
{
	struct dcpiloc_request *request = member;
	const char **added;

	if (request->is_exact) {
		request->exact.command = options_program(state);
		return;
	}
	added = ARRAY_APPEND(request->files, request->file_count, request->file_room);
	if (!added)
		argp_failure(state, STATUS_FAILURE, 0, "memory ended");
	else
		*added = text;
}

static void
check(void *checked, struct argp_state *state)
{
	const struct dcpiloc_request *request = checked;
	const bool has_files = request->directory || request->file_count;

	if (request->directory && request->file_count)
		argp_error(state, "either files or --directory");
	if (request->tries && !request->machine)
		argp_error(state, "--try: on which machine? --machine NAME; 'dcpiemu machines' lists those described");
	if (request->is_exact && request->plot)
		argp_error(state, "--plot is for records: --exact has none");
	if (request->machine && !request->tries)
		argp_error(state, "--machine is for --try");
	if (request->by_source && !request->compiler_flags)
		argp_error(state, "--source is for --cflags: reports say by themselves what the compiler looked at");
	if (request->is_exact && !request->exact.command)
		argp_error(state, "which program? dcpiloc --exact -- PROGRAM [ARGUMENT]...");
	if (request->is_exact && request->directory)
		argp_error(state, "--exact shows the record that its program leaves; --directory is for others");
	if (!request->is_exact && request->exact.output)
		argp_error(state, "--output is for --exact");
	if (request->options.request.epoch && (has_files || request->is_exact || request->without_database))
		argp_error(state, "--epoch is of the database: it does not go with %s",
		           request->is_exact ? "--exact"
		           : has_files       ? "files or --directory"
		                             : "--no-db");
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTION_TEXT(1, "loop", "LOOP", struct dcpiloc_request, view.loop,
                    "Only this loop, with each of its references: FILE:LINE, or a function's loops"),
	OPTION_COUNT(1, "limit", "N", struct dcpiloc_request, view.limit,
                     "At most N loops (those with a thousandth of the references)"),
	OPTION_TEXT(1, "directory", "DIR", struct dcpiloc_request, directory, "All records in DIR, which stay there"),
	OPTION_TEXT(
		1, "epoch", "EPOCH", struct dcpiloc_request, options.request.epoch,
		"The run of this epoch: its number, its label, which is the program's name, or as dcpiprof(1) has it"),
	OPTION_TRUE(1, "no-db", 0, struct dcpiloc_request, without_database,
                    "Keep nothing in the database: records stay where they are"),
	OPTION_TEXT(1, "plot", "FILE", struct dcpiloc_request, plot,
                    "Draw the loops by their scores, into a file .svg, .png, .pdf, or .gnuplot"),
	OPTION_TRUE(1, "try", 0, struct dcpiloc_request, tries,
                    "Try remedies on the caches of a machine, and tiles, too"),
	OPTION_TEXT(1, "machine", "NAME|FILE", struct dcpiloc_request, machine,
                    "On that machine ('dcpiemu machines' lists them)"),
	OPTION_HEADING(4, "Beside all addresses of a run:"),
	OPTION_TRUE(4, "exact", 0, struct dcpiloc_request, is_exact,
                    "Run PROGRAM under an emulator, and show its record beside its whole address trace"),
	OPTION_DOUBLE(4, "exact-millions", "N", struct dcpiloc_request, exact.millions, 0, 1e9,
                      "Sample reuse distances behind N million references of a thread (100)"),
	OPTION_REPORT_FILE(4, struct dcpiloc_request, exact.output),
	OPTION_HEADING(2, "How programs are built:"),
	OPTION_TRUE(2, "cflags", 0, struct dcpiloc_request, compiler_flags,
                    "Print the options for $CC (gcc) when it compiles"),
	OPTION_TRUE(2, "source", 0, struct dcpiloc_request, by_source,
                    "With --cflags: describe the loops of the source, not those that the optimizer made, and basic "
                    "blocks"),
	OPTION_TRUE(2, "libs", 0, struct dcpiloc_request, linker_flags, "Print the options for the linker"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_ARGUMENT(0, take_argument),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[RECORD]...\n--exact [--] PROGRAM [ARGUMENT]...",
	.doc = "Show how local the references of a program's loops are, by what its compiler knew and what it "
	       "entered.\v"
	       "The program must have been compiled with `dcpiloc --cflags` and linked with `dcpiloc --libs`. "
	       "See dcpiloc(1).",
	.shared = SHARED_DATABASE | SHARED_OUTPUT,
	.options = offsetof(struct dcpiloc_request, options),
	.in_order = true,
	.check = check,
};

/* ---- records ---- */

/* STATUS_OK, or an exit status after a message. */
static int
add_file(struct loc_profile *profile, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : loc_profile_add(profile, fd);

	if (fd >= 0)
		close(fd);
	if (err == -EPROTO) {
		message_print(path, "it is no record of a program's loops, or damaged");
		return STATUS_FAILURE;
	}
	if (err == -EAGAIN) {
		message_print(path, "it has nothing yet: its program begins now, or ended at once");
		return STATUS_FAILURE;
	}
	return err ? message_cannot(path, "read it", err, NULL) : STATUS_OK;
}

static int
say_there_is_none(const char *directory)
{
	message_print(directory,
	              "there is no record: compile a program with the flags of 'dcpiloc --cflags' and 'dcpiloc "
	              "--libs', and run it");
	return STATUS_FAILURE;
}

struct adding_all {
	struct loc_profile *profile;
	const char *directory;
	int status;
};

static int
add_seen(void *context, const struct run_file *file)
{
	struct adding_all *adding = context;
	char path[PATH_MAX];
	int status;

	snprintf(path, sizeof(path), "%s/" LOCALITY_PREFIX "%d.%d", adding->directory, file->pid, file->number);
	status = add_file(adding->profile, path);
	adding->status = adding->status ? adding->status : status;
	return 0;
}

/* Some records may be damaged: the others are shown, and the exit status says it. */
static int
add_files(struct loc_profile *profile, const struct dcpiloc_request *request)
{
	struct adding_all adding = {.profile = profile, .directory = request->directory};
	int err;

	for (size_t i = 0; i < request->file_count; i++) {
		const int status = add_file(profile, request->files[i]);

		adding.status = adding.status ? adding.status : status;
	}
	if (request->file_count)
		return adding.status;
	err = run_directory_each_file(adding.directory, LOCALITY_PREFIX, add_seen, &adding);
	if (err && err != -ENOENT)
		return message_cannot(adding.directory, "read the records there", err, NULL);
	return profile->record_count || adding.status ? adding.status : say_there_is_none(adding.directory);
}

/* ---- the database ---- */

static int
take_record(void *context, struct locality_record *record)
{
	return loc_profile_add_record(context, record);
}

/* The newest of the epochs that --epoch names which has loops. 0; positive: an exit status, after a message; -errno. */
static int
find_epoch(struct database *database, const struct selection_request *request, uint32_t *epoch)
{
	char why[WHY_SIZE] = "";
	uint32_t *wanted = NULL, *with_loops;
	size_t wanted_count = 0, count;
	int err = memory_rows_epochs(database->profile, MEMORY_PART_LOOPS, &with_loops, &count);

	if (!err && request->epoch)
		err = catalog_choose_epochs(database->profile, request, &wanted, &wanted_count, why, sizeof(why));
	if (err && request->epoch)
		err = database_cannot_select(database, err, why);
	*epoch = 0;
	for (size_t i = count; i-- > 0 && !err && !*epoch;) {
		if (!request->epoch ||
		    bsearch(&with_loops[i], wanted, wanted_count, sizeof(*wanted), array_compare_u32))
			*epoch = with_loops[i];
	}
	free(wanted);
	free(with_loops);
	return err;
}

/* When the epoch began; 0: it is not there. 0 or -errno. */
static int
find_start(struct database *database, uint32_t id, uint64_t *start_ns)
{
	struct epoch_summary *epochs;
	size_t count;
	int err = catalog_read_epochs(database->profile, &epochs, &count);

	*start_ns = 0;
	for (size_t i = 0; i < count && !err; i++) {
		if (epochs[i].id == id)
			*start_ns = epochs[i].start_ns;
	}
	if (!err)
		free(epochs);
	return err;
}

/* If its newest run, or that of --epoch, began later than `after_ns`, add that; *epoch is 0 else. */
static int
add_epoch(struct loc_profile *profile, struct dcpiloc_request *request, uint64_t after_ns)
{
	struct database database;
	uint64_t start_ns = 0;
	uint32_t epoch;
	int err = database_open(&database, request->options.directory);

	if (err)
		return err;
	err = find_epoch(&database, &request->options.request, &epoch);
	if (!err && epoch)
		err = find_start(&database, epoch, &start_ns);
	if (!err && epoch && start_ns > after_ns) {
		request->view.epoch = epoch;
		err = locality_rows_read(database.profile, epoch, take_record, profile);
	}
	if (err == -EPROTO) {
		message_print(database.directory, "the records of epoch %u are of another version of dcpi, or damaged",
		              epoch);
		err = STATUS_FAILURE;
	} else if (err < 0) {
		err = database_cannot_read(&database, err);
	}
	database_close(&database);
	return err;
}

static bool
has_database(const char *directory)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof(path), "%s/data.mdb", directory) < sizeof(path) && access(path, R_OK) == 0;
}

/* The first file of the newest run. */
static size_t
find_newest(const struct loc_runs *runs)
{
	size_t at = 0;

	while (at < runs->count && loc_run_end(runs, at) < runs->count)
		at = loc_run_end(runs, at);
	return at;
}

static int
add_run(struct loc_profile *profile, const struct loc_runs *runs, size_t at)
{
	int status = STATUS_OK;

	for (; at < runs->count; at++) {
		char path[PATH_MAX];
		int added;

		snprintf(path, sizeof(path), "%s/%s", runs->directory, runs->files[at].name);
		added = add_file(profile, path);
		status = status ? status : added;
	}
	return status;
}

/* The newest run, of those whose records are still here and those in the database; or that of --epoch. */
static int
add_newest_of(struct loc_profile *profile, struct dcpiloc_request *request, const struct loc_runs *runs)
{
	const bool has_epoch = request->options.request.epoch;
	const size_t at = find_newest(runs);
	int status = STATUS_OK;

	if (has_epoch || (!request->without_database && has_database(request->options.directory)))
		status = add_epoch(profile, request, !has_epoch && runs->count ? runs->files[at].began_ns : 0);
	if (!status && !has_epoch && !request->view.epoch)
		status = add_run(profile, runs, at);
	return status;
}

static int
add_newest(struct loc_profile *profile, struct dcpiloc_request *request, const char *directory)
{
	struct loc_runs runs;
	int status = loc_runs_init(&runs, directory), kept = STATUS_OK, added;

	if (runs.is_full)
		message_print(directory, "it was full: programs that began since then left no record");
	if (!request->without_database)
		kept = loc_runs_keep(&runs, request->options.directory);
	/* that records stay where they are is an error where a database was asked for */
	if (!status && strcmp(request->options.directory, PROFILE_DIRECTORY) != 0)
		status = kept;
	added = add_newest_of(profile, request, &runs);
	loc_runs_fini(&runs);
	status = status ? status : added;
	if (profile->record_count || status)
		return status;
	if (!request->options.request.epoch)
		return say_there_is_none(directory);
	message_print(request->options.directory, "epoch %s has no loops: 'dcpiloc' keeps them",
	              request->options.request.epoch);
	return STATUS_FAILURE;
}

static int
add_all(struct loc_profile *profile, struct dcpiloc_request *request)
{
	const char *directory = getenv(LOCALITY_DIRECTORY);
	char by_default[64];

	if (request->directory || request->file_count)
		return add_files(profile, request);
	if (!directory || !*directory) {
		snprintf(by_default, sizeof(by_default), LOCALITY_DEFAULT_DIRECTORY, (unsigned)geteuid());
		directory = by_default;
	}
	return add_newest(profile, request, directory);
}

/* ---- the report ---- */

static int
print(const struct loc_profile *profile, const struct loc_advice *advice, const struct dcpiloc_request *request)
{
	struct output output;
	int err, closed;

	output_open(&output, request->options.color, request->options.pager && request->options.format == FORMAT_TEXT);
	err = request->options.format == FORMAT_JSON ? loc_print_json(profile, &request->view, advice, output.stream)
	                                             : loc_print_text(profile, &request->view, advice, &output);
	closed = output_close(&output);
	err = err ? err : closed;
	return err ? message_cannot("standard output", "write the report", err, NULL) : STATUS_OK;
}

static bool
has_loop(const struct loc_profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->loop_count; i++) {
		if (loc_loop_is_called(profile->loops[i].loop, name))
			return true;
	}
	return false;
}

/* STATUS_OK, or an exit status after a message. */
static int
advise_and_print(const struct loc_profile *profile, const struct dcpiloc_request *request)
{
	struct pipeline pipeline;
	struct machine machine;
	struct loc_advice advice;
	char why[WHY_SIZE] = "";
	int err = request->machine ? machine_choose(request->machine, &machine, &pipeline, why, sizeof(why)) : 0;
	int status;

	if (err) {
		message_print(NULL, "%s", why[0] ? why : error_text(err));
		return error_exit_status(err);
	}
	err = loc_advise(profile, request->view.loop, request->machine ? &machine : NULL, &advice);
	status = err ? message_cannot("the loops", "find remedies", err, NULL) : print(profile, &advice, request);
	loc_advice_free(&advice);
	return status;
}

static int
report(struct dcpiloc_request *request)
{
	struct loc_profile profile;
	int status = request->plot ? plot_check(request->plot) : STATUS_OK, printed = STATUS_OK;

	if (status)
		return status;
	loc_profile_init(&profile);
	status = add_all(&profile, request);
	if (loc_profile_finish(&profile)) {
		loc_profile_fini(&profile);
		return message_cannot(NULL, "count the lines of loops", -ENOMEM, NULL);
	}
	if (profile.record_count && request->view.loop && !has_loop(&profile, request->view.loop)) {
		message_print(request->view.loop, "no loop or function that ran is called so: dcpiloc lists them");
		printed = STATUS_USAGE;
	} else if (profile.record_count && request->plot) {
		printed = loc_plot(&profile, request->plot);
	} else if (profile.record_count) {
		printed = advise_and_print(&profile, request);
	}
	loc_profile_fini(&profile);
	return printed ? printed : status;
}

int
main(int argc, char **argv)
{
	struct dcpiloc_request request = {.exact = {.millions = TRACE_EXACT / 1e6}};
	int status;

	text_init();
	status = command_line_read(&line, &request, argc, argv);
	if (!status && (request.compiler_flags || request.linker_flags)) {
		status = request.compiler_flags ? loc_print_compiler_flags(request.by_source) : STATUS_OK;
		if (!status && request.linker_flags)
			status = loc_print_linker_flags();
	} else if (!status && request.is_exact) {
		request.exact.loop = request.view.loop;
		request.exact.limit = request.view.limit;
		request.exact.json = request.options.format == FORMAT_JSON;
		status = loc_exact(&request.exact);
	} else if (!status) {
		status = report(&request);
	}
	free(request.files);
	options_fini(&request.options);
	return status;
}
