#include "dcpi-tools/x/bursts_refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"

/* A number from a file with one, -1 when it cannot be had. */
static long
read_number(const char *name, const char *key)
{
	FILE *file = fopen(name, "re");
	char line[256];
	long number = -1;

	while (file && number < 0 && fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0)
			number = strtol(line + strlen(key), NULL, 10);
	if (file)
		fclose(file);
	return number;
}

/* What else may keep one from tracing it. */
static int
refuse_permission(const char *name, pid_t pid, int err)
{
	const long scope = read_number("/proc/sys/kernel/yama/ptrace_scope", "");
	char status[64], hint[128];
	long tracer;

	snprintf(status, sizeof(status), "/proc/%d/status", (int)pid);
	tracer = read_number(status, "TracerPid:");
	if (tracer > 0) {
		message_print(name, "process %ld traces it already, a debugger perhaps, and only one can", tracer);
		return STATUS_FAILURE;
	}
	if (read_number(status, "Kthread:") == 1)
		return message_cannot(name, "take bursts of it", err, "it is a thread of the kernel");
	if (scope > 0)
		snprintf(hint, sizeof(hint), "kernel.yama.ptrace_scope is %ld: only root may trace", scope);
	else
		snprintf(hint, sizeof(hint), "its user or root may, if it is no thread of the kernel");
	return message_cannot(name, "take bursts of it", err, hint);
}

int
bursts_refuse(pid_t pid, int err)
{
	char name[64];

	snprintf(name, sizeof(name), "process %d", (int)pid);
	switch (err) {
	case -EPERM:
	case -EACCES:
		return refuse_permission(name, pid, err);
	case -ENOEXEC:
		message_print(name, "it is a 32-bit program; dcpix takes bursts of 64-bit programs");
		return STATUS_FAILURE;
	case -EADDRINUSE:
		message_print(name, "it has memory where dcpix executes what it would execute");
		return STATUS_FAILURE;
	case -ENOSYS:
		message_print(name, "what it is executing cannot be executed in its place on this machine");
		return STATUS_FAILURE;
	case -ENOENT:
		return message_cannot("dcpi-replica", "find it", err, "is dcpi installed whole?");
	default:
		return message_cannot(name, "take bursts of it", err, NULL);
	}
}
