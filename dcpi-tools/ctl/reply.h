/*
 * reply.h - what dcpid answered, shown
 */
#ifndef DCPI_TOOLS_CTL_REPLY_H
#define DCPI_TOOLS_CTL_REPLY_H

#include <jansson.h>

#include "dcpi-tools/ctl/request.h"

/* Both return the exit status. `path` is the socket, for messages. */
int reply_show(const struct ctl_request *request, const char *path, json_t *reply);

/* `status` is NULL when no dcpid runs: that it is down is an answer, too. */
int reply_show_metrics(const struct ctl_request *request, const json_t *status);

#endif
