#include "emulator/exec_follow.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLUGIN_SIZE (2 * PATH_MAX + 512)

const struct exec_follow_calls *
exec_follow_calls_of(const char *target)
{
	static const struct exec_follow_calls calls[] = {
		{"x86_64", EM_X86_64, 59, 322, 9, 11, 25, 56, 105, 113, 117},
		{"aarch64", EM_AARCH64, 221, 281, 222, 215, 216, 220, 146, 145, 147},
		{"riscv64", EM_RISCV, 221, 281, 222, 215, 216, 220, 146, 145, 147},
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].target, target) == 0)
			return &calls[i];
	return NULL;
}

static const void *
host_pointer(uint64_t address, uint64_t base)
{
	return address ? (const void *)(uintptr_t)(address + base) : NULL;
}

/* A guest's array of strings, as one of ours; both have pointers of 64 bits. NULL: no memory. */
static const char **
copy_strings(uint64_t address, uint64_t base)
{
	const uint64_t *guest = host_pointer(address, base);
	const char **strings;
	size_t count = 0;

	while (guest && guest[count])
		count++;
	strings = calloc(count + 1, sizeof(*strings));
	for (size_t i = 0; strings && i < count; i++)
		strings[i] = host_pointer(guest[i], base);
	return strings;
}

/*
 * The path that execveat() means; false when it has none. A descriptor may be closed by the exec, so that the emulator
 * could not use it.
 */
static bool
path_at(int directory, const char *path, int flags, char full[PATH_MAX])
{
	char link[64], base[PATH_MAX];
	struct stat named, open;
	ssize_t length;

	if (flags & ~AT_EMPTY_PATH)
		return false;
	if (path[0] == '/' || (path[0] && directory == AT_FDCWD))
		return snprintf(full, PATH_MAX, "%s", path) < PATH_MAX;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
	length = readlink(link, base, sizeof(base) - 1);
	if (length <= 0 || base[0] != '/')
		return false;
	base[length] = '\0';
	if (path[0])
		return snprintf(full, PATH_MAX, "%s/%s", base, path) < PATH_MAX;
	if (stat(base, &named) < 0 || fstat(directory, &open) < 0 || named.st_dev != open.st_dev ||
	    named.st_ino != open.st_ino)
		return false;
	return snprintf(full, PATH_MAX, "%s", base) < PATH_MAX;
}

static bool
can_follow(const struct exec_follow *follow, const struct program *program)
{
	struct program interpreter;

	if (program->kind == PROGRAM_ELF)
		return program->machine == follow->calls->machine;
	if (program->kind != PROGRAM_SCRIPT)
		return false;
	program_examine(program->interpreter, &interpreter);
	return interpreter.kind == PROGRAM_ELF && interpreter.machine == follow->calls->machine;
}

static void
execute(const struct exec_follow *follow, const char *path, const struct program *program, const char *const *arguments,
        const char *const *environment)
{
	char *plugin = malloc(PLUGIN_SIZE);
	const char **command = NULL, **added = NULL;

	if (plugin)
		command =
			program_command(&follow->emulation, path, program, arguments, environment, plugin, PLUGIN_SIZE);
	if (follow->emulation.seed)
		added = program_environment(environment);
	if (command && (added || !follow->emulation.seed))
		execve(command[0], (char *const *)command, (char *const *)(added ? added : environment));
	free(added);
	free(command);
	free(plugin);
}

static void
follow_path(const struct exec_follow *follow, const char *path, uint64_t argv, uint64_t envp, uint64_t base)
{
	const size_t length = strcspn(follow->emulation.plugin, ","); /* options follow */
	const char **arguments, **environment;
	struct program program;
	char plugin[PATH_MAX];

	program_examine(path, &program);
	if (program.kind == PROGRAM_NONE)
		return; /* the guest's own execve() fails with the reason */
	/* the tool may have ended and removed its plugin: programs that still run then execute without the emulator */
	if (!can_follow(follow, &program) ||
	    snprintf(plugin, sizeof(plugin), "%.*s", (int)length, follow->emulation.plugin) >= (int)sizeof(plugin) ||
	    access(plugin, R_OK) < 0) {
		follow->not_followed(follow->context);
		return;
	}
	arguments = copy_strings(argv, base);
	environment = copy_strings(envp, base);
	if (arguments && environment)
		execute(follow, path, &program, arguments, environment);
	free(arguments);
	free(environment);
}

void
exec_follow_call(const struct exec_follow *follow, int64_t number, const uint64_t arguments[5], uint64_t base)
{
	const char *path;
	char full[PATH_MAX];

	if (number == follow->calls->execve) {
		path = host_pointer(arguments[0], base);
		if (path)
			follow_path(follow, path, arguments[1], arguments[2], base);
		return;
	}
	if (number != follow->calls->execveat)
		return;
	path = host_pointer(arguments[1], base);
	if (!path)
		return;
	if (path_at((int)arguments[0], path, (int)arguments[4], full))
		follow_path(follow, full, arguments[2], arguments[3], base);
	else
		follow->not_followed(follow->context);
}
