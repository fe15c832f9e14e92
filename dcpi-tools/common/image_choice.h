/*
 * image_choice.h - the images that a user asked for
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMAGE_CHOICE_H
#define DCPI_TOOLS_IMAGE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/selection.h"

struct image_request {
	const char *const *patterns; /* as images_match() (image_name.h) takes them */
	size_t count;                /* 0: all images */
	uint16_t event;              /* "hottest" is by this event */
};

/*
 * 0 with *wanted: by image whether it was asked for (the caller frees it), NULL for all. An exit status after a message
 * when a pattern fits no image: what was probably meant, or else which images are the hottest.
 */
int images_choose(const struct selection *selection, char **titles, const struct image_request *request, bool **wanted);

#endif
