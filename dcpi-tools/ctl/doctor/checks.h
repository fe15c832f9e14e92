/*
 * checks.h - what `dcpictl doctor` looks at
 *
 * Each check adds what it found to `findings`. All they know of the machine comes from `struct surroundings`, so that
 * made-up ones can be looked at as well.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_DOCTOR_CHECKS_H
#define DCPI_TOOLS_CTL_DOCTOR_CHECKS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "dcpi-tools/common/symbolizer.h"
#include "dcpi-tools/ctl/doctor/finding.h"
#include "event/event.h"
#include "profile/profile.h"
#include "profile/selection.h"

struct surroundings {
	struct event_environment kernel; /* whom to ask, /sys and /proc */
	const char *dpkg_query;          /* "dpkg-query": the program */
	const char *apt_lists;           /* "/var/lib/apt/lists" */
	const char *directory;           /* of the database */
	bool is_service;                 /* it is the service's */
	char service_state[32];          /* what systemd says of it: "active", "failed", ...; "": there is no systemd */
	char user[64];                   /* who asks */
	uid_t uid;
	bool has_group;   /* there is a group dcpi */
	bool is_listed;   /* and the user is in it */
	bool is_member;   /* and this process as well: who was added has to log in again */
	json_t *status;   /* dcpid's, borrowed; NULL: `status_error` says why */
	int status_error; /* a negative errno */
};

/* ---- service.c: does dcpid run, and is it well ---- */
void examine_service(const struct surroundings *around, struct ctl_findings *findings);

/* Say that the user may not do `what`, and how to become a member of the group. */
void add_no_access(const struct surroundings *around, const char *what, struct ctl_findings *findings);

/* ---- events.c: what can be counted here. True when hardware counters count cycles ---- */
bool examine_events(const struct surroundings *around, struct ctl_findings *findings);

/* ---- rights.c: what this process, or the container it runs in, may not ---- */
void examine_rights(const struct surroundings *around, struct ctl_findings *findings);

/* ---- kernel.c: settings of the kernel ---- */
void examine_kernel(const struct surroundings *around, bool has_counters, struct ctl_findings *findings);

/* ---- profilers.c: who else has perf events open ---- */
void examine_profilers(const struct surroundings *around, bool has_counters, struct ctl_findings *findings);

/* ---- store.c: can the database be read, and may it grow; examine_images() looks at what it holds ---- */
void examine_store(const struct surroundings *around, struct ctl_findings *findings);

/* Say that the database cannot be read, for `err`; `shown` is its directory. */
void add_unreadable(const struct surroundings *around, const char *shown, int err, struct ctl_findings *findings);

/* ---- apart.c: examine in a child, of which nothing is lost when a damaged database ends it ---- */
typedef void examination(const struct surroundings *around, struct ctl_findings *findings);
void examine_apart(const struct surroundings *around, examination *examine, struct ctl_findings *findings);

/* ---- images.c: which images have no symbols, and how many samples that costs. 0, or an error on the database ---- */
int examine_images(const struct surroundings *around, struct profile *profile, struct ctl_findings *findings);

/*
 * The same for what was read from it, which covers `stretch` ("the last day"); `profile` has the kernel's names. 0, or
 * an error.
 */
int examine_selection(const struct surroundings *around, struct profile *profile, const struct selection *selection,
                      const char *stretch, struct ctl_findings *findings);

/* ---- package.c: which Debian package a file is from ---- */
#define PACKAGE_NAME_SIZE 128

/* The package that `path` is of, as the program says. 0, -ENOENT, or another errno when it cannot be run. */
int package_of(const char *dpkg_query, const char *path, char package[PACKAGE_NAME_SIZE]);

/* The package with its debug information; a name, whether it can be installed or not. */
void package_debug(const char *package, char debug[PACKAGE_NAME_SIZE]);

/* Has apt the list of an archive of debug packages? */
bool package_debug_archive(const char *apt_lists);

#endif
