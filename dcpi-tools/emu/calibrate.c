/* dcpiemu calibrate: measure this machine, and describe it in a file that --machine takes. */
#include "dcpi-tools/emu/command.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/config.h"
#include "base/error.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/emu/calibrate/describe.h"

#define TRIES 3

struct emu_calibrate_request {
	struct options options;
	const char *path; /* of the file; NULL: host.conf among the user's own machines, which are made */
};

static int
choose_pipeline(const struct host *host, struct pipeline *pipeline)
{
	char directory[PATH_MAX], note[1024] = "";
	int err;

	pipeline_directory(directory, sizeof(directory));
	err = pipeline_choose(directory, NULL, host->cpu, pipeline, note, sizeof(note));
	if (*note)
		message_print(NULL, "%s", note);
	return err ? error_exit_status(err) : 0;
}

/* Figures that contradict each other may be better the next time. An exit status. */
static int
measure(const struct host *host, const struct pipeline *pipeline, struct measurements *measured,
        struct machine *machine)
{
	char why[512] = "";
	int err = -DCPI_ECONFIG;

	for (unsigned i = 0; err == -DCPI_ECONFIG && i < TRIES; i++) {
		err = measure_host(host, measured);
		if (!err)
			err = describe_machine(host, measured, pipeline, machine, why, sizeof(why));
	}
	if (err == -DCPI_ECONFIG)
		message_print(NULL, "cannot describe this machine: %s; nothing was written", why);
	else if (err)
		return message_cannot(NULL, "measure this machine", err, NULL);
	return err ? error_exit_status(err) : 0;
}

/* All directories above `path`. */
static int
make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int err;

		*slash = '\0';
		err = mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (err)
			return err;
	}
	return 0;
}

static int
choose_path(const struct emu_calibrate_request *request, char *path, size_t size)
{
	char directory[PATH_MAX];
	int used, err;

	if (request->path) {
		used = snprintf(path, size, "%s", request->path);
		err = used > 0 && (size_t)used < size ? 0 : -ENAMETOOLONG;
		return err ? message_cannot(request->path, "write the description", err, NULL) : 0;
	}
	if (machine_own_directory(directory, sizeof(directory))) {
		message_print(NULL,
		              "there is no home directory to write the description to; name a file with --output");
		return STATUS_USAGE;
	}
	used = snprintf(path, size, "%s/host" CONFIG_MODEL_SUFFIX, directory);
	err = used > 0 && (size_t)used < size ? make_directories(path) : -ENAMETOOLONG;
	return err ? message_cannot(path, "make its directory", err, NULL) : 0;
}

static int
write_machine(const struct machine *machine, FILE *stream)
{
	char head[512], date[32] = "";
	const time_t now = time(NULL);
	struct tm local;

	if (localtime_r(&now, &local))
		(void)strftime(date, sizeof(date), " on %F", &local);
	snprintf(head, sizeof(head),
	         "# What dcpiemu calibrate found of this machine%s.\n"
	         "# Sizes are the kernel's, latencies and bandwidths measured; assumed are prefetchers, what predicts\n"
	         "# branches, the TLB of code and the write buffer.\n",
	         date);
	return describe_write(machine, head, stream);
}

/* Measure, and write; whether that can be done is known before. An exit status. */
static int
measure_into(const char *path, const struct host *host, const struct pipeline *pipeline, struct measurements *measured,
             struct machine *machine)
{
	struct atomic_file file;
	int status, err = atomic_file_open(&file, path);

	if (err)
		return message_cannot(path, "write the description", err, NULL);
	status = measure(host, pipeline, measured, machine);
	if (status) {
		(void)atomic_file_close(&file, -ECANCELED);
		return status;
	}
	err = write_machine(machine, file.stream);
	if (!err && file.path && fchmod(fileno(file.stream), 0644))
		err = -errno;
	err = atomic_file_close(&file, err);
	return err ? message_cannot(path, "write the description", err, NULL) : STATUS_OK;
}

static const struct table_column columns[] = {
	{.heading = ""},
	{.heading = "measured", .align = TABLE_RIGHT, .gap = 2},
	{.heading = "", .gap = 1, .min_width = 6},
	{.heading = "how sure", .gap = 2},
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

/* A row, whose name is in the table already if `name` is NULL. */
static void
add_figure(struct table *table, const char *name, double value, const char *unit, const char *sureness)
{
	if (name)
		table_text(table, STYLE_PLAIN, name);
	table_format(table, STYLE_PLAIN, value < 100 && value != (unsigned)value ? "%.1f" : "%.0f", value);
	table_text(table, STYLE_FAINT, unit);
	table_text(table, STYLE_FAINT, sureness);
}

static void
add_levels(struct table *table, const struct host *host, const struct measurements *measured)
{
	for (unsigned i = 0; i < host->level_count; i++) {
		const uint64_t bytes = host->levels[i].bytes;
		const bool is_whole = bytes >> 20 && !(bytes & ((1 << 20) - 1));

		table_format(table, STYLE_PLAIN, "level %u, %" PRIu64 " %s", i + 1,
		             is_whole ? bytes >> 20 : bytes >> 10, is_whole ? "MiB" : "KiB");
		add_figure(table, NULL, measured->level_cycles[i].value, "cycles",
		           measured->ends_seen[i] ? figure_sureness(&measured->level_cycles[i])
		                                  : "doubtful: loads are as fast in twice of it");
	}
	add_figure(table, "memory, idle", measured->memory_ns.value, "ns",
	           measured->in_huge_pages ? figure_sureness(&measured->memory_ns)
	                                   : "doubtful: no huge pages, walks are in it");
	add_figure(table, "loads that miss at once", measured->misses_in_flight, "", "roughly");
}

static void
add_tlbs(struct table *table, const struct measured_tlbs *tlbs)
{
	if (tlbs->data_entries == 0) {
		add_figure(table, "TLB", 0, "pages", "not seen: nothing took longer with more pages");
		return;
	}
	add_figure(table, "TLB of data", tlbs->data_entries, "pages", "roughly");
	if (tlbs->shared_entries) {
		add_figure(table, "second TLB", tlbs->shared_entries, "pages", "roughly");
		add_figure(table, "a hit in it adds", tlbs->hit_cycles, "cycles", "roughly");
	}
	add_figure(table, "a walk adds", tlbs->walk_cycles, "cycles", "roughly");
}

static void
add_memory(struct table *table, const struct measurements *measured, const struct machine *machine)
{
	const struct machine_load *last = &machine->loads[machine->load_count - 1];

	for (unsigned i = 0; i < measured->bandwidth_count; i++) {
		const struct measured_bandwidth *bandwidth = &measured->bandwidths[i];

		table_format(table, STYLE_PLAIN, "memory, %u thread%s", bandwidth->threads,
		             bandwidth->threads == 1 ? "" : "s");
		add_figure(table, NULL, bandwidth->gb_s, "GB/s", "at least");
	}
	table_format(table, STYLE_PLAIN, "memory, at %.3g GB/s%s", last->bandwidth_gb_s,
	             machine->nodes > 1 ? " of a node" : "");
	add_figure(table, NULL, last->latency_ns, "ns", "roughly");
}

static int
print_measured(const struct host *host, const struct measurements *measured, const struct machine *machine,
               const struct output *output)
{
	struct table *table = table_new(columns, COLUMN_COUNT);
	int err;

	if (!table)
		return -ENOMEM;
	fprintf(output->stream, "%s: %u core%s, pipeline %s\n\n", machine->title, machine->cores,
	        machine->cores == 1 ? "" : "s", machine->pipeline_name);
	add_figure(table, "clock", measured->clock_mhz.value, "MHz", figure_sureness(&measured->clock_mhz));
	add_levels(table, host, measured);
	add_tlbs(table, &measured->tlbs);
	add_memory(table, measured, machine);
	add_figure(table, "a system call", measured->call_cycles.value, "cycles",
	           figure_sureness(&measured->call_cycles));
	err = table_print(table, output, true);
	table_free(table);
	return err;
}

/* Ten seconds, and a table of what was found. An exit status; not 0: after a message. */
static int
run(const struct emu_calibrate_request *request, const struct output *output)
{
	char path[PATH_MAX], why[512] = "";
	struct measurements *measured;
	struct pipeline pipeline;
	struct machine machine = {0};
	struct host host;
	int status, err = host_read("/sys", "/proc", &host, why, sizeof(why));

	if (err) {
		message_print(NULL, "cannot describe this machine: %s", why);
		return error_exit_status(err);
	}
	status = choose_pipeline(&host, &pipeline);
	if (!status)
		status = choose_path(request, path, sizeof(path));
	if (status)
		return status;
	measured = calloc(1, sizeof(*measured));
	if (!measured)
		return message_cannot(NULL, "measure this machine", -ENOMEM, NULL);
	status = measure_into(path, &host, &pipeline, measured, &machine);
	if (!status) {
		err = print_measured(&host, measured, &machine, output);
		fprintf(output->stream, "\nWritten: %s\n", path);
	}
	free(measured);
	return err ? message_cannot(NULL, "print", err, NULL) : status;
}

static const struct option_row rows[] = {
	OPTION_TEXT(0, "output", "FILE", struct emu_calibrate_request, path,
                    "Write the description to FILE (~/.config/dcpi/machines/host.conf)"),
	OPTION_ARGUMENT(0, command_refuse_argument),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.doc = "Measure this machine - caches, TLBs, memory, clock - in ten to thirty seconds, say how sure each "
	       "figure is, and describe it in a file, so that --machine host is this one. The less else runs, the "
	       "better.",
	.options = offsetof(struct emu_calibrate_request, options),
	.in_order = true,
};

int
calibrate_main(int argc, char **argv)
{
	struct emu_calibrate_request request = {0};
	struct output output;
	int err, status = command_line_read(&line, &request, argc, argv);

	if (status)
		return status;
	output_open(&output, COLOR_AUTO, false);
	status = run(&request, &output);
	err = output_close(&output);
	if (err && !status)
		status = message_cannot(NULL, "print", err, NULL);
	return status;
}
