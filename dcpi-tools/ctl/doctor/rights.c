#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/ctl/doctor/checks.h"
#include "process/proc_text.h"

#ifndef CAP_PERFMON /* linux-libc-dev before 5.8 */
#define CAP_PERFMON 38
#endif

/* The hexadecimal number behind `key` in /proc/self/status; false when there is none. */
static bool
read_status(const char *procfs, const char *key, uint64_t *value)
{
	char line[256], path[PATH_MAX];
	const size_t length = strlen(key);
	bool found = false;
	FILE *stream;

	snprintf(path, sizeof(path), "%s/self/status", procfs);
	stream = fopen(path, "re");
	while (stream && !found && fgets(line, sizeof(line), stream)) {
		found = strncmp(line, key, length) == 0 && line[length] == ':';
		if (found)
			*value = strtoull(line + length + 1, NULL, 16);
	}
	if (stream)
		fclose(stream);
	return found;
}

static bool
has_capability(uint64_t effective, unsigned capability)
{
	return effective >> capability & 1;
}

/* Root without these is root of a container. */
static void
check_capabilities(const char *procfs, struct ctl_findings *findings)
{
	uint64_t effective;

	if (!read_status(procfs, "CapEff", &effective) || has_capability(effective, CAP_SYS_ADMIN))
		return;
	if (!has_capability(effective, CAP_PERFMON)) {
		findings_add(findings, SEVERITY_PROBLEM, "capabilities",
		             "root has no CAP_PERFMON here: this container may not sample all processes");
		findings_mend(findings, "run the container with --cap-add PERFMON");
	}
	if (!has_capability(effective, CAP_SYS_PTRACE)) {
		findings_add(findings, SEVERITY_WARNING, "capabilities",
		             "root has no CAP_SYS_PTRACE here: what other users' processes have mapped stays unknown");
		findings_mend(findings, "run the container with --cap-add SYS_PTRACE");
	}
}

static void
check_pid_namespace(const char *procfs, struct ctl_findings *findings)
{
	if (!proc_text_is_nested(procfs))
		return;
	findings_add(findings, SEVERITY_WARNING, "pid-namespace",
	             "this container sees its own processes only: samples of all others stay unknown");
	findings_mend(findings, "run dcpid on the host, or the container with --pid=host");
}

void
examine_rights(const struct surroundings *around, struct ctl_findings *findings)
{
	if (around->uid == 0)
		check_capabilities(around->kernel.procfs, findings);
	check_pid_namespace(around->kernel.procfs, findings);
}
