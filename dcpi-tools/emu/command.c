#include "dcpi-tools/emu/command.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"

#define WHY_SIZE 512

int
command_parse(const struct argp *argp, int argc, char **argv, void *request)
{
	int err = argp_parse(argp, argc, argv, ARGP_IN_ORDER, NULL, request);

	return err ? message_cannot(NULL, "read the command line", -err, NULL) : STATUS_OK;
}

int
command_choose_machine(const char *choice, struct setup *setup)
{
	char why[WHY_SIZE] = "";
	int err = machine_choose(choice, &setup->machine, &setup->pipeline, why, sizeof(why));

	if (!err)
		return STATUS_OK;
	message_print(NULL, "%s%s", why[0] ? why : error_text(err),
	              strcmp(choice, "host") == 0 ? "; 'dcpiemu calibrate' describes this one as host" : "");
	return error_exit_status(err);
}
