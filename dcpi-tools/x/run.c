#include "dcpi-tools/x/run.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/x/installed.h"
#include "emulator/program.h"

#define PLUGIN_NAME "dcpi-counts.so"
#define FREE_MIN    (UINT64_C(64) << 20) /* bytes that counts may take; a full disk would be a fault */

/* What must be known before the emulator is started. */
struct plan {
	char path[PATH_MAX];
	struct program program;     /* what is to run */
	struct program interpreter; /* the ELF file that it runs in: itself, or a script's interpreter */
	const char *target;         /* "x86_64" */
	char plugin[PATH_MAX + 128];
	char prefix[64];
};

static const char *
target_of(uint16_t machine)
{
	return machine == EM_X86_64 ? "x86_64" : machine == EM_AARCH64 ? "aarch64" : NULL;
}

static int
refuse(const char *path, const char *sentence)
{
	message_print(path, "%s", sentence);
	return STATUS_FAILURE;
}

static int
check_program(struct plan *plan)
{
	const struct program *program = &plan->interpreter;

	program_examine(plan->path, &plan->program);
	plan->interpreter = plan->program;
	if (plan->program.kind == PROGRAM_SCRIPT)
		program_examine(plan->program.interpreter, &plan->interpreter);
	switch (program->kind) {
	case PROGRAM_NONE:
		return message_cannot(plan->path, "run it", errno ? -errno : -ENOEXEC, NULL);
	case PROGRAM_PRIVILEGED:
		return refuse(plan->path,
		              "it gets privileges when it is started, or may not be read: nobody may look into "
		              "it; run dcpix as the user that it becomes");
	case PROGRAM_SCRIPT:
		return refuse(plan->path, "its interpreter is a script, too; name the program that runs it");
	case PROGRAM_OTHER:
		return refuse(plan->path, "it is no 64-bit ELF program of this byte order, and no script; dcpix counts "
		                          "x86-64 and arm64 (dcpix --bursts counts any that runs natively)");
	case PROGRAM_ELF:
		break;
	}
	plan->target = target_of(program->machine);
	return plan->target ? STATUS_OK
	                    : refuse(plan->path,
	                             "it is for a processor that dcpix does not know; it counts x86-64 and arm64");
}

static int
find_emulator(const struct plan *plan, char emulator[PATH_MAX])
{
	char name[64];

	snprintf(name, sizeof(name), "qemu-%s", plan->target);
	if (program_search(name, emulator) == 0)
		return STATUS_OK;
	message_print(name, "the emulator that counts is not installed: apt install qemu-user");
	return STATUS_FAILURE;
}

/* A directory that only we read. Processes that become other users make their files in it, too. */
static int
make_directory(struct run *run)
{
	const char *parent = getenv("TMPDIR");
	struct statvfs statvfs_of;

	if (!parent || parent[0] != '/' || strchr(parent, ',')) /* which the emulator would cut at */
		parent = "/tmp";
	if (snprintf(run->directory, sizeof(run->directory) - 64, "%s/dcpix.XXXXXX", parent) >=
	            (int)sizeof(run->directory) - 64 ||
	    !mkdtemp(run->directory)) {
		run->directory[0] = '\0';
		return message_cannot(parent, "make a directory for the counts", -errno, "TMPDIR names another place");
	}
	if (geteuid() == 0 && chmod(run->directory, 01733) < 0)
		return message_cannot(run->directory, "open it to all users", -errno, NULL);
	if (statvfs(run->directory, &statvfs_of) == 0 && (uint64_t)statvfs_of.f_bavail * statvfs_of.f_frsize < FREE_MIN)
		return message_cannot(parent, "keep counts there", -ENOSPC, "TMPDIR names another place");
	return STATUS_OK;
}

static int
link_plugin(const struct run *run)
{
	char place[PATH_MAX + sizeof(PLUGIN_NAME) + 1], plugin[PATH_MAX];
	int err = installed_find(PLUGIN_NAME, plugin);

	if (err)
		return message_cannot(plugin, "find the plugin", err, "is dcpi installed whole?");
	snprintf(place, sizeof(place), "%s/" PLUGIN_NAME, run->directory);
	if (symlink(plugin, place) < 0)
		return message_cannot(place, "make a link", -errno, NULL);
	return STATUS_OK;
}

/* Programs of another architecture have their libraries below a directory of its own. */
static void
find_prefix(struct plan *plan)
{
	char linker[64 + PROGRAM_LINE_SIZE];

	plan->prefix[0] = '\0';
	if (!plan->interpreter.interpreter[0] || access(plan->interpreter.interpreter, F_OK) == 0)
		return;
	snprintf(plan->prefix, sizeof(plan->prefix), "/usr/%s-linux-gnu", plan->target);
	snprintf(linker, sizeof(linker), "%s%s", plan->prefix, plan->interpreter.interpreter);
	if (access(linker, F_OK) < 0)
		plan->prefix[0] = '\0';
}

static const char **
make_command(const struct run *run, struct plan *plan, char *const *command, char *plugin, size_t size)
{
	/* As the processor here would: what libraries choose by it must be what they choose without the emulator. */
	const bool is_max = strcmp(plan->target, "x86_64") == 0 && !getenv("QEMU_CPU");
	struct emulation emulation = {
		.emulator = run->emulator,
		.plugin = plan->plugin,
		.cpu = is_max ? "max" : NULL,
	};

	find_prefix(plan);
	if (plan->prefix[0])
		emulation.prefix = plan->prefix;
	snprintf(plan->plugin, sizeof(plan->plugin), "%s/" PLUGIN_NAME "%s%s%s", run->directory,
	         is_max ? ",cpu=max" : "", plan->prefix[0] ? ",prefix=" : "", plan->prefix);
	return program_command(&emulation, plan->path, &plan->program, (const char *const *)command, plugin, size);
}

static int
start_and_wait(struct run *run, const char **command)
{
	struct child child = {0};
	int err = child_run(&child, (char *const *)command);

	run->status = child.status;
	run->start_ns = child.start_ns;
	run->end_ns = child.end_ns;
	return err ? message_cannot(command[0], "run it", err, NULL) : STATUS_OK;
}

static int
run_plan(struct run *run, struct plan *plan, char *const *command)
{
	const size_t plugin_size = sizeof(plan->plugin) + 64;
	char *plugin = malloc(plugin_size);
	const char **arguments = NULL;
	int err, status;

	err = program_search(command[0], plan->path);
	status = err ? message_cannot(command[0], "run it", err, NULL) : check_program(plan);
	if (!status)
		status = find_emulator(plan, run->emulator);
	if (!status)
		status = make_directory(run);
	if (!status)
		status = link_plugin(run);
	if (!status && plugin)
		arguments = make_command(run, plan, command, plugin, plugin_size);
	if (!status && !arguments)
		status = message_cannot(command[0], "run it", -ENOMEM, NULL);
	if (!status)
		status = start_and_wait(run, arguments);
	free(arguments);
	free(plugin);
	return status;
}

int
run_program(struct run *run, char *const *command)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	int status;

	memset(run, 0, sizeof(*run));
	status = plan ? run_plan(run, plan, command) : message_cannot(command[0], "run it", -ENOMEM, NULL);
	free(plan);
	return status;
}

void
run_remove(const struct run *run)
{
	DIR *files = run->directory[0] ? opendir(run->directory) : NULL;
	const struct dirent *entry;

	while (files && (entry = readdir(files)))
		(void)unlinkat(dirfd(files), entry->d_name, 0);
	if (files)
		closedir(files);
	if (run->directory[0])
		(void)rmdir(run->directory);
}

int
run_exit_status(const struct run *run, int failed)
{
	return child_exit_status(run->status, failed);
}
