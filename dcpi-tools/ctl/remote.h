/*
 * remote.h - commands of dcpictl that a running dcpid executes, and programs that run under a label
 *
 * Thread rule: one thread; remote_run_labelled(): that of child.h.
 */
#ifndef DCPI_TOOLS_CTL_REMOTE_H
#define DCPI_TOOLS_CTL_REMOTE_H

#include <jansson.h>
#include <stddef.h>

#include "dcpi-tools/common/child.h"
#include "dcpi-tools/ctl/commands.h"

#define CLIENT_SECONDS         60 /* that dcpid may take for most commands: it replies when the work is done */
#define CLIENT_COMPACT_SECONDS 3600

/*
 * Send the command to the socket of the request; without one, to the service's, or to the one in the database's
 * directory. `path` becomes the path of the socket. 0 with *reply, which the caller frees, or an error of
 * control_exchange().
 */
int remote_ask(const struct ctl_request *request, char *path, size_t size, json_t **reply);

/*
 * Run a program as a process tree with a label. The new process itself requests the label from dcpid, with the user's
 * credentials, and executes the program after the reply: the label begins with that exec. When the run is over, the
 * program's samples are in the database.
 */

/* Exit statuses if the program was not executed, like those of env(1) and shells. */
#define LABELLED_FAILED    125 /* no label */
#define LABELLED_REFUSED   126 /* it cannot be executed */
#define LABELLED_NOT_FOUND 127

/*
 * Run `command` under request->label. 0 when it ran, with its result in child->status. An exit status, after a message,
 * when it did not run.
 */
int remote_run_labelled(const struct ctl_request *request, char *const *command, struct child *child);

/* Make dcpid write all samples until now. An exit status, after a message if it is not 0. */
int remote_flush_labelled(const struct ctl_request *request);

#endif
