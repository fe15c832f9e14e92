#include "dcpi-tools/ctl/doctor/doctor.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/small_file.h"
#include "dcpi-tools/common/text.h"
#include "process/proc.h"

#define ASK_RATE            100    /* samples/s that are asked for; nothing is sampled */
#define SAMPLE_RATE_WANTED  5200   /* samples/s and CPU: DCPI's density */
#define SAMPLE_RATE_DEFAULT 100000 /* what kernels begin with */
#define RINGS_KIB           776    /* ring_kib and sideband_ring_kib as they are by default, with a page of each */
#define DESCRIPTORS_MAX     4096   /* looked at in each process */
#define SHOWN_MAX           3      /* processes that are named */
#define PERF_EVENT          "anon_inode:[perf_event]"

#ifndef CAP_PERFMON /* linux-libc-dev before 5.8 */
#define CAP_PERFMON 38
#endif

/* ---- Events ---- */

static const char *const asked[] = {"cycles",        "instructions", "cache-references", "cache-misses",
                                    "branch-misses", "cpu-clock",    "page-faults",      "context-switches"};
#define ASKED_COUNT (sizeof(asked) / sizeof(asked[0]))

/* Names of events, separated by commas. */
struct ctl_names {
	char text[ASKED_COUNT * 32];
};

static void
names_add(struct ctl_names *names, const char *name)
{
	const size_t used = strlen(names->text);

	snprintf(names->text + used, sizeof(names->text) - used, "%s%s", used ? ", " : "", name);
}

/* The first line of a file of /proc that begins with `key`; false when there is none. */
static bool
find_line(const char *procfs, const char *file, const char *key, char *line, size_t size)
{
	char path[PATH_MAX];
	bool found = false;
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%s", procfs, file);
	stream = fopen(path, "re");
	while (stream && !found && fgets(line, (int)size, stream))
		found = strncmp(line, key, strlen(key)) == 0;
	if (stream)
		fclose(stream);
	return found;
}

/* The flags of a processor of a virtual machine have "hypervisor". */
static bool
is_virtual(const char *procfs)
{
	char line[4096];

	return find_line(procfs, "cpuinfo", "flags", line, sizeof(line)) && strstr(line, " hypervisor");
}

static void
add_stand_in(const struct doctor_environment *environment, const char *name, const char *note,
             struct ctl_findings *findings)
{
	findings_add(findings, SEVERITY_WARNING, "pmu", "%s, a timer, stands in for cycles: %s", name, note);
	if (strstr(note, error_text(-EBUSY)))
		findings_remedy(findings, "end the other profiler, then: systemctl restart dcpid");
	else if (is_virtual(environment->kernel.procfs))
		findings_remedy(findings, "give the virtual machine a PMU, on its host (QEMU: -cpu host,pmu=on)");
}

/* What the running daemon counts, where this process may not ask the kernel. */
static bool
add_daemon_events(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	struct ctl_names counted = {""};
	bool has_cycles = false;
	json_t *event;
	size_t i;

	json_array_foreach (json_object_get(environment->status, "events"), i, event) {
		const char *name = json_string_value(json_object_get(event, "name"));
		const char *requested = json_string_value(json_object_get(event, "requested"));
		const char *note = json_string_value(json_object_get(event, "note"));

		if (!json_is_true(json_object_get(event, "available")) || !name || !requested || !note)
			continue;
		names_add(&counted, name);
		if (strncmp(requested, "cycles", strlen("cycles")) != 0)
			continue;
		if (strncmp(name, "cpu-clock", strlen("cpu-clock")) == 0)
			add_stand_in(environment, name, note, findings);
		else
			has_cycles = true;
	}
	findings_add(findings, SEVERITY_OK, "events", "dcpid counts %s", counted.text);
	return has_cycles;
}

/* Root is refused: a capability is missing, or a container, a seccomp filter or a security module forbids it. */
static void
add_forbidden(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	int64_t paranoid = 0;

	small_file_read_number(&paranoid, "%s/sys/kernel/perf_event_paranoid", environment->kernel.procfs);
	if (paranoid > 0) {
		findings_add(findings, SEVERITY_PROBLEM, "events",
		             "the kernel refuses to sample all processes: kernel.perf_event_paranoid is %" PRId64
		             ", and this process has no CAP_PERFMON",
		             paranoid);
		findings_remedy(findings, "sysctl kernel.perf_event_paranoid=0");
		return;
	}
	findings_add(findings, SEVERITY_PROBLEM, "events",
	             "the kernel refuses to sample all processes though kernel.perf_event_paranoid is %" PRId64
	             ": a container, a seccomp filter or a security module forbids perf_event_open",
	             paranoid);
	findings_remedy(findings, "run the container with --cap-add PERFMON --security-opt seccomp=unconfined");
}

/* The kernel grants us no event of all processes; `why` has a sentence. */
static bool
add_refused(const struct doctor_environment *environment, int err, const char *why, struct ctl_findings *findings)
{
	const bool is_right = err == -EACCES || err == -EPERM;

	if (environment->status)
		return add_daemon_events(environment, findings);
	if (is_right && environment->uid != 0) {
		findings_add(findings, SEVERITY_NOTE, "events",
		             "what can be counted here only root may ask: the kernel refuses it to other users");
		findings_remedy(findings, "sudo dcpictl doctor");
	} else if (is_right) {
		add_forbidden(environment, findings);
	} else {
		findings_add(findings, SEVERITY_PROBLEM, "events", "%s", why);
		if (err == -EMFILE)
			findings_remedy(findings, "ulimit -n 65536");
	}
	return false;
}

bool
doctor_check_events(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	struct ctl_names counted = {""}, missing = {""};
	bool has_cycles = false;

	for (size_t i = 0; i < ASKED_COUNT; i++) {
		struct event_spec spec = {.rate = ASK_RATE, .user = true, .kernel = true};
		struct event event;
		char why[1024];
		int err;

		snprintf(spec.name, sizeof(spec.name), "%s", asked[i]);
		err = event_resolve(&environment->kernel, &spec, &event, why, sizeof(why));
		if (err)
			return add_refused(environment, err, why, findings);
		if (event.available && strcmp(event.name, asked[i]) == 0) {
			names_add(&counted, asked[i]);
			has_cycles |= i == 0;
			continue;
		}
		names_add(&missing, asked[i]);
		if (event.available)
			add_stand_in(environment, event.name, event.note, findings);
	}
	findings_add(findings, SEVERITY_OK, "events", "this machine counts %s%s%s", counted.text,
	             missing.text[0] ? "; not " : "", missing.text);
	return has_cycles;
}

/* ---- Rights ---- */

static bool
has_capability(uint64_t effective, unsigned capability)
{
	return effective >> capability & 1;
}

/* Root without these is root of a container. */
static void
check_capabilities(const char *procfs, struct ctl_findings *findings)
{
	static const char key[] = "CapEff:";
	uint64_t effective;
	char line[256];

	if (!find_line(procfs, "self/status", key, line, sizeof(line)))
		return;
	effective = strtoull(line + strlen(key), NULL, 16);
	if (has_capability(effective, CAP_SYS_ADMIN))
		return;
	if (!has_capability(effective, CAP_PERFMON)) {
		findings_add(findings, SEVERITY_PROBLEM, "capabilities",
		             "root has no CAP_PERFMON here: this container may not sample all processes");
		findings_remedy(findings, "run the container with --cap-add PERFMON");
	}
	if (!has_capability(effective, CAP_SYS_PTRACE)) {
		findings_add(findings, SEVERITY_WARNING, "capabilities",
		             "root has no CAP_SYS_PTRACE here: what other users' processes have mapped stays unknown");
		findings_remedy(findings, "run the container with --cap-add SYS_PTRACE");
	}
}

void
doctor_check_rights(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	if (environment->uid == 0)
		check_capabilities(environment->kernel.procfs, findings);
	if (!proc_text_is_nested(environment->kernel.procfs))
		return;
	findings_add(findings, SEVERITY_WARNING, "pid-namespace",
	             "this container sees its own processes only: samples of all others stay unknown");
	findings_remedy(findings, "run dcpid on the host, or the container with --pid=host");
}

/* ---- Settings of the kernel ---- */

static bool
read_sysctl(const struct doctor_environment *environment, const char *name, int64_t *value)
{
	return small_file_read_number(value, "%s/sys/kernel/%s", environment->kernel.procfs, name) == 0;
}

static void
check_paranoid(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	int64_t paranoid;

	if (!read_sysctl(environment, "perf_event_paranoid", &paranoid)) {
		findings_add(findings, SEVERITY_PROBLEM, "perf-event-paranoid",
		             "this kernel has no perf events, or hides kernel.perf_event_paranoid");
		findings_remedy(findings, "boot a kernel with CONFIG_PERF_EVENTS");
		return;
	}
	findings_add(
		findings, SEVERITY_OK, "perf-event-paranoid", "kernel.perf_event_paranoid is %" PRId64 ": %s", paranoid,
		paranoid > 0 ? "root and the service may sample all processes" : "all users may sample all processes");
}

/* Lockdown forbids registers in samples, which dcpid does not ask for. */
static void
check_lockdown(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	char modes[128];
	const char *active;

	if (small_file_read(modes, sizeof(modes), "%s/kernel/security/lockdown", environment->kernel.sysfs))
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
check_kernel_names(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	int64_t restricted;

	if (!read_sysctl(environment, "kptr_restrict", &restricted))
		return;
	if (restricted >= 2) {
		findings_add(findings, SEVERITY_WARNING, "kptr-restrict",
		             "kernel.kptr_restrict is %" PRId64 ": the kernel hides its names from everybody",
		             restricted);
		findings_remedy(findings, "sysctl kernel.kptr_restrict=1 && systemctl restart dcpid");
	} else if (environment->uid == 0 && are_addresses_hidden(environment->kernel.procfs)) {
		findings_add(findings, SEVERITY_WARNING, "kallsyms",
		             "the kernel hides its names though kernel.kptr_restrict is %" PRId64
		             ": CAP_SYSLOG is missing, or /proc/kallsyms is masked",
		             restricted);
		findings_remedy(findings, "run the container with --cap-add SYSLOG, or dcpid on the host");
	} else {
		findings_add(findings, SEVERITY_OK, "kptr-restrict",
		             "kernel.kptr_restrict is %" PRId64 ": the service sees the kernel's names", restricted);
	}
}

static void
check_watchdog(const struct doctor_environment *environment, bool has_counters, struct ctl_findings *findings)
{
	int64_t watchdog;

	if (!has_counters || !read_sysctl(environment, "nmi_watchdog", &watchdog) || watchdog == 0)
		return;
	findings_add(findings, SEVERITY_WARNING, "nmi-watchdog",
	             "the NMI watchdog holds a hardware counter of each CPU: one event less fits at a time");
	findings_remedy(findings, "sysctl kernel.nmi_watchdog=0");
}

/* The highest rate that dcpid asks for; what it would like to have when it does not run. */
static int64_t
wanted_rate(const struct doctor_environment *environment)
{
	int64_t wanted = 0;
	json_t *event;
	size_t i;

	json_array_foreach (json_object_get(environment->status, "events"), i, event) {
		const int64_t rate = json_integer_value(json_object_get(event, "rate"));

		if (rate > wanted)
			wanted = rate;
	}
	return wanted > 0 ? wanted : SAMPLE_RATE_WANTED;
}

static void
check_sample_rate(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	const int64_t wanted = wanted_rate(environment);
	int64_t limit;

	if (!read_sysctl(environment, "perf_event_max_sample_rate", &limit))
		return;
	if (limit < wanted) {
		findings_add(findings, SEVERITY_WARNING, "sample-rate",
		             "kernel.perf_event_max_sample_rate is %" PRId64 ", and %" PRId64
		             " samples/s are wanted: the kernel lowers it when interrupts take long",
		             limit, wanted);
		findings_remedy(findings, "sysctl kernel.perf_event_max_sample_rate=%d", SAMPLE_RATE_DEFAULT);
		return;
	}
	findings_add(findings, SEVERITY_OK, "sample-rate",
	             "kernel.perf_event_max_sample_rate is %" PRId64 "%s; %" PRId64 " samples/s are wanted", limit,
	             limit < SAMPLE_RATE_DEFAULT ? " (lowered)" : "", wanted);
}

/* Rings are locked memory. Root and the service have CAP_IPC_LOCK; other users have an allowance. */
static void
check_locked_memory(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	int64_t allowance_kib, paranoid;
	struct rlimit limit;

	if (environment->uid == 0 || environment->is_service ||
	    !read_sysctl(environment, "perf_event_paranoid", &paranoid) || paranoid != 0 ||
	    !read_sysctl(environment, "perf_event_mlock_kb", &allowance_kib) || getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY || allowance_kib >= RINGS_KIB)
		return;
	findings_add(findings, SEVERITY_WARNING, "locked-memory",
	             "kernel.perf_event_mlock_kb is %" PRId64 ": buffers of %d KiB a CPU may not fit into it",
	             allowance_kib, RINGS_KIB);
	findings_remedy(findings, "sysctl kernel.perf_event_mlock_kb=%d", RINGS_KIB);
}

void
doctor_check_kernel(const struct doctor_environment *environment, bool has_counters, struct ctl_findings *findings)
{
	check_paranoid(environment, findings);
	check_lockdown(environment, findings);
	check_kernel_names(environment, findings);
	check_watchdog(environment, has_counters, findings);
	check_sample_rate(environment, findings);
	check_locked_memory(environment, findings);
}

/* ---- Other profilers ---- */

/* How many descriptors of a process are perf events; only root may read those of other users. */
static unsigned
count_events(const char *procfs, const char *pid)
{
	char path[PATH_MAX], target[sizeof(PERF_EVENT)];
	unsigned count = 0, seen = 0;
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/%s/fd", procfs, pid);
	folder = opendir(path);
	if (!folder)
		return 0;
	while (seen++ < DESCRIPTORS_MAX && (entry = readdir(folder)) != NULL) {
		const ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target));

		count += length == (ssize_t)strlen(PERF_EVENT) && memcmp(target, PERF_EVENT, strlen(PERF_EVENT)) == 0;
	}
	closedir(folder);
	return count;
}

static void
add_profiler(const struct doctor_environment *environment, const char *pid, unsigned count,
             struct ctl_findings *findings)
{
	char name[64], *shown;

	if (small_file_read(name, sizeof(name), "%s/%s/comm", environment->kernel.procfs, pid))
		return;
	shown = text_shown(name);
	findings_add(findings, SEVERITY_WARNING, "profilers",
	             "%s (process %s) has %u perf event%s open: it may share the hardware counters with dcpid",
	             shown ? shown : "?", pid, count, count == 1 ? "" : "s");
	findings_remedy(findings, "kill -INT %s", pid);
	free(shown);
}

void
doctor_check_profilers(const struct doctor_environment *environment, bool has_counters, struct ctl_findings *findings)
{
	const pid_t daemon = (pid_t)json_integer_value(json_object_get(environment->status, "pid"));
	unsigned shown = 0, count;
	struct dirent *entry;
	DIR *processes;

	processes =
		has_counters ? opendir(environment->kernel.procfs) : NULL; /* without any there is nothing to share */
	if (!processes)
		return;
	while (shown < SHOWN_MAX && (entry = readdir(processes)) != NULL) {
		if (!isdigit((unsigned char)entry->d_name[0]) || strtol(entry->d_name, NULL, 10) == daemon)
			continue;
		count = count_events(environment->kernel.procfs, entry->d_name);
		if (count == 0)
			continue;
		add_profiler(environment, entry->d_name, count, findings);
		shown++;
	}
	closedir(processes);
}
