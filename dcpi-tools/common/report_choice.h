/*
 * report_choice.h - what a report chooses first: a selection, events, and images
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_REPORT_CHOICE_H
#define DCPI_TOOLS_REPORT_CHOICE_H

#include "dcpi-tools/common/columns.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/options.h"

struct report_choice {
	struct selection *selection;
	struct columns columns;
	char **titles; /* of images */
	bool *wanted;  /* by image; NULL: all */
};

/* An exit status: 0, or another after a message. report_choice_fini() it in any case. */
int report_choose(struct report_choice *choice, struct database *database, const struct options *options,
                  const struct columns_request *columns);
void report_choice_fini(struct report_choice *choice); /* a zeroed one is allowed */

/* Say that there are no samples in it; the exit status. */
int report_choice_empty(const struct database *database);

#endif
