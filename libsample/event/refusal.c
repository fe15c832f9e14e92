#include "event/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/small_file.h"

#define PARANOID_NEEDED  0 /* sampling a whole CPU, kernel included */
#define PARANOID_PATCHED 3 /* from here on the kernel is a distribution's, whose patches differ in the capability */

bool
refusal_is_shortage(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOSYS;
}

bool
refusal_is_permission(int err)
{
	return err == -EACCES || err == -EPERM;
}

int
refusal_probe(const struct event_environment *environment, struct perf_event_attr *attr)
{
	int fd = environment->open(environment->open_context, attr, environment->cpu);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* "; kernel lockdown is [integrity]" when it is active. */
static void
describe_lockdown(const char *sysfs, char *text, size_t size)
{
	char modes[128];
	char *active, *end;

	text[0] = '\0';
	if (small_file_read(modes, sizeof(modes), "%s/kernel/security/lockdown", sysfs))
		return;
	active = strchr(modes, '[');
	end = active ? strchr(active, ']') : NULL;
	if (!end || strncmp(active, "[none]", strlen("[none]")) == 0)
		return;
	end[1] = '\0';
	snprintf(text, size, "; kernel lockdown is %s, too", active);
}

static void
explain_permission(const struct event_environment *environment, int err, char *why, size_t size)
{
	char lockdown[160];
	int64_t paranoid;
	int unknown;

	unknown = small_file_read_number(&paranoid, "%s/sys/kernel/perf_event_paranoid", environment->procfs);
	describe_lockdown(environment->sysfs, lockdown, sizeof(lockdown));
	if (!unknown && paranoid > PARANOID_NEEDED)
		snprintf(why, size,
		         "the kernel refuses to sample all processes (perf_event_open: %s): kernel.perf_event_paranoid "
		         "is "
		         "%lld and must be %d or less, or the process needs CAP_PERFMON%s: run it as root or as the "
		         "service, or type: sysctl kernel.perf_event_paranoid=%d%s",
		         error_text(err), (long long)paranoid, PARANOID_NEEDED,
		         paranoid >= PARANOID_PATCHED ? " (on some kernels that know this value, CAP_SYS_ADMIN)" : "",
		         PARANOID_NEEDED, lockdown);
	else if (!unknown)
		snprintf(why, size,
		         "the kernel refuses to sample all processes (perf_event_open: %s) though "
		         "kernel.perf_event_paranoid is %lld, which is low enough: a container, a seccomp filter or a "
		         "security module forbids perf_event_open; allow it there (systemd: "
		         "SystemCallFilter=perf_event_open; containers: --cap-add PERFMON and a seccomp profile that "
		         "has the call)%s",
		         error_text(err), (long long)paranoid, lockdown);
	else
		snprintf(why, size,
		         "the kernel refuses to sample all processes (perf_event_open: %s), and "
		         "%s/sys/kernel/perf_event_paranoid cannot be read (%s): the process needs CAP_PERFMON, or "
		         "kernel.perf_event_paranoid must be %d or less: type: sysctl kernel.perf_event_paranoid=%d%s",
		         error_text(err), environment->procfs, strerror(-unknown), PARANOID_NEEDED, PARANOID_NEEDED,
		         lockdown);
}

void
refusal_explain(const struct event_environment *environment, int err, char *why, size_t size)
{
	struct rlimit limit = {0};

	if (refusal_is_permission(err)) {
		explain_permission(environment, err, why, size);
	} else if (err == -EMFILE) {
		getrlimit(RLIMIT_NOFILE, &limit);
		snprintf(
			why, size,
			"no more files may be open (perf_event_open: %s): the limit is %llu; raise it by ulimit -n, or "
			"LimitNOFILE= in the unit",
			error_text(err), (unsigned long long)limit.rlim_cur);
	} else if (err == -ENODEV) {
		snprintf(why, size, "CPU %d is offline (perf_event_open: %s)", environment->cpu, error_text(err));
	} else if (err == -ENOSYS) {
		snprintf(why, size, "this kernel has no perf events (perf_event_open: %s): it needs CONFIG_PERF_EVENTS",
		         error_text(err));
	} else {
		snprintf(why, size, "perf_event_open: %s", error_text(err));
	}
}

/* Does anything here count cycles? Asked without sampling, which not every counter can. */
static bool
counters_exist(const struct event_environment *environment)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.disabled = 1;
	return refusal_probe(environment, &attr) == 0;
}

static const char *
describe_absence(const struct event_environment *environment, const struct event *event)
{
	switch (event->encoding.type) {
	case PERF_TYPE_SOFTWARE:
		return "this kernel does not count it";
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		if (counters_exist(environment))
			return "the hardware performance counters here do not count it";
		return "no hardware performance counters here";
	default:
		return "the PMU does not count it on this CPU";
	}
}

void
refusal_describe(const struct event_environment *environment, const struct event *event, int err, char *text,
                 size_t size)
{
	const char *reason;

	switch (err) {
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		reason = describe_absence(environment, event);
		break;
	case -EOPNOTSUPP:
		reason = "the hardware performance counters here cannot interrupt, so nothing can be sampled by them";
		break;
	case -EBUSY:
		reason = "someone else holds the hardware performance counters (firmware, a hypervisor, or another "
			 "profiler's "
			 "driver)";
		break;
	case -EINVAL:
		reason = event->encoding.type == PERF_TYPE_SOFTWARE ? "this kernel does not know it"
		                                                    : "its PMU cannot sample it";
		break;
	case -EACCES:
	case -EPERM:
		reason = "the kernel refuses it to this process, though not other events";
		break;
	default:
		reason = "it cannot be opened";
	}
	snprintf(text, size, "%s (perf_event_open: %s)", reason, error_text(err));
}
