/*
 * findings.h - what `dcpictl doctor` found, one sentence each, with its remedy
 *
 * Texts are escaped by the checks that add them.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_DOCTOR_FINDINGS_H
#define DCPI_TOOLS_CTL_DOCTOR_FINDINGS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Most important first. */
enum severity {
	SEVERITY_PROBLEM, /* in the way: nothing is collected, or it cannot be read */
	SEVERITY_WARNING, /* profiles are worse than they could be */
	SEVERITY_NOTE,    /* good to know; nothing on this machine changes it */
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
	uint64_t samples;            /* in it, without a name */
	double percent;              /* of all samples */
};

struct ctl_findings {
	size_t count;
	struct ctl_finding *list;
	int error; /* -ENOMEM: one is missing */
};

void findings_fini(struct ctl_findings *findings);

/* One more. */
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

#endif
