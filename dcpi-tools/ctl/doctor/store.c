#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/doctor/checks.h"
#include "dcpi-tools/ctl/status_text.h"
#include "profile/quarantine.h"

#define CHECK  "database"
#define MIB    (UINT64_C(1) << 20)
#define LEAST  16 /* MiB that size_limit_mib may be */
#define SPARED 2  /* of the free space, what we suggest to use: a half */

void
add_unreadable(const struct surroundings *around, const char *shown, int err, struct ctl_findings *findings)
{
	switch (-err) {
	case ENOENT:
	case DCPI_ENODATABASE:
		findings_add(findings, SEVERITY_NOTE, CHECK, "%s: there is no database yet; dcpid makes it", shown);
		return;
	case EACCES:
	case EPERM:
		add_no_access(around, "read the database", findings);
		return;
	case DCPI_EDAMAGED:
		findings_add(findings, SEVERITY_PROBLEM, CHECK, "%s: the database is damaged", shown);
		findings_mend(findings, "%sdcpictl --db %s salvage --to %s.salvaged",
		              around->is_service ? "systemctl stop dcpid; " : "", shown, shown);
		return;
	default:
		findings_add(findings, SEVERITY_PROBLEM, CHECK, "%s: cannot read the database: %s", shown,
		             error_text(err));
		findings_mend(findings, "dcpictl --db %s check", shown);
	}
}

/* The disk must hold what the database may become. */
static void
check_room(const struct surroundings *around, const char *shown, const struct profile_stats *stats,
           struct ctl_findings *findings)
{
	const json_t *database = json_object_get(around->status, "database");
	const uint64_t limit = (uint64_t)json_integer_value(json_object_get(database, "limit"));
	char free_text[NUMBER_TEXT_SIZE], more_text[NUMBER_TEXT_SIZE];
	uint64_t available, more, mib;
	struct statvfs disk;

	if (statvfs(around->directory, &disk) || limit <= stats->file_bytes)
		return;
	available = (uint64_t)disk.f_bavail * disk.f_frsize;
	more = limit - stats->file_bytes;
	if (available >= more)
		return;
	mib = (stats->file_bytes + available / SPARED) / MIB;
	findings_add(findings, SEVERITY_WARNING, "disk", "%s: the disk has %s left, and the database may grow by %s",
	             shown, size_format(available, free_text), size_format(more, more_text));
	findings_mend(findings, "set size_limit_mib = %" PRIu64 "; in /etc/dcpi/dcpid.conf, then: dcpictl reload",
	              mib > LEAST ? mib : LEAST);
}

static void
check_contents(const struct surroundings *around, struct profile *profile, const char *shown,
               struct ctl_findings *findings)
{
	char used[NUMBER_TEXT_SIZE], epochs[NUMBER_TEXT_SIZE], slices[NUMBER_TEXT_SIZE];
	struct profile_stats stats;
	int err = profile_stats(profile, &stats);

	if (!err) {
		findings_add(findings, SEVERITY_OK, CHECK, "%s: the database can be read; %s, epochs: %s, slices: %s",
		             shown, size_format(stats.used_bytes, used), count_format(stats.epochs, epochs),
		             count_format(stats.slices, slices));
		check_room(around, shown, &stats, findings);
		err = examine_images(around, profile, findings);
	}
	if (err)
		add_unreadable(around, shown, err, findings);
}

/* A dcpid that runs says it itself. */
static void
check_aside(const struct surroundings *around, const char *shown, struct ctl_findings *findings)
{
	char size[NUMBER_TEXT_SIZE];
	struct quarantined aside;

	if (around->status || profile_find_quarantined(around->directory, &aside) <= 0)
		return;
	findings_add(findings, SEVERITY_PROBLEM, CHECK,
	             "%s/%s: the database was damaged, and what it held (%s) is kept here until somebody removes it",
	             shown, aside.name, size_format(aside.bytes, size));
	findings_mend(findings, "dcpictl --db %s/%s salvage --to %s.salvaged", shown, aside.name, shown);
}

void
examine_store(const struct surroundings *around, struct ctl_findings *findings)
{
	const struct profile_options options = {.write = false};
	char *shown = text_shown(around->directory);
	struct guard guard = {
		.subject = shown ? shown : "?",
		.claim = "the database is damaged",
		.advice = DATABASE_DAMAGE_ADVICE,
		.status = STATUS_DAMAGED,
	};
	struct profile *profile = NULL;
	int err;

	guard_enter(&guard);
	err = profile_open(around->directory, &options, &profile);
	if (err)
		add_unreadable(around, guard.subject, err, findings);
	else
		check_contents(around, profile, guard.subject, findings);
	profile_close(profile);
	guard_leave(&guard);
	check_aside(around, guard.subject, findings);
	free(shown);
}
