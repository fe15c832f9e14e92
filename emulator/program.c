#include "emulator/program.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define TUNABLES        "GLIBC_TUNABLES"
#define FIXED_ARGUMENTS 18 /* of the emulator's own, and an interpreter's */

static bool
is_privileged(int fd, const struct stat *status)
{
	if (status->st_mode & S_ISUID && status->st_uid != geteuid())
		return true;
	if ((status->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status->st_gid != getegid())
		return true;
	return geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static void
copy_word(const char *from, size_t length, char to[PROGRAM_LINE_SIZE])
{
	if (length >= PROGRAM_LINE_SIZE)
		length = PROGRAM_LINE_SIZE - 1;
	memcpy(to, from, length);
	to[length] = '\0';
}

/* "#! /bin/sh -e": an interpreter, and all that follows as one argument, without the blanks around it. */
static bool
read_script(const char *line, struct program *program)
{
	const char *word = line + 2 + strspn(line + 2, " \t");
	size_t end = strcspn(word, "\n"), length = strcspn(word, " \t\n");
	const char *rest = word + length + strspn(word + length, " \t");

	if (length == 0)
		return false;
	copy_word(word, length, program->interpreter);
	while (end > 0 && strchr(" \t", word[end - 1]))
		end--;
	if (rest < word + end)
		copy_word(rest, (size_t)(word + end - rest), program->argument);
	program->kind = PROGRAM_SCRIPT;
	return true;
}

static void
read_interpreter(int fd, const Elf64_Ehdr *header, struct program *program)
{
	for (unsigned i = 0; i < header->e_phnum; i++) {
		const uint64_t offset = header->e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr segment;

		if (offset > INT64_MAX || pread(fd, &segment, sizeof(segment), (off_t)offset) != sizeof(segment))
			return;
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_offset > INT64_MAX || segment.p_filesz >= sizeof(program->interpreter) ||
		    pread(fd, program->interpreter, segment.p_filesz, (off_t)segment.p_offset) < 0)
			program->interpreter[0] = '\0';
		return;
	}
}

static void
read_kind(int fd, struct program *program)
{
	static const uint8_t order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	char line[PROGRAM_LINE_SIZE] = "";
	ssize_t size = pread(fd, line, sizeof(line) - 1, 0);
	Elf64_Ehdr header;

	program->kind = PROGRAM_OTHER;
	if (size > 2 && line[0] == '#' && line[1] == '!' && read_script(line, program))
		return;
	if (size < (ssize_t)sizeof(header))
		return;
	memcpy(&header, line, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != order)
		return;
	program->kind = PROGRAM_ELF;
	program->machine = header.e_machine;
	if (header.e_phentsize == sizeof(Elf64_Phdr))
		read_interpreter(fd, &header, program);
}

void
program_examine(const char *path, struct program *program)
{
	struct stat status;
	int fd;

	memset(program, 0, sizeof(*program));
	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		/* that may be executed, and not be read: not by an emulator */
		program->kind = errno == EACCES ? PROGRAM_PRIVILEGED : PROGRAM_NONE;
		return;
	}
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		errno = EACCES;
	else if (is_privileged(fd, &status))
		program->kind = PROGRAM_PRIVILEGED;
	else
		read_kind(fd, program);
	close(fd);
}

static bool
is_executable_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

int
program_search(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("PATH"), *at;
	size_t length;

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX ? 0 : -ENAMETOOLONG;
	for (at = list ? list : "/bin:/usr/bin"; name[0]; at += length + 1) {
		length = strcspn(at, ":");
		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, at, length ? "/" : "", name) < PATH_MAX &&
		    is_executable_file(path))
			return 0;
		if (!at[length])
			break;
	}
	return -ENOENT;
}

void
program_plugin(const struct emulation *emulation, const char *path, char *plugin, size_t size)
{
	const char *cpu = emulation->cpu, *prefix = emulation->prefix, *seed = emulation->seed;

	snprintf(plugin, size, "%s%s%s%s%s%s%s", path, cpu ? ",cpu=" : "", cpu ? cpu : "", prefix ? ",prefix=" : "",
	         prefix ? prefix : "", seed ? ",seed=" : "", seed ? seed : "");
}

/* The name that the kernel gives the process: the file's, also when it is a script. In hexadecimal, for -plugin splits
 * at commas. */
static void
name_plugin(const struct emulation *emulation, const char *path, char *plugin, size_t size)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int length = snprintf(plugin, size, "%s,comm=", emulation->plugin);

	for (size_t i = 0; i < COMM_SIZE - 1 && name[i] && length > 0 && (size_t)length < size; i++)
		length += snprintf(plugin + length, size - (size_t)length, "%02x", (unsigned char)name[i]);
}

static bool
has_tunables(const char *const *environment)
{
	while (environment && *environment)
		if (strncmp(*environment++, PROGRAM_TUNABLES, strlen(TUNABLES "=")) == 0)
			return true;
	return false;
}

const char **
program_environment(const char *const *environment)
{
	size_t count = 0;
	const char **added;

	while (environment && environment[count])
		count++;
	added = calloc(count + 2, sizeof(*added));
	if (!added)
		return NULL;
	if (count)
		memcpy(added, environment, count * sizeof(*added));
	if (!has_tunables(environment))
		added[count] = PROGRAM_TUNABLES;
	return added;
}

const char **
program_command(const struct emulation *emulation, const char *path, const struct program *program,
                const char *const *arguments, const char *const *environment, char *plugin, size_t size)
{
	size_t given = 0, n = 0;
	const char **command;

	while (arguments && arguments[given])
		given++;
	command = calloc(given + FIXED_ARGUMENTS, sizeof(*command));
	if (!command)
		return NULL;
	name_plugin(emulation, path, plugin, size);
	command[n++] = emulation->emulator;
	command[n++] = "-plugin";
	command[n++] = plugin;
	if (emulation->cpu) {
		command[n++] = "-cpu";
		command[n++] = emulation->cpu;
	}
	if (emulation->prefix) {
		command[n++] = "-L";
		command[n++] = emulation->prefix;
	}
	if (emulation->seed) {
		command[n++] = "-seed";
		command[n++] = emulation->seed;
		if (!has_tunables(environment)) {
			command[n++] = "-U";
			command[n++] = TUNABLES;
		}
	}
	command[n++] = "-0";
	if (program->kind == PROGRAM_SCRIPT) {
		command[n++] = program->interpreter;
		command[n++] = program->interpreter;
		if (program->argument[0])
			command[n++] = program->argument;
	} else {
		command[n++] = given ? arguments[0] : "";
	}
	command[n++] = path;
	for (size_t i = 1; i < given; i++)
		command[n++] = arguments[i];
	return command;
}

/* ---- the arguments that the emulator gave a plugin ---- */

static void
read_comm(const char *digits, char comm[COMM_SIZE])
{
	unsigned byte;
	size_t i = 0;

	for (; i < COMM_SIZE - 1 && sscanf(digits + 2 * i, "%2x", &byte) == 1; i++) {
		comm[i] = (char)byte;
		if (!digits[2 * i + 1] || !digits[2 * i + 2]) {
			i++;
			break;
		}
	}
	comm[i] = '\0';
}

static void
read_option(struct plugin_args *args, const char *option)
{
	if (strncmp(option, "comm=", 5) == 0)
		read_comm(option + 5, args->comm);
	else if (strncmp(option, "cpu=", 4) == 0)
		snprintf(args->cpu, sizeof(args->cpu), "%s", option + 4);
	else if (strncmp(option, "prefix=", 7) == 0)
		snprintf(args->prefix, sizeof(args->prefix), "%s", option + 7);
	else if (strncmp(option, "seed=", 5) == 0)
		snprintf(args->seed, sizeof(args->seed), "%s", option + 5);
}

int
plugin_args_read(struct plugin_args *args, int argc, char **argv, const void *self)
{
	ssize_t length;
	char *slash;
	Dl_info info;

	memset(args, 0, sizeof(*args));
	for (int i = 0; i < argc; i++)
		read_option(args, argv[i]);
	length = readlink("/proc/self/exe", args->emulator, sizeof(args->emulator) - 1);
	if (length <= 0)
		return -errno;
	args->emulator[length] = '\0';
	if (!dladdr(self, &info))
		return -ENOENT;
	snprintf(args->directory, sizeof(args->directory), "%s", info.dli_fname);
	args->emulation = (struct emulation){
		.emulator = args->emulator,
		.plugin = args->plugin,
		.cpu = args->cpu[0] ? args->cpu : NULL,
		.prefix = args->prefix[0] ? args->prefix : NULL,
		.seed = args->seed[0] ? args->seed : NULL,
	};
	program_plugin(&args->emulation, args->directory, args->plugin, sizeof(args->plugin));
	slash = strrchr(args->directory, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}
