#include "dcpi-tools/ctl/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/remote.h"
#include "dcpi-tools/ctl/commands.h"

#define FINDINGS_MAX (1 << 20) /* bytes of JSON; more is no sane child's */
#define GROUP        "dcpi"
#define GROUPS_MAX   1024

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

/* The message of the guard on standard error repeats what doctor_add_unreadable() adds. */
static void
silence_errors(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, STDERR_FILENO);
}

static void __attribute__((noreturn))
run_child(const struct doctor_environment *environment, doctor_check *check, int output)
{
	struct ctl_findings findings = {0};
	json_t *list;

	silence_errors();
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
