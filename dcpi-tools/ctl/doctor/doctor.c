#include "dcpi-tools/ctl/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/commands.h"
#include "dcpi-tools/ctl/remote.h"

#define INDENT       9         /* columns of the severity */
#define FINDINGS_MAX (1 << 20) /* bytes of JSON; more is no sane child's */
#define GROUP        "dcpi"
#define GROUPS_MAX   1024

/* ---- Findings ---- */

const char *
severity_name(enum severity severity)
{
	static const char *const names[SEVERITIES] = {"problem", "warning", "note", "ok"};

	return names[severity];
}

void
findings_fini(struct ctl_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->list[i].text);
		free(findings->list[i].remedy);
		free(findings->list[i].image);
	}
	free(findings->list);
	*findings = (struct ctl_findings){0};
}

static char *
format_text(struct ctl_findings *findings, const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) >= 0)
		return text;
	findings->error = -ENOMEM;
	return NULL;
}

void
findings_add(struct ctl_findings *findings, enum severity severity, const char *check, const char *format, ...)
{
	struct ctl_finding *list = reallocarray(findings->list, findings->count + 1, sizeof(*list));
	va_list arguments;

	if (!list) {
		findings->error = -ENOMEM;
		return;
	}
	findings->list = list;
	list += findings->count;
	va_start(arguments, format);
	*list = (struct ctl_finding){
		.severity = severity,
		.text = format_text(findings, format, arguments),
	};
	va_end(arguments);
	snprintf(list->check, sizeof(list->check), "%s", check);
	findings->count += list->text != NULL;
}

void
findings_remedy(struct ctl_findings *findings, const char *format, ...)
{
	va_list arguments;

	if (findings->count == 0)
		return;
	va_start(arguments, format);
	findings->list[findings->count - 1].remedy = format_text(findings, format, arguments);
	va_end(arguments);
}

void
findings_image(struct ctl_findings *findings, const char *path, uint64_t samples, double percent)
{
	struct ctl_finding *finding;

	if (findings->count == 0)
		return;
	finding = &findings->list[findings->count - 1];
	finding->image = strdup(path);
	finding->samples = samples;
	finding->percent = percent;
	if (!finding->image)
		findings->error = -ENOMEM;
}

void
findings_demote(struct ctl_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].severity == SEVERITY_WARNING && !findings->list[i].remedy)
			findings->list[i].severity = SEVERITY_NOTE;
}

void
findings_sort(struct ctl_findings *findings)
{
	for (size_t i = 1; i < findings->count; i++) {
		struct ctl_finding moved = findings->list[i];
		size_t at = i;

		for (; at > 0 && findings->list[at - 1].severity > moved.severity; at--)
			findings->list[at] = findings->list[at - 1];
		findings->list[at] = moved;
	}
}

size_t
findings_count(const struct ctl_findings *findings, enum severity severity)
{
	size_t count = 0;

	for (size_t i = 0; i < findings->count; i++)
		count += findings->list[i].severity == severity;
	return count;
}

static json_t *
finding_json(const struct ctl_finding *finding)
{
	json_t *object = json_pack("{s:s,s:s,s:s,s:s?}", "severity", severity_name(finding->severity), "check",
	                           finding->check, "text", finding->text, "mend", finding->remedy);

	if (finding->image) {
		json_object_set_new(object, "image", json_string(finding->image));
		json_object_set_new(object, "samples", json_count(finding->samples));
		json_object_set_new(object, "percent", json_real(finding->percent));
	}
	return object;
}

json_t *
findings_json(const struct ctl_findings *findings)
{
	json_t *list = json_array();

	for (size_t i = 0; i < findings->count; i++)
		if (json_array_append_new(list, finding_json(&findings->list[i]))) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static int
severity_parse(const char *name)
{
	for (int i = 0; name && i < SEVERITIES; i++)
		if (strcmp(severity_name((enum severity)i), name) == 0)
			return i;
	return -EINVAL;
}

int
findings_add_json(struct ctl_findings *findings, const json_t *list)
{
	json_t *object;
	size_t i;

	json_array_foreach (list, i, object) {
		const char *severity, *check, *text, *image = NULL;
		json_t *mend;
		json_int_t samples = 0;
		double percent = 0;

		if (json_unpack(object, "{s:s,s:s,s:s,s:o,s?:s,s?:I,s?:F}", "severity", &severity, "check", &check,
		                "text", &text, "mend", &mend, "image", &image, "samples", &samples, "percent",
		                &percent) ||
		    severity_parse(severity) < 0)
			return -EINVAL;
		findings_add(findings, (enum severity)severity_parse(severity), check, "%s", text);
		if (json_is_string(mend))
			findings_remedy(findings, "%s", json_string_value(mend));
		if (image)
			findings_image(findings, image, (uint64_t)samples, percent);
	}
	return findings->error;
}

static void
print_finding(const struct ctl_finding *finding, const struct output *output)
{
	static const enum style styles[SEVERITIES] = {STYLE_HOT, STYLE_WARNING, STYLE_PLAIN, STYLE_FAINT};
	const enum style style = styles[finding->severity];

	fprintf(output->stream, "%s%-*s%s%s\n", output_style(output, style), INDENT, severity_name(finding->severity),
	        output_plain(output, style), finding->text);
	if (finding->remedy)
		fprintf(output->stream, "%*s-> %s\n", INDENT, "", finding->remedy);
}

/* The last line: whether there is anything to do. */
static void
print_verdict(const struct ctl_findings *findings, const struct output *output)
{
	const size_t problems = findings_count(findings, SEVERITY_PROBLEM);
	const size_t warnings = findings_count(findings, SEVERITY_WARNING);
	const enum style style = problems ? STYLE_HOT : warnings ? STYLE_WARNING : STYLE_PLAIN;

	fprintf(output->stream, "\n%s%-*s%s", output_style(output, style), INDENT, "verdict",
	        output_plain(output, style));
	if (problems)
		fprintf(output->stream, "something is in the way: %zu problem%s, %zu warning%s\n", problems,
		        text_plural(problems), warnings, text_plural(warnings));
	else if (warnings)
		fprintf(output->stream, "nothing is in the way; %zu warning%s\n", warnings, text_plural(warnings));
	else
		fprintf(output->stream, "all is well\n");
}

int
findings_print(const struct ctl_findings *findings)
{
	struct output output;

	output_open(&output, COLOR_AUTO, false);
	for (size_t i = 0; i < findings->count; i++)
		print_finding(&findings->list[i], &output);
	print_verdict(findings, &output);
	return output_close(&output);
}

int
findings_print_json(const struct ctl_findings *findings)
{
	return json_print(json_pack("{s:s,s:i,s:i,s:o}", "schema", "dcpictl-doctor/1", "problems",
	                            (int)findings_count(findings, SEVERITY_PROBLEM), "warnings",
	                            (int)findings_count(findings, SEVERITY_WARNING), "findings",
	                            findings_json(findings)),
	                  stdout);
}

/* ---- The environment ---- */

static bool
has_group(const gid_t *groups, int count, gid_t wanted)
{
	for (int i = 0; i < count; i++)
		if (groups[i] == wanted)
			return true;
	return false;
}

static bool
find_group(gid_t *id)
{
	struct group group, *found = NULL;
	char members[65536];

	if (getgrnam_r(GROUP, &group, members, sizeof(members), &found) || !found)
		return false;
	*id = group.gr_gid;
	return true;
}

static void
fill_user(struct doctor_environment *environment)
{
	struct passwd user, *found = NULL;
	gid_t groups[GROUPS_MAX], wanted;
	int count = GROUPS_MAX;
	char text[4096];

	environment->uid = geteuid();
	snprintf(environment->user, sizeof(environment->user), "%u", (unsigned)getuid());
	if (getpwuid_r(getuid(), &user, text, sizeof(text), &found) == 0 && found)
		snprintf(environment->user, sizeof(environment->user), "%s", user.pw_name);
	environment->has_group = find_group(&wanted);
	if (!environment->has_group)
		return;
	environment->is_listed = found && getgrouplist(environment->user, user.pw_gid, groups, &count) >= 0 &&
	                         has_group(groups, count, wanted);
	count = getgroups(GROUPS_MAX, groups);
	environment->is_member = getegid() == wanted || has_group(groups, count, wanted);
}

/* One word of systemctl's; "" where there is no systemd. */
static void
fill_service(struct doctor_environment *environment)
{
	FILE *stream;

	if (access("/run/systemd/system", F_OK))
		return;
	stream = popen("systemctl show --property=ActiveState --value dcpid.service 2>/dev/null", "re");
	if (!stream)
		return;
	if (fgets(environment->service_state, sizeof(environment->service_state), stream))
		environment->service_state[strcspn(environment->service_state, "\n")] = '\0';
	pclose(stream);
}

void
doctor_environment_init(struct doctor_environment *environment, const char *directory)
{
	const int cpu = sched_getcpu();

	*environment = (struct doctor_environment){
		.kernel = {.open = event_open_system, .sysfs = "/sys", .procfs = "/proc", .cpu = cpu > 0 ? cpu : 0},
		.dpkg_query = "dpkg-query",
		.apt_lists = "/var/lib/apt/lists",
		.directory = directory,
		.is_service = strcmp(directory, PROFILE_DIRECTORY) == 0,
	};
	fill_user(environment);
	if (environment->is_service)
		fill_service(environment);
}

/* ---- A check in a child ---- */

static void __attribute__((noreturn))
run_child(const struct doctor_environment *environment, doctor_check *check, int output)
{
	struct ctl_findings findings = {0};
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	json_t *list;

	/* the guard's message would repeat what doctor_add_unreadable() adds */
	if (null >= 0)
		dup2(null, STDERR_FILENO);
	check(environment, &findings);
	list = findings_json(&findings);
	if (findings.error || !list || json_dumpfd(list, output, JSON_COMPACT))
		_exit(STATUS_FAILURE);
	_exit(STATUS_OK);
}

static int
read_all(int fd, struct byte_writer *text)
{
	char piece[4096];
	ssize_t got;

	while ((got = TEMP_FAILURE_RETRY(read(fd, piece, sizeof(piece)))) > 0 && text->size <= FINDINGS_MAX)
		write_bytes(text, piece, (size_t)got);
	return got < 0 || text->failed || text->size > FINDINGS_MAX ? -EIO : 0;
}

/* How the child ended: 0, or why its findings cannot be used. */
static int
wait_for(pid_t child)
{
	int status;

	if (TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) < 0)
		return -errno;
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_OK)
		return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) != STATUS_DAMAGED ? -ENOMEM : -DCPI_EDAMAGED;
}

static int
take_findings(int fd, pid_t child, struct ctl_findings *findings)
{
	struct byte_writer text = BYTE_WRITER_INIT;
	int read_err = read_all(fd, &text), err;
	json_t *list;

	close(fd); /* a child that still writes ends */
	err = wait_for(child);
	if (!err)
		err = read_err;
	if (!err) {
		list = json_loadb((const char *)text.data, text.size, 0, NULL);
		err = list ? findings_add_json(findings, list) : -EIO;
		json_decref(list);
	}
	writer_fini(&text);
	return err;
}

static int
run_in_child(const struct doctor_environment *environment, doctor_check *check, struct ctl_findings *findings)
{
	int ends[2], err;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0)
		run_child(environment, check, ends[1]);
	err = child < 0 ? -errno : 0;
	close(ends[1]);
	if (!err)
		return take_findings(ends[0], child, findings);
	close(ends[0]);
	return err;
}

void
doctor_check_in_child(const struct doctor_environment *environment, doctor_check *check, struct ctl_findings *findings)
{
	int err = run_in_child(environment, check, findings);
	char *shown;

	if (!err)
		return;
	shown = text_shown(environment->directory);
	doctor_add_unreadable(environment, shown ? shown : "?", err, findings);
	free(shown);
}

/* ---- The command ---- */

int
doctor_examine(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	bool has_counters;

	doctor_check_service(environment, findings);
	has_counters = doctor_check_events(environment, findings);
	doctor_check_rights(environment, findings);
	doctor_check_kernel(environment, has_counters, findings);
	doctor_check_profilers(environment, has_counters, findings);
	doctor_check_in_child(environment, doctor_check_database, findings);
	findings_demote(findings);
	findings_sort(findings);
	return findings->error;
}

int
doctor_status(const struct ctl_findings *findings)
{
	return findings_count(findings, SEVERITY_PROBLEM) > 0 ? STATUS_FAILURE : STATUS_OK;
}

/* That no dcpid answers is one of the findings. */
int
ctl_doctor(const struct ctl_request *request)
{
	const struct ctl_request question = {
		.options = request->options, .command = "status", .socket = request->socket};
	struct ctl_findings findings = {0};
	struct doctor_environment environment;
	char path[PATH_MAX];
	json_t *reply;
	int err, status;

	doctor_environment_init(&environment, request->options.directory);
	environment.status_error = remote_ask(&question, path, sizeof(path), &reply);
	environment.status = json_object_get(reply, "status");
	err = doctor_examine(&environment, &findings);
	if (!err)
		err = request->json ? findings_print_json(&findings) : findings_print(&findings);
	status = err ? message_cannot(NULL, "print the findings", err, NULL) : doctor_status(&findings);
	findings_fini(&findings);
	json_decref(reply);
	return status;
}
