#include "dcpi-tools/ctl/labelled_run.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/ctl/ask.h"
#include "dcpi-tools/ctl/reply.h"

#define RESTART_TRIES 50 /* for a dcpid that is started anew, each after: */
#define RESTART_STEP  UINT64_C(100000000)

static bool
is_nobody_there(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -ECONNRESET;
}

static int
ask(const struct ctl_request *request, unsigned tries)
{
	const struct timespec step = {.tv_nsec = RESTART_STEP};
	char path[PATH_MAX];
	json_t *reply;
	int status, err;

	while ((err = ask_dcpid(request, path, sizeof(path), &reply)) && is_nobody_there(err) && --tries)
		nanosleep(&step, NULL);
	if (err)
		return ask_say_no_answer(request, path, err);
	status = reply_show(request, path, reply);
	json_decref(reply);
	return status;
}

static int
ask_for_label(void *request)
{
	return ask(request, 1) ? LABELLED_FAILED : 0;
}

int
labelled_run(const struct ctl_request *request, char *const *command, struct child *child)
{
	struct ctl_request asking = *request;
	int err;

	asking.command = "label";
	asking.pid = 0;
	child->begin = ask_for_label;
	child->begin_context = &asking;
	err = child_run(child, command);
	child->begin_context = NULL;
	if (err >= 0)
		return err;
	(void)message_cannot(command[0], "run it", err, NULL);
	return err == -ENOENT ? LABELLED_NOT_FOUND : LABELLED_REFUSED;
}

/* The run may have outlived a dcpid. */
int
labelled_flush(const struct ctl_request *request)
{
	struct ctl_request flush = *request;

	flush.command = "flush";
	flush.label = NULL;
	return ask(&flush, RESTART_TRIES);
}
