#include "dcpi-tools/emu/machines.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/config.h"
#include "base/error.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/emu/command.h"

struct emu_machines_request {
	struct options options;
};

static bool
is_listed(const struct machine_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *file = strrchr(list->machines[i].path, '/') + 1;
		const size_t length = strlen(name);

		if (strncmp(file, name, length) == 0 && strcmp(file + length, CONFIG_MODEL_SUFFIX) == 0)
			return true;
	}
	return false;
}

static int
add_machine(struct machine_list *list, const char *directory, const char *name)
{
	struct described_machine *machines, *one;
	struct pipeline pipeline;
	int used;

	if (is_listed(list, name))
		return 0;
	machines = realloc(list->machines, (list->count + 1) * sizeof(*machines));
	if (!machines)
		return -ENOMEM;
	list->machines = machines;
	one = &machines[list->count];
	memset(one, 0, sizeof(*one));
	used = snprintf(one->path, sizeof(one->path), "%s/%s" CONFIG_MODEL_SUFFIX, directory, name);
	if (used < 0 || (size_t)used >= sizeof(one->path))
		return -ENAMETOOLONG;
	list->count++;
	if (machine_choose(one->path, &one->machine, &pipeline, one->why, sizeof(one->why)) && !one->why[0])
		snprintf(one->why, sizeof(one->why), "%s: it cannot be read", name);
	return 0;
}

static int
add_directory(struct machine_list *list, const char *directory)
{
	char **names;
	int count = config_model_list(directory, &names);
	int err = count < 0 ? count : 0;

	for (int i = 0; !err && i < count; i++)
		err = add_machine(list, directory, names[i]);
	config_model_list_free(names, count);
	return err;
}

int
machine_list_read(struct machine_list *list)
{
	int err = 0;

	memset(list, 0, sizeof(*list));
	machine_directory(list->described, sizeof(list->described));
	if (machine_own_directory(list->own, sizeof(list->own)))
		list->own[0] = '\0';
	if (list->own[0])
		err = add_directory(list, list->own);
	if (err == -ENOENT)
		err = 0;
	return err ? err : add_directory(list, list->described);
}

void
machine_list_fini(struct machine_list *list)
{
	free(list->machines);
	list->machines = NULL;
	list->count = 0;
}

static const struct table_column columns[] = {
	{.heading = "machine"},
	{.heading = "cores", .align = TABLE_RIGHT, .gap = 2},
	{.heading = "MHz", .align = TABLE_RIGHT, .gap = 2},
	{.heading = "caches", .align = TABLE_RIGHT, .gap = 2},
	{.heading = "memory", .align = TABLE_RIGHT, .gap = 2},
	{.heading = "GB/s", .align = TABLE_RIGHT, .gap = 2},
	{.heading = "pipeline", .gap = 2},
	{.heading = "title", .cut = TABLE_CUT_END, .gap = 2},
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

/* The bandwidth of all nodes and controllers. */
static double
limit_gb_s(const struct machine *machine)
{
	return machine->loads[machine->load_count - 1].bandwidth_gb_s * machine->controllers * machine->nodes;
}

/* "32K 256K 45M" */
static void
format_caches(const struct machine *machine, char *text, size_t size)
{
	size_t used = 0;

	for (unsigned i = 0; i < machine->level_count && used < size; i++) {
		const uint64_t bytes = machine->levels[i].bytes;
		const bool is_whole = bytes >= 1 << 20 && bytes % (1 << 20) == 0;
		int length = snprintf(text + used, size - used, "%s%" PRIu64 "%s", i ? " " : "",
		                      is_whole ? bytes >> 20 : bytes >> 10, is_whole ? "M" : "K");

		used += length > 0 ? (size_t)length : 0;
	}
}

static void
add_row(struct table *table, const struct machine *machine)
{
	char caches[128] = "";

	format_caches(machine, caches, sizeof(caches));
	table_text(table, STYLE_PLAIN, machine->name);
	if (machine->nodes > 1)
		table_format(table, STYLE_PLAIN, "%ux%u", machine->nodes, machine->cores / machine->nodes);
	else
		table_format(table, STYLE_PLAIN, "%u", machine->cores);
	table_format(table, STYLE_PLAIN, "%.0f", machine->clock_mhz);
	table_text(table, STYLE_PLAIN, caches);
	table_format(table, STYLE_PLAIN, "%.0f ns", machine->loads[0].latency_ns);
	table_format(table, STYLE_PLAIN, "%.3g", limit_gb_s(machine));
	table_text(table, STYLE_PLAIN, machine->pipeline_name);
	table_text(table, STYLE_PLAIN, machine->title);
}

int
machine_list_print_text(const struct machine_list *list, const struct output *output, bool header)
{
	struct table *table = table_new(columns, COLUMN_COUNT);
	int err;

	for (size_t i = 0; table && i < list->count; i++)
		if (!list->machines[i].why[0])
			add_row(table, &list->machines[i].machine);
	err = table ? table_print(table, output, header) : -ENOMEM;
	table_free(table);
	if (err || !header)
		return err;
	fprintf(output->stream, "\nThey are described in %s\n", list->described);
	if (list->own[0])
		fprintf(output->stream, "and, first of all, in %s\n", list->own);
	fprintf(output->stream, "For another one, copy the file that is most like it: what a value means is in "
	                        "dcpi-machine.conf(5).\n'dcpiemu calibrate' describes this machine.\n");
	return ferror(output->stream) ? -EIO : 0;
}

static json_t *
levels_of(const struct machine *machine)
{
	json_t *levels = json_array();
	int err = 0;

	for (unsigned i = 0; i < machine->level_count; i++) {
		const struct machine_cache *cache = &machine->levels[i];

		err |= json_array_append_new(
			levels, json_pack("{s:o, s:o, s:o, s:o}", "bytes", json_count(cache->bytes), "ways",
		                          json_count(cache->ways), "latency_cycles", json_count(cache->latency_cycles),
		                          "cores", json_count(cache->cores)));
	}
	return json_kept(levels, err);
}

static json_t *
machine_of(const struct described_machine *one)
{
	const struct machine *machine = &one->machine;

	return json_pack("{s:o, s:o, s:o, s:o, s:f, s:o, s:o, s:o, s:f, s:f}", "name", json_shown(machine->name),
	                 "title", json_shown(machine->title), "file", json_shown(one->path), "pipeline",
	                 json_shown(machine->pipeline_name), "clock_mhz", machine->clock_mhz, "nodes",
	                 json_count(machine->nodes), "cores", json_count(machine->cores), "caches", levels_of(machine),
	                 "memory_latency_ns", machine->loads[0].latency_ns, "memory_gb_per_second",
	                 limit_gb_s(machine));
}

int
machine_list_print_json(const struct machine_list *list, FILE *stream)
{
	json_t *root = json_object(), *machines = json_array();
	int err = json_object_set_new(root, "schema", json_string("dcpiemu-machines/1"));

	for (size_t i = 0; i < list->count; i++)
		if (!list->machines[i].why[0])
			err |= json_array_append_new(machines, machine_of(&list->machines[i]));
	err |= json_object_set_new(root, "machines", machines);
	return json_print(json_kept(root, err), stream);
}

static int
print_list(const struct machine_list *list, const struct options *options)
{
	struct output output;
	int err, closed;

	output_open(&output, options->color, options->pager);
	err = options->format == FORMAT_JSON ? machine_list_print_json(list, output.stream)
	                                     : machine_list_print_text(list, &output, options->header);
	closed = output_close(&output);
	err = err ? err : closed;
	return err ? message_cannot(NULL, "print", err, NULL) : STATUS_OK;
}

static const struct option_row rows[] = {
	OPTION_FALSE(1, "no-header", struct emu_machines_request, options.header, "Only the rows"),
	OPTION_ARGUMENT(0, command_refuse_argument),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.doc = "List the machines that --machine takes, and say how to describe another.",
	.shared = SHARED_OUTPUT,
	.options = offsetof(struct emu_machines_request, options),
	.in_order = true,
};

int
machines_main(int argc, char **argv)
{
	struct emu_machines_request request;
	struct machine_list list;
	int err, status = command_line_read(&line, &request, argc, argv);

	if (status)
		goto out;
	err = machine_list_read(&list);
	status = err ? message_cannot(list.described, "list the machines", err, NULL)
	             : print_list(&list, &request.options);
	for (size_t i = 0; i < list.count; i++)
		if (list.machines[i].why[0]) {
			message_print(NULL, "%s", list.machines[i].why);
			status = status ? status : STATUS_USAGE;
		}
	machine_list_fini(&list);
out:
	options_fini(&request.options);
	return status;
}
