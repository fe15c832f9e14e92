#include "profile/epoch_host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CPUINFO_SIZE 16384 /* bytes: the first processor's part is what is looked for */

/* The beginning of file `directory`/`name` in `text`, "" when it cannot be read. */
static void
read_beginning(const char *directory, const char *name, char *text, size_t size)
{
	char path[256];
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = TEMP_FAILURE_RETRY(read(fd, text, size - 1));
		close(fd);
	}
	text[got > 0 ? got : 0] = '\0';
}

/* The value of the first "key : value" line whose key is `key`; false when there is none. */
static bool
find_value(const char *cpuinfo, const char *key, char *value, size_t size)
{
	size_t length = strlen(key);

	for (const char *line = cpuinfo; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) == 0 && line[length + strspn(line + length, " \t")] == ':') {
			const char *start = strchr(line, ':') + 1;

			start += strspn(start, " \t");
			snprintf(value, size, "%.*s", (int)strcspn(start, "\n"), start);
			return true;
		}
	}
	return false;
}

static bool
has_flag(const char *cpuinfo, const char *flag)
{
	size_t length = strlen(flag);
	char *flags = malloc(CPUINFO_SIZE);
	bool found = false;

	if (flags && find_value(cpuinfo, "flags", flags, CPUINFO_SIZE))
		for (const char *at = flags; !found && *at; at += strcspn(at, " "), at += *at == ' ')
			found = strcspn(at, " ") == length && strncmp(at, flag, length) == 0;
	free(flags);
	return found;
}

/*
 * Add vendor, family and model of an x86: a hypervisor may shorten its name to "AMD EPYC", which does not
 * identify its pipeline. It may also give the numbers of another model; AMX shows Golden Cove or a later one.
 */
static void
append_family(const char *cpuinfo, char *name, size_t size)
{
	char vendor[16], family[8], model[8];
	size_t length = strlen(name);

	if (find_value(cpuinfo, "vendor_id", vendor, sizeof(vendor)) &&
	    find_value(cpuinfo, "cpu family", family, sizeof(family)) &&
	    find_value(cpuinfo, "model", model, sizeof(model)))
		snprintf(name + length, size - length, " (%s family %s model %s%s)", vendor, family, model,
		         has_flag(cpuinfo, "amx_tile") ? " with amx_tile" : "");
}

void
epoch_host_cpu_model(const char *cpuinfo, char *model, size_t size)
{
	static const char *const keys[] = {"model name", "cpu model", "cpu", "uarch"}; /* x86, MIPS, POWER, RISC-V */
	char implementer[32], part[32];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (find_value(cpuinfo, keys[i], model, size) && *model) {
			append_family(cpuinfo, model, size);
			return;
		}
	}
	if (find_value(cpuinfo, "CPU implementer", implementer, sizeof(implementer)) &&
	    find_value(cpuinfo, "CPU part", part, sizeof(part)))
		snprintf(model, size, "ARM implementer %s, part %s", implementer, part);
	else
		*model = '\0';
}

void
epoch_host_describe(const char *procfs, struct epoch *epoch)
{
	struct utsname name;
	char *cpuinfo = malloc(CPUINFO_SIZE);

	if (uname(&name) == 0) {
		snprintf(epoch->host, sizeof(epoch->host), "%s", name.nodename);
		snprintf(epoch->kernel, sizeof(epoch->kernel), "%s %s %s", name.release, name.version, name.machine);
	}
	if (cpuinfo) {
		read_beginning(procfs, "cpuinfo", cpuinfo, CPUINFO_SIZE);
		epoch_host_cpu_model(cpuinfo, epoch->cpu, sizeof(epoch->cpu));
	}
	free(cpuinfo);
	if (!*epoch->cpu)
		read_beginning(procfs, "device-tree/model", epoch->cpu, sizeof(epoch->cpu));
}
