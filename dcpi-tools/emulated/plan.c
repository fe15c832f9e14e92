#include "dcpi-tools/emulated/plan.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"

#define OWN_EMULATORS "/usr/lib/dcpi/qemu" /* of the package dcpi-qemu */

#define KNOWN "x86-64, arm64 and riscv64"

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
refuse(const char *path, const char *sentence)
{
	message_print(path, "%s", sentence);
	return STATUS_FAILURE;
}

static int
refuse_kind(const struct plan *plan, const struct run_request *request)
{
	message_print(plan->path, "it is no 64-bit ELF program of this byte order, and no script; %s " KNOWN "%s%s%s",
	              request->does, request->instead ? " (" : "", request->instead ? request->instead : "",
	              request->instead ? ")" : "");
	return STATUS_FAILURE;
}

static int
check_program(struct plan *plan, const struct run_request *request)
{
	program_examine(plan->path, &plan->program);
	plan->interpreter = plan->program;
	if (plan->program.kind == PROGRAM_SCRIPT)
		program_examine(plan->program.interpreter, &plan->interpreter);
	switch (plan->interpreter.kind) {
	case PROGRAM_NONE:
		if (plan->program.kind == PROGRAM_SCRIPT)
			return message_cannot(plan->program.interpreter, "run it, the script's interpreter",
			                      errno ? -errno : -ENOEXEC, NULL);
		return message_cannot(plan->path, "run it", errno ? -errno : -ENOEXEC, NULL);
	case PROGRAM_PRIVILEGED:
		message_print(plan->path,
		              "it gets privileges when it is started, or may not be read: nobody may look into it; "
		              "run %s as the user that it becomes",
		              program_invocation_short_name);
		return STATUS_FAILURE;
	case PROGRAM_SCRIPT:
		return refuse(plan->path, "its interpreter is a script, too; name the program that runs it");
	case PROGRAM_OTHER:
		return refuse_kind(plan, request);
	case PROGRAM_ELF:
		break;
	}
	plan->target = target_of(plan->interpreter.machine);
	if (plan->target)
		return STATUS_OK;
	message_print(plan->path, "it is for a processor that is not known here; %s " KNOWN, request->does);
	return STATUS_FAILURE;
}

/* An emulator that loads plugins exports the functions that they call. What is no ELF file, and may start one, is
 * believed. */
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
		return true; /* then it is seen when it runs */
	is_without = memcmp(bytes, ELFMAG, SELFMAG) == 0 &&
	             !memmem(bytes, (size_t)status.st_size, exported, sizeof(exported));
	munmap(bytes, (size_t)status.st_size);
	return !is_without;
}

static int
find_emulator(struct plan *plan)
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
find_prefix(struct plan *plan, const char *wanted)
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

int
plan_make(struct plan *plan, const struct run_request *request)
{
	int err, status;

	memset(plan, 0, sizeof(*plan));
	err = program_search(request->command[0], plan->path);
	status = err ? message_cannot(request->command[0], "run it", err, NULL) : check_program(plan, request);
	if (!status)
		status = find_emulator(plan);
	if (status)
		return status;
	find_prefix(plan, request->prefix);
	plan->cpu = request->cpu;
	/* As the processor here would: what libraries choose by it must be what they choose without the emulator. */
	if (!plan->cpu && strcmp(plan->target, "x86_64") == 0 && !getenv("QEMU_CPU"))
		plan->cpu = "max";
	return STATUS_OK;
}
