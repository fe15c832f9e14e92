#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/ctl/doctor/checks.h"
#include "event/small_file.h"

#define CHECK "events"

#define ASK_RATE 100 /* samples/s that are asked for; nothing is sampled */

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

/* A processor says whether it is one that a hypervisor made up. */
static bool
is_virtual(const char *procfs)
{
	char line[4096], path[PATH_MAX];
	bool found = false;
	FILE *stream;

	snprintf(path, sizeof(path), "%s/cpuinfo", procfs);
	stream = fopen(path, "re");
	while (stream && !found && fgets(line, sizeof(line), stream))
		found = strncmp(line, "flags", strlen("flags")) == 0 && strstr(line, " hypervisor");
	if (stream)
		fclose(stream);
	return found;
}

static void
add_stand_in(const struct surroundings *around, const char *name, const char *note, struct ctl_findings *findings)
{
	findings_add(findings, SEVERITY_WARNING, "pmu", "%s, a timer, stands in for cycles: %s", name, note);
	if (strstr(note, error_text(-EBUSY)))
		findings_mend(findings, "end the other profiler, then: systemctl restart dcpid");
	else if (is_virtual(around->kernel.procfs))
		findings_mend(findings, "give the virtual machine a PMU, on its host (QEMU: -cpu host,pmu=on)");
}

/* What the running daemon was granted, where we may not ask ourselves. */
static bool
check_daemons_events(const struct surroundings *around, struct ctl_findings *findings)
{
	struct ctl_names counted = {""};
	bool has_cycles = false;
	json_t *event;
	size_t i;

	json_array_foreach (json_object_get(around->status, "events"), i, event) {
		const char *name = json_string_value(json_object_get(event, "name"));
		const char *requested = json_string_value(json_object_get(event, "requested"));
		const char *note = json_string_value(json_object_get(event, "note"));

		if (!json_is_true(json_object_get(event, "available")) || !name || !requested || !note)
			continue;
		names_add(&counted, name);
		if (strncmp(requested, "cycles", strlen("cycles")) != 0)
			continue;
		if (strncmp(name, "cpu-clock", strlen("cpu-clock")) == 0)
			add_stand_in(around, name, note, findings);
		else
			has_cycles = true;
	}
	findings_add(findings, SEVERITY_OK, CHECK, "dcpid counts %s", counted.text);
	return has_cycles;
}

/* Root is refused: by a capability that is missing, or by what stands between it and the kernel. */
static void
add_forbidden(const struct surroundings *around, struct ctl_findings *findings)
{
	int64_t paranoid = 0;

	small_file_read_number(&paranoid, "%s/sys/kernel/perf_event_paranoid", around->kernel.procfs);
	if (paranoid > 0) {
		findings_add(findings, SEVERITY_PROBLEM, CHECK,
		             "the kernel refuses to sample all processes: kernel.perf_event_paranoid is %" PRId64
		             ", and this process has no CAP_PERFMON",
		             paranoid);
		findings_mend(findings, "sysctl kernel.perf_event_paranoid=0");
		return;
	}
	findings_add(findings, SEVERITY_PROBLEM, CHECK,
	             "the kernel refuses to sample all processes though kernel.perf_event_paranoid is %" PRId64
	             ": a container, a seccomp filter or a security module forbids perf_event_open",
	             paranoid);
	findings_mend(findings, "run the container with --cap-add PERFMON --security-opt seccomp=unconfined");
}

/* The kernel grants us no event of all processes; `why` has a sentence. */
static bool
add_refused(const struct surroundings *around, int err, const char *why, struct ctl_findings *findings)
{
	const bool is_right = err == -EACCES || err == -EPERM;

	if (around->status)
		return check_daemons_events(around, findings);
	if (is_right && around->uid != 0) {
		findings_add(findings, SEVERITY_NOTE, CHECK,
		             "what can be counted here only root may ask: the kernel refuses it to other users");
		findings_mend(findings, "sudo dcpictl doctor");
	} else if (is_right) {
		add_forbidden(around, findings);
	} else {
		findings_add(findings, SEVERITY_PROBLEM, CHECK, "%s", why);
		if (err == -EMFILE)
			findings_mend(findings, "ulimit -n 65536");
	}
	return false;
}

bool
examine_events(const struct surroundings *around, struct ctl_findings *findings)
{
	struct ctl_names counted = {""}, missing = {""};
	bool has_cycles = false;

	for (size_t i = 0; i < ASKED_COUNT; i++) {
		struct event_spec spec = {.rate = ASK_RATE, .user = true, .kernel = true};
		struct event event;
		char why[1024];
		int err;

		snprintf(spec.name, sizeof(spec.name), "%s", asked[i]);
		err = event_resolve(&around->kernel, &spec, &event, why, sizeof(why));
		if (err)
			return add_refused(around, err, why, findings);
		if (event.available && strcmp(event.name, asked[i]) == 0) {
			names_add(&counted, asked[i]);
			has_cycles |= i == 0;
			continue;
		}
		names_add(&missing, asked[i]);
		if (event.available)
			add_stand_in(around, event.name, event.note, findings);
	}
	findings_add(findings, SEVERITY_OK, CHECK, "this machine counts %s%s%s", counted.text,
	             missing.text[0] ? "; not " : "", missing.text);
	return has_cycles;
}
