/*
 * assets.h - files that pages refer to, built into the program
 *
 * Thread rule: constant.
 */
#ifndef DCPI_TOOLS_WEB_ASSETS_H
#define DCPI_TOOLS_WEB_ASSETS_H

#include <stddef.h>

struct asset {
	const char *path; /* of the URL */
	const char *type;
	const char *data;
	size_t size;
};

/* NULL: there is none. */
const struct asset *asset_find(const char *path);

#endif
