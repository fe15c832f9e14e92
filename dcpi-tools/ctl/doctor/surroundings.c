#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dcpi-tools/ctl/doctor/doctor.h"

#define GROUP      "dcpi"
#define GROUPS_MAX 1024

static bool
holds(const gid_t *groups, int count, gid_t wanted)
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
fill_user(struct surroundings *around)
{
	struct passwd user, *found = NULL;
	gid_t groups[GROUPS_MAX], wanted;
	int count = GROUPS_MAX;
	char text[4096];

	around->uid = geteuid();
	snprintf(around->user, sizeof(around->user), "%u", (unsigned)getuid());
	if (getpwuid_r(getuid(), &user, text, sizeof(text), &found) == 0 && found)
		snprintf(around->user, sizeof(around->user), "%s", user.pw_name);
	around->has_group = find_group(&wanted);
	if (!around->has_group)
		return;
	around->is_listed =
		found && getgrouplist(around->user, user.pw_gid, groups, &count) >= 0 && holds(groups, count, wanted);
	count = getgroups(GROUPS_MAX, groups);
	around->is_member = getegid() == wanted || holds(groups, count, wanted);
}

/* One word of systemctl's; "" where there is no systemd. */
static void
fill_service(struct surroundings *around)
{
	FILE *stream;

	if (access("/run/systemd/system", F_OK))
		return;
	stream = popen("systemctl show --property=ActiveState --value dcpid.service 2>/dev/null", "re");
	if (!stream)
		return;
	if (fgets(around->service_state, sizeof(around->service_state), stream))
		around->service_state[strcspn(around->service_state, "\n")] = '\0';
	pclose(stream);
}

void
doctor_surroundings(struct surroundings *around, const char *directory)
{
	const int cpu = sched_getcpu();

	*around = (struct surroundings){
		.kernel = {.open = event_open_system, .sysfs = "/sys", .procfs = "/proc", .cpu = cpu > 0 ? cpu : 0},
		.dpkg_query = "dpkg-query",
		.apt_lists = "/var/lib/apt/lists",
		.directory = directory,
		.is_service = strcmp(directory, PROFILE_DIRECTORY) == 0,
	};
	fill_user(around);
	if (around->is_service)
		fill_service(around);
}
