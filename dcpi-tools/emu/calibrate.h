/*
 * calibrate.h - measure this machine, and describe it in a file that --machine takes
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_CALIBRATE_H
#define DCPI_TOOLS_EMU_CALIBRATE_H

#include "dcpi-tools/common/output.h"

struct calibrate_request {
	const char *path; /* of the file; NULL: host.conf among the user's own machines, which are made */
};

/* Ten seconds, and a table of what was found. An exit status; not 0: after a message. */
int calibrate_run(const struct calibrate_request *request, const struct output *output);

#endif
