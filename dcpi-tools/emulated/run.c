#include "dcpi-tools/emulated/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/emulated/abandoned.h"
#include "dcpi-tools/emulated/plan.h"
#include "dcpi-tools/emulated/run_directory.h"

#define ELSEWHERE   "TMPDIR names another place"
#define FULL_BYTES  (UINT64_C(1) << 20) /* with less than that free, a disk is full */
#define PLUGIN_SIZE (2 * PATH_MAX + 256)

static uint64_t
free_bytes(const char *directory)
{
	struct statvfs statvfs_of;

	return statvfs(directory, &statvfs_of) == 0 ? (uint64_t)statvfs_of.f_bavail * statvfs_of.f_frsize : UINT64_MAX;
}

/* One spelling for one place: emulators are known by it. */
static void
find_parent(char parent[PATH_MAX])
{
	const char *named = getenv("TMPDIR");

	if (!named || named[0] != '/')
		named = "/tmp";
	if (!realpath(named, parent))
		snprintf(parent, PATH_MAX, "%s", named);
	if (strchr(parent, ',')) /* which the emulator would cut at */
		snprintf(parent, PATH_MAX, "/tmp");
}

/* Processes that become other users make their files in it, too. */
static int
make_directory(struct emulated_run *run, uint64_t room_bytes)
{
	const char *name = program_invocation_short_name;
	char parent[PATH_MAX];
	int err;

	find_parent(parent);
	run_directory_clean(parent, name);
	err = run_directory_make(parent, name, run->directory, sizeof(run->directory) - 64, &run->lock);
	if (err) {
		run->directory[0] = '\0';
		return message_cannot(parent, "make a directory for the counts", err, ELSEWHERE);
	}
	if (geteuid() == 0 && chmod(run->directory, 01733) < 0)
		return message_cannot(run->directory, "open it to all users", -errno, NULL);
	if (free_bytes(run->directory) < room_bytes)
		return message_cannot(parent, "keep counts there", -ENOSPC, ELSEWHERE);
	err = keeper_start(&run->keeper, run->directory, run->lock);
	return err ? message_cannot(NULL, "start a process", err, NULL) : STATUS_OK;
}

static int
link_plugin(const struct emulated_run *run, const char *name)
{
	char place[PATH_MAX + NAME_MAX + 2], plugin[PATH_MAX];
	int err = child_find_installed(name, plugin);

	if (err)
		return message_cannot(plugin, "find the plugin", err, "is dcpi installed whole?");
	snprintf(place, sizeof(place), "%s/%s", run->directory, name);
	if (symlink(plugin, place) < 0)
		return message_cannot(place, "make a link", -errno, NULL);
	return STATUS_OK;
}

/* What begins must know. */
struct emulated_beginning {
	const struct run_request *request;
	pid_t tool;
};

/*
 * It ends with us, also when the keeper was killed, too; its children do not, for that is forgotten by them. A run with
 * a seed is to find its memory at the same addresses each time (program.h), none of them random; where personality(2)
 * is not allowed, runs differ a little under QEMU 10.0.
 */
static int
begin(void *context)
{
	const struct emulated_beginning *beginning = context;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != beginning->tool)
		return STATUS_FAILURE;
	if (beginning->request->seed) {
		const char **environment = program_environment((const char *const *)environ);

		if (!environment)
			return STATUS_FAILURE;
		environ = (char **)environment;
		(void)personality(ADDR_NO_RANDOMIZE);
	}
	return beginning->request->begin ? beginning->request->begin(beginning->request->context) : STATUS_OK;
}

static int
start_and_wait(struct emulated_run *run, const struct run_request *request, const char **command)
{
	struct emulated_beginning beginning = {.request = request, .tool = getpid()};
	struct child child = {
		.begin = begin,
		.begin_context = &beginning,
		.tick = request->tick,
		.tick_context = request->context,
		.is_quiet = request->is_quiet,
		.mask = request->mask,
	};
	int err = child_run(&child, (char *const *)command);

	run->status = child.status;
	run->asked = child.asked;
	run->start_ns = child.start_ns;
	run->end_ns = child.end_ns;
	run->disk_filled =
		WIFSIGNALED(run->status) && WTERMSIG(run->status) == SIGBUS && free_bytes(run->directory) < FULL_BYTES;
	return err < 0 ? message_cannot(command[0], "run it", err, NULL) : err;
}

static int
run_plan(struct emulated_run *run, const struct plan *plan, const struct run_request *request)
{
	struct {
		char path[PLUGIN_SIZE], plugin[PLUGIN_SIZE], named[PLUGIN_SIZE];
	} *texts = calloc(1, sizeof(*texts));
	const struct emulation emulation = {
		.emulator = run->emulator,
		.plugin = texts ? texts->plugin : "",
		.cpu = plan->cpu,
		.prefix = plan->prefix[0] ? plan->prefix : NULL,
		.seed = request->seed,
	};
	const char **command = NULL;
	int status;

	if (texts) {
		snprintf(texts->path, sizeof(texts->path), "%s/%s", run->directory, request->plugin);
		program_plugin(&emulation, texts->path, texts->plugin, sizeof(texts->plugin));
		command = program_command(&emulation, plan->path, &plan->program, (const char *const *)request->command,
		                          (const char *const *)environ, texts->named, sizeof(texts->named));
	}
	status = command ? start_and_wait(run, request, command)
	                 : message_cannot(request->command[0], "run it", -ENOMEM, NULL);
	free(command);
	free(texts);
	return status;
}

int
run_program(struct emulated_run *run, const struct run_request *request)
{
	struct plan *plan = malloc(sizeof(*plan));
	int status;

	memset(run, 0, sizeof(*run));
	status = plan ? plan_make(plan, request) : message_cannot(request->command[0], "run it", -ENOMEM, NULL);
	if (!status)
		snprintf(run->emulator, sizeof(run->emulator), "%s", plan->emulator);
	if (!status)
		status = make_directory(run, request->room_bytes);
	if (!status)
		status = link_plugin(run, request->plugin);
	if (!status && request->prepare)
		status = request->prepare(request->context, run->directory);
	if (!status)
		status = run_plan(run, plan, request);
	free(plan);
	return status;
}

void
run_remove(struct emulated_run *run)
{
	if (!run->directory[0])
		return;
	abandoned_remove(run->directory);
	run->directory[0] = '\0';
	keeper_dismiss(&run->keeper);
	close(run->lock);
}

double
run_seconds(const struct emulated_run *run)
{
	return run->end_ns > run->start_ns ? (double)(run->end_ns - run->start_ns) / 1e9 : 0;
}

int
run_exit_status(const struct emulated_run *run, int failed)
{
	return child_exit_status(run->status, failed);
}
