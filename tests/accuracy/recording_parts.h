/* recording_parts.h - what a recording consists of (private to tests/accuracy) */
#ifndef DCPI_ACCURACY_RECORDING_PARTS_H
#define DCPI_ACCURACY_RECORDING_PARTS_H

#include "dcpi-tools/common/recorded.h"
#include "profile/profile.h"
#include "tests/accuracy/recording.h"

struct recording {
	const char *name; /* the last part of path */
	char path[4096], program[4096];
	double runs, gigahertz;
	struct profile *profile;
	struct selection *selection;
	uint16_t event;
	struct code_image code;
	struct pipeline pipeline;
	struct recorded recorded;
};

#endif
