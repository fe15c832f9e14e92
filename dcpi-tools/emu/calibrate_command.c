/* dcpiemu calibrate: its options. */
#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/emu/calibrate.h"
#include "dcpi-tools/emu/command.h"

#define KEY_OUTPUT 1

static const struct argp_option entries[] = {
	{"output", KEY_OUTPUT, "FILE", 0, "Write the description to FILE (~/.config/dcpi/machines/host.conf)", 0},
	{0},
};

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct calibrate_request *request = state->input;

	switch (key) {
	case KEY_OUTPUT:
		request->path = text;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "calibrate takes no argument: %s", text);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.doc = "Measure this machine - caches, TLBs, memory, clock - in ten to thirty seconds, say how sure each "
	       "figure is, and describe it in a file, so that --machine host is this one. The less else runs, the "
	       "better.",
};

int
calibrate_main(int argc, char **argv)
{
	struct calibrate_request request = {0};
	struct output output;
	int status = command_parse(&argp, argc, argv, &request);
	int err;

	if (status)
		return status;
	output_open(&output, COLOR_AUTO, false);
	status = calibrate_run(&request, &output);
	err = output_close(&output);
	if (err && !status)
		status = message_cannot(NULL, "print", err, NULL);
	return status;
}
