/*
 * report.h - what dcpiloc prints of loops and their references
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_REPORT_H
#define DCPI_TOOLS_LOC_REPORT_H

#include <stdio.h>

#include "dcpi-tools/common/output.h"
#include "dcpi-tools/loc/advise.h"
#include "dcpi-tools/loc/profile.h"

/* What is shown. */
struct loc_view {
	const char *loop; /* only loops that are called so: loc_loop_is_called(); NULL: all */
	size_t limit;     /* loops at most; 0: those with a thousandth of the references */
	uint32_t epoch;   /* of the database, from which they are; 0: from files */
};

#define LOC_SIZE_TEXT 32
const char *loc_format_bytes(uint64_t bytes, char text[LOC_SIZE_TEXT]); /* "1.5 MiB" into `text`, which it returns */

/* Each: 0, -ENOMEM, or the stream's error. */
int loc_print_text(const struct loc_profile *profile, const struct loc_view *view, const struct loc_advice *advice,
                   const struct output *output);
int loc_print_json(const struct loc_profile *profile, const struct loc_view *view, const struct loc_advice *advice,
                   FILE *stream);

#endif
