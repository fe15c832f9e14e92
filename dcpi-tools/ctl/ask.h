/*
 * ask.h - a command for dcpid, wherever it listens
 */
#ifndef DCPI_TOOLS_CTL_ASK_H
#define DCPI_TOOLS_CTL_ASK_H

#include <jansson.h>
#include <stddef.h>

#include "dcpi-tools/ctl/request.h"

/*
 * Send the command, to the socket that was named, else to the service's or to that in the database's directory; `path`
 * is where. 0 with *reply, the caller's, or what exchange() says.
 */
int ask_dcpid(const struct ctl_request *request, char *path, size_t size, json_t **reply);

/* Say why there was no answer, with what to do about it. The exit status. */
int ask_say_no_answer(const struct ctl_request *request, const char *path, int err);

#endif
