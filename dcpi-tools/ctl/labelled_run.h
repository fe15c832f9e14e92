/*
 * labelled_run.h - run a program as a process tree with a label, in step with dcpid
 *
 * The new process itself asks dcpid for the label, with the user's credentials, and executes the program when it has
 * the answer: the label begins with that exec. What the program did is in the database when the run is over. Thread
 * rule: as child.h.
 */
#ifndef DCPI_TOOLS_CTL_LABELLED_RUN_H
#define DCPI_TOOLS_CTL_LABELLED_RUN_H

#include "dcpi-tools/common/child.h"
#include "dcpi-tools/ctl/commands.h"

/* Exit statuses of what never became the program, as env(1) and shells have them. */
#define LABELLED_FAILED    125 /* no label */
#define LABELLED_REFUSED   126 /* it cannot be executed */
#define LABELLED_NOT_FOUND 127

/*
 * Run `command` under request->label. 0 when it ran, whatever came of it: child->status. An exit status, after a
 * message, when it did not.
 */
int labelled_run(const struct ctl_request *request, char *const *command, struct child *child);

/* Have all that ran until now written. An exit status, after a message if it is not 0. */
int labelled_flush(const struct ctl_request *request);

#endif
