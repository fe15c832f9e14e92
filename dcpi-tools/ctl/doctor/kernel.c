#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "dcpi-tools/ctl/doctor/checks.h"
#include "event/small_file.h"

#define SAMPLE_RATE_WANTED  5200   /* samples/s and CPU: DCPI's density */
#define SAMPLE_RATE_DEFAULT 100000 /* what kernels begin with */
#define RINGS_KIB           776    /* ring_kib and sideband_ring_kib as they are by default, with a page of each */

static bool
read_sysctl(const struct surroundings *around, const char *name, int64_t *value)
{
	return small_file_read_number(value, "%s/sys/kernel/%s", around->kernel.procfs, name) == 0;
}

static void
check_paranoid(const struct surroundings *around, struct ctl_findings *findings)
{
	int64_t paranoid;

	if (!read_sysctl(around, "perf_event_paranoid", &paranoid)) {
		findings_add(findings, SEVERITY_PROBLEM, "perf-event-paranoid",
		             "this kernel has no perf events, or hides kernel.perf_event_paranoid");
		findings_mend(findings, "boot a kernel with CONFIG_PERF_EVENTS");
		return;
	}
	findings_add(
		findings, SEVERITY_OK, "perf-event-paranoid", "kernel.perf_event_paranoid is %" PRId64 ": %s", paranoid,
		paranoid > 0 ? "root and the service may sample all processes" : "all users may sample all processes");
}

/* What lockdown forbids is registers in samples, which we do not ask for. */
static void
check_lockdown(const struct surroundings *around, struct ctl_findings *findings)
{
	char modes[128];
	const char *active;

	if (small_file_read(modes, sizeof(modes), "%s/kernel/security/lockdown", around->kernel.sysfs))
		return;
	active = strchr(modes, '[');
	if (active && strcspn(active, "]") < strlen(active))
		findings_add(findings, SEVERITY_OK, "lockdown",
		             "kernel lockdown is %.*s: samples are not what it forbids", (int)strcspn(active + 1, "]"),
		             active + 1);
}

/* Root sees zeros where the kernel's addresses should be. */
static bool
are_addresses_hidden(const char *procfs)
{
	char line[512];

	if (small_file_read(line, sizeof(line), "%s/kallsyms", procfs) == -EFBIG || !line[0])
		return false;
	return strspn(line, "0") == strcspn(line, " ");
}

static void
check_kernel_names(const struct surroundings *around, struct ctl_findings *findings)
{
	int64_t restricted;

	if (!read_sysctl(around, "kptr_restrict", &restricted))
		return;
	if (restricted >= 2) {
		findings_add(findings, SEVERITY_WARNING, "kptr-restrict",
		             "kernel.kptr_restrict is %" PRId64 ": the kernel hides its names from everybody",
		             restricted);
		findings_mend(findings, "sysctl kernel.kptr_restrict=1 && systemctl restart dcpid");
	} else if (around->uid == 0 && are_addresses_hidden(around->kernel.procfs)) {
		findings_add(findings, SEVERITY_WARNING, "kallsyms",
		             "the kernel hides its names though kernel.kptr_restrict is %" PRId64
		             ": CAP_SYSLOG is missing, or /proc/kallsyms is masked",
		             restricted);
		findings_mend(findings, "run the container with --cap-add SYSLOG, or dcpid on the host");
	} else {
		findings_add(findings, SEVERITY_OK, "kptr-restrict",
		             "kernel.kptr_restrict is %" PRId64 ": the service sees the kernel's names", restricted);
	}
}

static void
check_watchdog(const struct surroundings *around, bool has_counters, struct ctl_findings *findings)
{
	int64_t watchdog;

	if (!has_counters || !read_sysctl(around, "nmi_watchdog", &watchdog) || watchdog == 0)
		return;
	findings_add(findings, SEVERITY_WARNING, "nmi-watchdog",
	             "the NMI watchdog holds a hardware counter of each CPU: one event less fits at a time");
	findings_mend(findings, "sysctl kernel.nmi_watchdog=0");
}

/* The highest rate that dcpid asks for; what it would like to have when it does not run. */
static int64_t
wanted_rate(const struct surroundings *around)
{
	int64_t wanted = 0;
	json_t *event;
	size_t i;

	json_array_foreach (json_object_get(around->status, "events"), i, event) {
		const int64_t rate = json_integer_value(json_object_get(event, "rate"));

		if (rate > wanted)
			wanted = rate;
	}
	return wanted > 0 ? wanted : SAMPLE_RATE_WANTED;
}

static void
check_sample_rate(const struct surroundings *around, struct ctl_findings *findings)
{
	const int64_t wanted = wanted_rate(around);
	int64_t limit;

	if (!read_sysctl(around, "perf_event_max_sample_rate", &limit))
		return;
	if (limit < wanted) {
		findings_add(findings, SEVERITY_WARNING, "sample-rate",
		             "kernel.perf_event_max_sample_rate is %" PRId64 ", and %" PRId64
		             " samples/s are wanted: the kernel lowers it when interrupts take long",
		             limit, wanted);
		findings_mend(findings, "sysctl kernel.perf_event_max_sample_rate=%d", SAMPLE_RATE_DEFAULT);
		return;
	}
	findings_add(findings, SEVERITY_OK, "sample-rate",
	             "kernel.perf_event_max_sample_rate is %" PRId64 "%s; %" PRId64 " samples/s are wanted", limit,
	             limit < SAMPLE_RATE_DEFAULT ? " (lowered)" : "", wanted);
}

/* Rings are locked memory. Root and the service have CAP_IPC_LOCK; others an allowance. */
static void
check_locked_memory(const struct surroundings *around, struct ctl_findings *findings)
{
	int64_t allowance_kib, paranoid;
	struct rlimit limit;

	if (around->uid == 0 || around->is_service || !read_sysctl(around, "perf_event_paranoid", &paranoid) ||
	    paranoid != 0 || !read_sysctl(around, "perf_event_mlock_kb", &allowance_kib) ||
	    getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY || allowance_kib >= RINGS_KIB)
		return;
	findings_add(findings, SEVERITY_WARNING, "locked-memory",
	             "kernel.perf_event_mlock_kb is %" PRId64 ": buffers of %d KiB a CPU may not fit into it",
	             allowance_kib, RINGS_KIB);
	findings_mend(findings, "sysctl kernel.perf_event_mlock_kb=%d", RINGS_KIB);
}

void
examine_kernel(const struct surroundings *around, bool has_counters, struct ctl_findings *findings)
{
	check_paranoid(around, findings);
	check_lockdown(around, findings);
	check_kernel_names(around, findings);
	check_watchdog(around, has_counters, findings);
	check_sample_rate(around, findings);
	check_locked_memory(around, findings);
}
