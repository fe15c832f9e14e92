#include "dcpi-tools/emulated/run.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "code/decoder.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/temporary_directory.h"
#include "dcpi-tools/emulated/run_directory.h"
#include "emulator/program.h"

#define OWN_EMULATORS "/usr/lib/dcpi/qemu" /* of the package dcpi-qemu */
#define KNOWN         "x86-64, arm64 and riscv64"
#define ELSEWHERE     "TMPDIR names another place"
#define FULL_BYTES    (UINT64_C(1) << 20) /* with less than that free, a disk is full */
#define PLUGIN_SIZE   (2 * PATH_MAX + 256)

/* What must be known of a program before it is started under an emulator. */
struct run_plan {
	char path[PATH_MAX];
	struct program program;     /* what is to run */
	struct program interpreter; /* the ELF file that it runs in: itself, or a script's interpreter */
	const char *target;         /* "x86_64" */
	char emulator[PATH_MAX];
	char prefix[PATH_MAX]; /* ""; the root */
	const char *cpu;       /* NULL: the emulator's choice, or $QEMU_CPU */
};

static const char *
target_of(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return "x86_64";
	case EM_AARCH64:
		return "aarch64";
	case EM_RISCV:
		return "riscv64";
	default:
		return NULL;
	}
}

static int
check_program(struct run_plan *plan, const struct run_request *request)
{
	enum architecture architecture;
	const char *trouble;
	int err;

	program_examine(plan->path, &plan->program);
	plan->interpreter = plan->program;
	if (plan->program.kind == PROGRAM_SCRIPT)
		program_examine(plan->program.interpreter, &plan->interpreter);
	switch (plan->interpreter.kind) {
	case PROGRAM_NONE:
		err = errno ? -errno : -ENOEXEC;
		return plan->program.kind == PROGRAM_SCRIPT
		               ? message_cannot(plan->program.interpreter, "run it, the script's interpreter", err,
		                                NULL)
		               : message_cannot(plan->path, "run it", err, NULL);
	case PROGRAM_PRIVILEGED:
		message_print(plan->path,
		              "it gets privileges when it is started, or may not be read: nobody may look into it; "
		              "run %s as the user that it becomes",
		              program_invocation_short_name);
		return STATUS_FAILURE;
	case PROGRAM_SCRIPT:
		message_print(plan->path, "its interpreter is a script, too; name the program that runs it");
		return STATUS_FAILURE;
	case PROGRAM_OTHER:
		message_print(plan->path,
		              "it is no 64-bit ELF program of this byte order, and no script; %s " KNOWN "%s%s%s",
		              request->does, request->instead ? " (" : "", request->instead ? request->instead : "",
		              request->instead ? ")" : "");
		return STATUS_FAILURE;
	case PROGRAM_ELF:
		break;
	}
	plan->target = target_of(plan->interpreter.machine);
	trouble = architecture_of_machine(plan->interpreter.machine, &architecture) == 0
	                  ? architecture_trouble(architecture)
	                  : NULL;
	if (trouble) {
		message_print(plan->path, "%s", trouble);
		return STATUS_FAILURE;
	}
	if (plan->target)
		return STATUS_OK;
	message_print(plan->path, "it is for a processor that is not known here; %s " KNOWN, request->does);
	return STATUS_FAILURE;
}

/*
 * An emulator that loads plugins exports the functions that they call. A file that is not ELF may be a script that
 * starts one: it is taken for one that does.
 */
static bool
loads_plugins(const char *emulator)
{
	static const char exported[] = "qemu_plugin_register_vcpu_tb_exec_cb";
	const int fd = open(emulator, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *bytes = MAP_FAILED;
	bool is_without;

	if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > SELFMAG)
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (bytes == MAP_FAILED)
		return true; /* if it loads none, its run will say so */
	is_without = memcmp(bytes, ELFMAG, SELFMAG) == 0 &&
	             !memmem(bytes, (size_t)status.st_size, exported, sizeof(exported));
	munmap(bytes, (size_t)status.st_size);
	return !is_without;
}

static int
find_emulator(struct run_plan *plan)
{
	const char *own = getenv("DCPI_QEMU");
	char name[64];

	snprintf(name, sizeof(name), "qemu-%s", plan->target);
	snprintf(plan->emulator, sizeof(plan->emulator), "%s/%s", own ? own : OWN_EMULATORS, name);
	if (access(plan->emulator, X_OK) == 0)
		return STATUS_OK;
	if (program_search(name, plan->emulator) < 0) {
		message_print(
			name,
			"the emulator that runs the program is not installed: apt install qemu-user (of Debian 13: "
			"package dcpi-qemu, which scripts/qemu makes)");
		return STATUS_FAILURE;
	}
	if (loads_plugins(plan->emulator))
		return STATUS_OK;
	message_print(plan->emulator,
	              "this emulator was built without plugins, as Debian 13's are: install the package "
	              "dcpi-qemu, which scripts/qemu makes of Debian's own source of QEMU");
	return STATUS_FAILURE;
}

/* Programs of another architecture have their libraries below a directory of its own. */
static void
find_prefix(struct run_plan *plan, const char *wanted)
{
	char linker[PATH_MAX + PROGRAM_LINE_SIZE];

	plan->prefix[0] = '\0';
	if (wanted)
		snprintf(plan->prefix, sizeof(plan->prefix), "%s", wanted);
	if (wanted || !plan->interpreter.interpreter[0] || access(plan->interpreter.interpreter, F_OK) == 0)
		return;
	snprintf(plan->prefix, sizeof(plan->prefix), "/usr/%s-linux-gnu", plan->target);
	snprintf(linker, sizeof(linker), "%s%s", plan->prefix, plan->interpreter.interpreter);
	if (access(linker, F_OK) < 0)
		plan->prefix[0] = '\0';
}

static int
make_plan(struct run_plan *plan, const struct run_request *request)
{
	int err, status;

	memset(plan, 0, sizeof(*plan));
	err = program_search(request->command[0], plan->path);
	if (err)
		return message_cannot(request->command[0], "run it", err, NULL);
	status = check_program(plan, request);
	if (!status)
		status = find_emulator(plan);
	if (status)
		return status;
	find_prefix(plan, request->prefix);
	plan->cpu = request->cpu;
	/* Libraries choose code by the processor's features: they must choose as they do without the emulator. */
	if (!plan->cpu && strcmp(plan->target, "x86_64") == 0 && !getenv("QEMU_CPU"))
		plan->cpu = "max";
	return STATUS_OK;
}

static uint64_t
free_bytes(const char *directory)
{
	struct statvfs statvfs_of;

	return statvfs(directory, &statvfs_of) == 0 ? (uint64_t)statvfs_of.f_bavail * statvfs_of.f_frsize : UINT64_MAX;
}

static int
make_directory(struct emulated_run *run, uint64_t room_bytes)
{
	const char *name = program_invocation_short_name;
	const char *named = temporary_directory_parent("/tmp");
	char parent[PATH_MAX];
	int err;

	/* without symbolic links: run_directory_end_stale() finds emulators by comparing this text */
	if (!realpath(named, parent))
		snprintf(parent, PATH_MAX, "%s", named);
	if (strchr(parent, ',')) /* the emulator ends a plugin option there */
		snprintf(parent, PATH_MAX, "/tmp");
	run_directory_clean(parent, name);
	err = run_directory_make(parent, name, run->directory, sizeof(run->directory) - 64, &run->lock);
	if (err) {
		run->directory[0] = '\0';
		return message_cannot(parent, "make a directory for the counts", err, ELSEWHERE);
	}
	err = run_directory_share(run->directory);
	if (err)
		return err;
	if (free_bytes(run->directory) < room_bytes)
		return message_cannot(parent, "keep counts there", -ENOSPC, ELSEWHERE);
	err = run_reaper_start(&run->reaper, run->directory, run->lock);
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

/* For begin(), in the child. */
struct emulated_beginning {
	const struct run_request *request;
	pid_t tool;
};

/*
 * The program gets SIGKILL when the tool ends, even if the reaper was killed; its children do not, since fork(2) clears
 * the setting. A run with a seed must find its memory at equal addresses each time (program.h), none of them random;
 * where personality(2) is not allowed, runs differ a little under QEMU 10.0.
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
		.tick_ns = request->tick_ns,
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
start_emulator(struct emulated_run *run, const struct run_plan *plan, const struct run_request *request)
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
	struct run_plan *plan = malloc(sizeof(*plan));
	int status;

	memset(run, 0, sizeof(*run));
	status = plan ? make_plan(plan, request) : message_cannot(request->command[0], "run it", -ENOMEM, NULL);
	if (status)
		goto out;
	snprintf(run->emulator, sizeof(run->emulator), "%s", plan->emulator);
	status = make_directory(run, request->room_bytes);
	if (status)
		goto out;
	status = link_plugin(run, request->plugin);
	if (status)
		goto out;
	if (request->prepare)
		status = request->prepare(request->context, run->directory);
	if (status)
		goto out;
	status = start_emulator(run, plan, request);
out:
	free(plan);
	return status;
}

void
run_remove(struct emulated_run *run)
{
	if (!run->directory[0])
		return;
	temporary_directory_remove(run->directory);
	run->directory[0] = '\0';
	run_reaper_dismiss(&run->reaper);
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
