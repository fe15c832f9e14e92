/* dcpiemu machines: those that are described. */
#include <errno.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/emu/machines.h"

#define KEY_NO_HEADER 1

static const struct argp_option entries[] = {
	{"no-header", KEY_NO_HEADER, NULL, 0, "Only the rows", 1},
	{0},
};

static const struct argp_child children[] = {
	{&options_output, 0, NULL, 1},
	{0},
};

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = options;
		return 0;
	case KEY_NO_HEADER:
		options->header = false;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "machines takes no argument: %s", text);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.children = children,
	.doc = "List the machines that --machine takes, and say how to describe another.",
};

static int
print(const struct machine_list *list, const struct options *options)
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

int
machines_main(int argc, char **argv)
{
	struct options options;
	struct machine_list list;
	int err, status;

	options_init(&options);
	status = command_parse(&argp, argc, argv, &options);
	if (status) {
		options_fini(&options);
		return status;
	}
	err = machine_list_read(&list);
	status = err ? message_cannot(list.described, "list the machines", err, NULL) : print(&list, &options);
	for (size_t i = 0; i < list.count; i++)
		if (list.machines[i].why[0]) {
			message_print(NULL, "%s", list.machines[i].why);
			status = status ? status : STATUS_USAGE;
		}
	machine_list_fini(&list);
	options_fini(&options);
	return status;
}
