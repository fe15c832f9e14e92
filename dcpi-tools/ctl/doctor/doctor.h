/*
 * doctor.h - `dcpictl doctor`: check what this machine can count, what prevents it, and what has no symbols
 *
 * Each check adds its results to `findings`. Everything that a check knows about the machine comes from struct
 * doctor_environment, so tests can invent one. man/dcpictl.1.scd describes the findings. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_DOCTOR_DOCTOR_H
#define DCPI_TOOLS_CTL_DOCTOR_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "dcpi-tools/common/symbolizer.h"
#include "event/event.h"
#include "profile/profile.h"
#include "profile/selection.h"

/* ---- What was found: one sentence each, escaped by the check that adds it, with its remedy ---- */

/* Most important first. */
enum severity {
	SEVERITY_PROBLEM, /* nothing is collected, or it cannot be read */
	SEVERITY_WARNING, /* profiles are worse than they could be */
	SEVERITY_NOTE,    /* information; nothing on this machine can change it */
	SEVERITY_OK,
};
#define SEVERITIES 4

#define CHECK_NAME_SIZE 32

const char *severity_name(enum severity severity); /* "problem", "warning", "note", "ok" */

struct ctl_finding {
	enum severity severity;
	char check[CHECK_NAME_SIZE]; /* that found it: "service", "kptr-restrict", ... */
	char *text;                  /* a sentence without its stop */
	char *remedy;                /* the command, or what to do; NULL: nothing */
	char *image;                 /* about an image: its path; else NULL */
	uint64_t samples;            /* samples of the image without a name */
	double percent;              /* of all samples */
};

struct ctl_findings {
	size_t count;
	struct ctl_finding *list;
	int error; /* -ENOMEM: one is missing */
};

void findings_fini(struct ctl_findings *findings);

/* Add a finding. */
void findings_add(struct ctl_findings *findings, enum severity severity, const char *check, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Set the remedy of the finding added last. */
void findings_remedy(struct ctl_findings *findings, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Set the image that the finding added last is about. */
void findings_image(struct ctl_findings *findings, const char *path, uint64_t samples, double percent);

/* A warning without a remedy becomes a note: there is nothing to do about it. */
void findings_demote(struct ctl_findings *findings);

/* By severity; those of one severity stay in their order. */
void findings_sort(struct ctl_findings *findings);

/* As a list of objects, as dcpictl(1) describes them; NULL when memory ends. And back: 0, -EINVAL, -ENOMEM. */
json_t *findings_json(const struct ctl_findings *findings);
int findings_add_json(struct ctl_findings *findings, const json_t *list);

size_t findings_count(const struct ctl_findings *findings, enum severity severity);

/* Print for people, or as JSON (dcpictl-doctor/1). 0 or a negative error. */
int findings_print(const struct ctl_findings *findings);
int findings_print_json(const struct ctl_findings *findings);

/* ---- The checks ---- */

struct doctor_environment {
	struct event_environment kernel; /* how to open events, /sys and /proc */
	const char *dpkg_query;          /* "dpkg-query": the program */
	const char *apt_lists;           /* "/var/lib/apt/lists" */
	const char *directory;           /* of the database */
	bool is_service;                 /* it is the database of the service */
	char service_state[32];          /* systemd's state of it: "active", "failed", ...; "": there is no systemd */
	char user[64];                   /* of this process */
	uid_t uid;
	bool has_group;   /* there is a group dcpi */
	bool is_listed;   /* the user is listed in that group */
	bool is_member;   /* this process is in that group: a user who was added has to log in again */
	json_t *status;   /* dcpid's, borrowed; NULL: `status_error` says why */
	int status_error; /* a negative errno */
};

/* Fill in what is about this machine and its user; `directory` is borrowed, `status` is the caller's to add. */
void doctor_environment_init(struct doctor_environment *environment, const char *directory);

/* All checks; findings are sorted. 0, or -ENOMEM. */
int doctor_examine(const struct doctor_environment *environment, struct ctl_findings *findings);

/* STATUS_OK when there is no problem, else STATUS_FAILURE. */
int doctor_status(const struct ctl_findings *findings);

/*
 * Run a check in a child, because a damaged database may cause a fault in the process that reads it (base/guard.h), and
 * the findings so far must not be lost. The child passes its findings on as JSON.
 */
typedef void doctor_check(const struct doctor_environment *environment, struct ctl_findings *findings);
void doctor_check_in_child(const struct doctor_environment *environment, doctor_check *check,
                           struct ctl_findings *findings);

/* ---- service.c: whether dcpid runs, and is well ---- */
void doctor_check_service(const struct doctor_environment *environment, struct ctl_findings *findings);

/* Add that the user may not do `what`, and how to become a member of the group. */
void doctor_add_no_access(const struct doctor_environment *environment, const char *what,
                          struct ctl_findings *findings);

/* ---- machine.c: which events can be counted here. True when hardware counters count cycles ---- */
bool doctor_check_events(const struct doctor_environment *environment, struct ctl_findings *findings);

/* Permissions that this process, or its container, lacks. */
void doctor_check_rights(const struct doctor_environment *environment, struct ctl_findings *findings);

/* Settings of the kernel. */
void doctor_check_kernel(const struct doctor_environment *environment, bool has_counters,
                         struct ctl_findings *findings);

/* Other processes that have perf events open. */
void doctor_check_profilers(const struct doctor_environment *environment, bool has_counters,
                            struct ctl_findings *findings);

/* ---- database.c: whether the database can be read and may grow, and what its images lack ---- */
void doctor_check_database(const struct doctor_environment *environment, struct ctl_findings *findings);

/* Add that the database cannot be read because of `err`; `shown` is its directory. */
void doctor_add_unreadable(const struct doctor_environment *environment, const char *shown, int err,
                           struct ctl_findings *findings);

/*
 * Find images of `selection` without symbols, and the number of samples in them. The selection covers `stretch` ("the
 * last day"); `profile` has the kernel's names. 0, or an error.
 */
int doctor_check_selection(const struct doctor_environment *environment, struct profile *profile,
                           const struct selection *selection, const char *stretch, struct ctl_findings *findings);

/* Find images in which many call stacks end early; `selection` has stacks. 0 or -ENOMEM. */
int doctor_check_stacks(const struct selection *selection, const char *stretch, struct ctl_findings *findings);

/* ---- Which Debian package a file is from ---- */
#define PACKAGE_NAME_SIZE 128

/* The package of the file `path`, by dpkg-query. 0, -ENOENT, or another errno when it cannot be run. */
int package_of(const char *dpkg_query, const char *path, char package[PACKAGE_NAME_SIZE]);

/* The name of the package with its debug information, whether that exists or not. */
void package_debug(const char *package, char debug[PACKAGE_NAME_SIZE]);

/* Whether apt has the list of an archive of debug packages. */
bool package_debug_archive(const char *apt_lists);

#endif
