/*
 * remote.h - commands of dcpictl that a running dcpid executes, and programs that run in step with it
 *
 * Thread rule: one thread; labelled_run() as child.h.
 */
#ifndef DCPI_TOOLS_CTL_REMOTE_H
#define DCPI_TOOLS_CTL_REMOTE_H

#include <jansson.h>
#include <stddef.h>

#include "dcpi-tools/common/child.h"
#include "dcpi-tools/ctl/commands.h"

#define CLIENT_SECONDS         60 /* that dcpid may take for most: it answers when the work is done */
#define CLIENT_COMPACT_SECONDS 3600

/*
 * Send the command, to the socket that was named, else to the service's or to that in the database's directory; `path`
 * becomes that socket. 0 with *reply, the caller's, or an error of control_exchange().
 */
int remote_ask(const struct ctl_request *request, char *path, size_t size, json_t **reply);

/*
 * A program as a process tree with a label: the new process itself asks dcpid for the label, with the user's
 * credentials, and executes the program when it has the answer: the label begins with that exec. What the program did
 * is in the database when the run is over.
 */

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
