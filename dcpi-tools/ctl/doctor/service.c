#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "control/request.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/remote.h"
#include "dcpi-tools/ctl/doctor/doctor.h"

#define CHECK            "service"
#define LOST_PERCENT     0.1 /* of the samples, from here on it is worth a word */
#define UNKNOWN_PERCENT  1.0
#define RUNNING_PERCENT  99.0
#define THROTTLE_SECONDS 10 /* more often than once in so many */
#define OVERHEAD_FACTOR  1.5

static double
number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

void
doctor_add_no_access(const struct doctor_environment *environment, const char *what, struct ctl_findings *findings)
{
	char *user = text_shown(environment->user);

	if (environment->is_service && environment->is_listed && !environment->is_member) {
		findings_add(findings, SEVERITY_PROBLEM, "access",
		             "user %s may not %s: this session is older than the membership in group dcpi",
		             user ? user : "?", what);
		findings_remedy(findings, "newgrp dcpi");
	} else if (environment->is_service && environment->has_group && !environment->is_listed) {
		findings_add(findings, SEVERITY_PROBLEM, "access", "user %s may not %s: not in group dcpi",
		             user ? user : "?", what);
		findings_remedy(findings, "usermod -aG dcpi %s", user ? user : "?");
	} else {
		findings_add(findings, SEVERITY_PROBLEM, "access", "user %s may not %s", user ? user : "?", what);
		findings_remedy(findings, "sudo dcpictl doctor");
	}
	free(user);
}

static void
add_not_running(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	char *directory;

	if (strcmp(environment->service_state, "failed") == 0) {
		findings_add(findings, SEVERITY_PROBLEM, CHECK, "dcpid has failed; its log says why");
		findings_remedy(findings, "journalctl -u dcpid -n 20");
		return;
	}
	findings_add(findings, SEVERITY_PROBLEM, CHECK, "dcpid is not running: nothing is collected");
	if (environment->is_service) {
		findings_remedy(findings, "systemctl start dcpid");
		return;
	}
	directory = text_shown(environment->directory);
	findings_remedy(findings, "dcpid --foreground --db %s", directory ? directory : "?");
	free(directory);
}

static void
add_no_answer(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	switch (-environment->status_error) {
	case ENOENT:
	case ECONNREFUSED:
		add_not_running(environment, findings);
		return;
	case EACCES:
		doctor_add_no_access(environment, "talk to dcpid", findings);
		return;
	case ETIMEDOUT:
		findings_add(findings, SEVERITY_PROBLEM, CHECK, "dcpid has not answered within %d s", CLIENT_SECONDS);
		findings_remedy(findings, "journalctl -u dcpid -n 20");
		return;
	default:
		findings_add(findings, SEVERITY_PROBLEM, CHECK, "cannot talk to dcpid: %s",
		             error_text(environment->status_error));
		findings_remedy(findings, "journalctl -u dcpid -n 20");
	}
}

/* The remedy when counts cannot be written, by the reason in the sentence. */
static void
add_writing_remedy(const struct doctor_environment *environment, const char *sentence, struct ctl_findings *findings)
{
	char *directory = text_shown(environment->directory);

	if (strstr(sentence, error_text(-ENOSPC)))
		findings_remedy(findings, "df -h %s", directory ? directory : "?");
	else if (strstr(sentence, error_text(-DCPI_EFULL)))
		findings_remedy(findings, "set a larger size_limit_mib in " CONFIG_FILE ", then: dcpictl reload");
	else if (!strstr(sentence, "dcpictl --db")) /* such a sentence has its remedy */
		findings_remedy(findings, "journalctl -u dcpid -n 20");
	free(directory);
}

static void
check_trouble(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	json_t *sentence;
	size_t i;

	json_array_foreach (json_object_get(environment->status, "trouble"), i, sentence) {
		const char *text = json_string_value(sentence);

		if (!text)
			continue;
		findings_add(findings, SEVERITY_PROBLEM, "trouble", "%s", text);
		add_writing_remedy(environment, text, findings);
	}
}

static void
check_losses(const json_t *status, const json_t *event, struct ctl_findings *findings)
{
	const char *name = json_text(event, "name");
	const double samples = number_of(event, "samples"), lost = number_of(event, "lost");
	const double dropped = number_of(event, "dropped"), throttled = number_of(event, "throttled");
	const double running = number_of(event, "running_percent");
	const double ring_kib = number_of(json_object_get(status, "rings"), "sample_bytes") / 1024;

	if (lost > 0 && 100 * lost > LOST_PERCENT * (samples + lost)) {
		findings_add(findings, SEVERITY_WARNING, "lost",
		             "%.2f %% of the samples of %s were lost: the kernel's buffers were full",
		             100 * lost / (samples + lost), name);
		findings_remedy(findings, "set ring_kib = %.0f; in " CONFIG_FILE ", then: dcpictl reload",
		                ring_kib ? 4 * ring_kib : 1024);
	}
	if (dropped > 0) {
		findings_add(findings, SEVERITY_WARNING, "dropped",
		             "%.0f samples of %s were given up: the database could not be written for long", dropped,
		             name);
		findings_remedy(findings, "journalctl -u dcpid -p warning");
	}
	if (throttled * THROTTLE_SECONDS > number_of(status, "seconds")) {
		findings_add(findings, SEVERITY_WARNING, "throttled",
		             "the kernel stopped %s %.0f times because it took too much time", name, throttled);
		findings_remedy(findings, "sample it less often in " CONFIG_FILE ", then: dcpictl reload");
	}
	if (json_is_number(json_object_get(event, "running_percent")) && running < RUNNING_PERCENT) {
		findings_add(findings, SEVERITY_WARNING, "multiplexed",
		             "%s was on a counter for %.0f %% of the time only: there are more events than counters",
		             name, running);
		findings_remedy(findings, "leave events out in " CONFIG_FILE ", then: dcpictl reload");
	}
}

/* The remedy for the most frequent cause; NULL: none is known. */
static const char *
unknown_remedy(const char *cause)
{
	if (strcmp(cause, "other-pid-namespace") == 0)
		return "run dcpid on the host, or in a container with --pid=host";
	if (strncmp(cause, "kernel-", strlen("kernel-")) == 0)
		return "sysctl kernel.kptr_restrict=1 && systemctl restart dcpid";
	if (strcmp(cause, "no-memory") == 0)
		return "journalctl -u dcpid -n 20";
	return NULL;
}

static void
check_unknown(const json_t *events, struct ctl_findings *findings)
{
	double samples = 0, unknown = 0, most = 0;
	const char *cause, *worst = "";
	json_t *event, *count;
	size_t i;

	json_array_foreach (events, i, event) {
		samples += number_of(event, "samples");
		json_object_foreach (json_object_get(event, "unknown"), cause, count) {
			const double more = json_number_value(count);

			unknown += more;
			if (more > most) {
				most = more;
				worst = cause;
			}
		}
	}
	if (samples <= 0 || 100 * unknown < UNKNOWN_PERCENT * samples)
		return;
	findings_add(findings, SEVERITY_WARNING, "unknown",
	             "%.1f %% of the samples could not be given to an image, most of them for %s",
	             100 * unknown / samples, worst);
	if (unknown_remedy(worst))
		findings_remedy(findings, "%s", unknown_remedy(worst));
}

static void
check_cost(const json_t *status, struct ctl_findings *findings)
{
	const json_t *overhead = json_object_get(status, "overhead");
	const double limit = number_of(overhead, "limit_percent"), measured = number_of(overhead, "measured_percent");
	const double lost = number_of(status, "sideband_lost");

	if (limit > 0 && measured > OVERHEAD_FACTOR * limit) {
		findings_add(findings, SEVERITY_WARNING, "cost",
		             "sampling costs %.2f %% of the machine; %.2f %% are allowed", measured, limit);
		findings_remedy(findings, "dcpictl reload");
	}
	if (lost > 0) {
		findings_add(findings, SEVERITY_WARNING, "records",
		             "%.0f record%s on processes and mappings %s lost: samples after that may be unknown", lost,
		             lost == 1 ? "" : "s", lost == 1 ? "was" : "were");
		findings_remedy(findings, "set sideband_ring_kib = %.0f; in " CONFIG_FILE ", then: dcpictl reload",
		                2 * number_of(json_object_get(status, "rings"), "sideband_bytes") / 1024);
	}
}

static void
check_capture(const json_t *status, struct ctl_findings *findings)
{
	const json_t *capture = json_object_get(status, "capture");

	if (json_is_null(capture))
		findings_add(
			findings, SEVERITY_NOTE, "capture",
			"names and text of programs are not captured: what is upgraded or deleted loses its names");
	if (!json_is_object(capture))
		return;
	if (json_is_true(json_object_get(capture, "full"))) {
		findings_add(findings, SEVERITY_WARNING, "capture",
		             "captured names and text of programs have reached their limit of %.0f MiB",
		             number_of(capture, "limit") / (1 << 20));
		findings_remedy(findings, "set a larger capture_limit_mib in " CONFIG_FILE ", then: dcpictl reload");
	} else {
		findings_add(
			findings, SEVERITY_OK, "capture", "names and text of programs are captured, %.1f of %.0f MiB%s",
			number_of(capture, "bytes") / (1 << 20), number_of(capture, "limit") / (1 << 20),
			json_is_true(json_object_get(capture, "kernel")) ? ""
									 : "; the kernel's code is not (/proc/kcore)");
	}
}

void
doctor_check_service(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	const json_t *status = environment->status, *events = json_object_get(status, "events");
	json_t *event;
	size_t i;

	if (!status) {
		add_no_answer(environment, findings);
		return;
	}
	findings_add(findings, SEVERITY_OK, CHECK,
	             "dcpid %s collects (process %" JSON_INTEGER_FORMAT ", epoch %" JSON_INTEGER_FORMAT ")",
	             json_text(status, "version"), json_integer_value(json_object_get(status, "pid")),
	             json_integer_value(json_object_get(json_object_get(status, "epoch"), "id")));
	check_trouble(environment, findings);
	json_array_foreach (events, i, event)
		check_losses(status, event, findings);
	check_unknown(events, findings);
	check_cost(status, findings);
	check_capture(status, findings);
}
