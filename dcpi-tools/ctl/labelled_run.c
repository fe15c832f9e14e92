#include "dcpi-tools/ctl/labelled_run.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/ctl/client.h"
#include "dcpi-tools/ctl/remote.h"

#define RESTART_TRIES 50 /* for a dcpid that is started anew, each after: */
#define RESTART_STEP  UINT64_C(100000000)

static bool
is_not_running(int err)
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

	while ((err = client_ask(request, path, sizeof(path), &reply)) && is_not_running(err) && --tries)
		nanosleep(&step, NULL);
	if (err)
		return client_print_no_answer(request, path, err);
	status = remote_print_reply(request, path, reply);
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

/* dcpid may have been restarted while the program ran, and may still be starting. */
int
labelled_flush(const struct ctl_request *request)
{
	struct ctl_request flush = *request;

	flush.command = "flush";
	flush.label = NULL;
	return ask(&flush, RESTART_TRIES);
}

int
ctl_label(const struct ctl_request *request)
{
	struct child child = {0};
	int status;

	if (!request->program)
		return ctl_remote(request);
	status = labelled_run(request, request->program, &child);
	return status ? status : child_exit_status(child.status, labelled_flush(request));
}
