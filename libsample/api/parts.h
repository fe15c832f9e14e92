/*
 * parts.h - what the handles of libsample's interface stand for (private to api/)
 *
 * Thread rule: one thread per handle.
 */
#ifndef DCPI_API_PARTS_H
#define DCPI_API_PARTS_H

#include "profile/profile.h"
#include "profile/selection.h"

struct sample_database {
	struct profile *profile;
};

struct sample_selection {
	struct selection *inner;
	uint64_t *image_samples; /* event_count for each image */
};

#endif
