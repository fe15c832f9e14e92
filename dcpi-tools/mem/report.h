/*
 * report.h - what dcpimem prints of a memory profile: objects, one object, threads
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_REPORT_H
#define DCPI_TOOLS_MEM_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "dcpi-tools/common/output.h"
#include "memory/verdict.h"

/* What a run with a remedy took. */
struct mem_trial {
	enum memory_verdict verdict;
	double seconds, before; /* before: without it */
	const char *missing;    /* why it could not be tried; NULL: it was */
};

struct mem_view {
	size_t limit;   /* rows at most; 0: those that cost at least a thousandth of the run */
	bool by_object; /* a row for each object, not for each allocation site */
	bool header;
	const struct mem_trial *trials;
	size_t trial_count;
};

/* Each: 0, -ENOMEM, or the stream's error. */
int mem_objects_text(const struct memory_report *report, const struct mem_view *view, const struct output *output);
int mem_objects_json(const struct memory_report *report, const struct mem_view *view, FILE *stream);
int mem_threads_text(const struct memory_report *report, const struct mem_view *view, const struct output *output);
int mem_threads_json(const struct memory_report *report, const struct mem_view *view, FILE *stream);

/*
 * The group that `name` ("makeMatrix+0x60", or "makeMatrix", if that is one group) names; with a number behind it
 * ("makeMatrix+0x60#3") also the object, in *member; else NULL there. NULL, and *similar, a group's name or NULL: there
 * is none.
 */
const struct memory_group *mem_find(const struct memory_report *report, const char *name,
                                    const struct memory_member **member, const char **similar);

int mem_object_text(const struct memory_report *report, const struct memory_group *group,
                    const struct memory_member *member, const struct mem_view *view, const struct output *output);
int mem_object_json(const struct memory_report *report, const struct memory_group *group,
                    const struct memory_member *member, FILE *stream);

#endif
