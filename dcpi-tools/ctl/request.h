/*
 * request.h - what the command line asks of dcpictl
 */
#ifndef DCPI_TOOLS_CTL_REQUEST_H
#define DCPI_TOOLS_CTL_REQUEST_H

#include <stdbool.h>

#include "dcpi-tools/common/options.h"

struct ctl_request {
	struct options options;
	const char *command;
	const char *socket;   /* NULL: the database's, or the service's */
	const char *label;    /* of an epoch, or of a process tree */
	char *const *program; /* that is to run under it; NULL: none */
	unsigned pid;         /* of the process that is to have it; 0: none */
	const char *output;   /* NULL: standard output */
	const char *to;       /* the directory that salvage makes */
	const char *epoch;    /* that is to be kept; NULL: say which are */
	bool release;         /* it is kept no longer */
	bool json;
	bool prometheus;
};

#endif
