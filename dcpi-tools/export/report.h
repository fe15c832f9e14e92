/*
 * report.h - what dcpiexport writes, and its formats
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EXPORT_REPORT_H
#define DCPI_TOOLS_EXPORT_REPORT_H

#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/sample_points.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/export/strings.h"

enum export_form {
	EXPORT_PPROF,
	EXPORT_FOLDED,
	EXPORT_CALLGRIND,
};
#define EXPORT_FORMS 3

/* What the user asked for. */
struct export_request {
	struct options options;
	struct shown_events_request shown_events;
	const char *paths[EXPORT_FORMS]; /* where to; NULL: not in this form */
	bool demangle;
	bool no_inline; /* what was inlined is no frame of its own */
	bool lines;     /* source lines, where there are some */
};

/* Offsets of an image that are mapped together: those of a segment, or where there is no file, the pages sampled. */
struct export_stretch {
	uint64_t start, end;
	uint32_t image; /* index into selection->images */
};

/* Where a point is in its image's file. */
struct export_place {
	uint64_t address; /* of the ELF file; what it has no address for: the offset */
	uint32_t stretch; /* that contains it */
	uint32_t file;    /* of strings; 0: the source is not known */
	uint32_t line;
	uint32_t inlined_count; /* what the compiler inlined there, the innermost first: from inlined[first_inlined] on
	                         */
	size_t first_inlined;
};

/* A subroutine that was inlined. All are indices into strings. */
struct export_inlined {
	uint32_t title;     /* not escaped */
	uint32_t linked;    /* its name as linked */
	uint32_t call_file; /* where it is called; 0: not known */
	uint32_t call_line;
};

/* A call stack, with the samples of all events: counts `first` to `end` - 1 of the selection. */
struct export_stack {
	uint32_t node; /* the innermost frame's */
	size_t first, end;
};

struct export_report {
	const struct export_request *request;
	struct report_choice choice;
	struct sample_points points;
	struct export_place *places;      /* of the points */
	struct export_stretch *stretches; /* by image and start */
	size_t stretch_count, stretch_capacity;
	struct export_strings *strings; /* source files, and names of what was inlined */
	struct export_inlined *inlined; /* with --stacks, of the places */
	size_t inlined_count, inlined_capacity;
	struct export_stack *stacks; /* with --stacks, by node */
	size_t stack_count;
	bool has_inlined;                       /* they are frames of their own */
	bool has_unknown;                       /* samples without an image are exported as well */
	uint64_t written[SELECTION_EVENTS_MAX]; /* samples by event, unknown ones with them */
};

/* Read what the request asks for. An exit status: 0, or another after a message. The request must stay. */
int export_report_make(struct export_report *report, const struct export_request *request, struct database *database);
void export_report_fini(struct export_report *report); /* a zeroed one is allowed */

/* The event of column `column`. */
static inline const struct selection_event *
export_report_event(const struct export_report *report, size_t column)
{
	return &report->choice.selection->events[report->choice.shown_events.events[column]];
}

/* Samples without an image, by cause; 0 when they are not asked for. */
uint64_t export_report_unknown(const struct export_report *report, uint16_t event, unsigned cause);

/* Samples of a stack; 0 for an event that it was not sampled by. */
uint64_t export_stack_samples(const struct export_report *report, const struct export_stack *stack, uint16_t event);

/* "[truncated: no-tables]", for a node without an image. */
#define EXPORT_TRUNCATED_SIZE 64
const char *export_truncated(const struct stack_node *node, char text[EXPORT_TRUNCATED_SIZE]);

/* 0, or -ENOMEM; the stream keeps its own errors. */
int export_write_pprof(const struct export_report *report, FILE *stream);
int export_write_folded(const struct export_report *report, FILE *stream);
int export_write_callgrind(const struct export_report *report, FILE *stream);

/* Write all requested files. An exit status after a message, STATUS_OK, or TOOL_PRINTS with --json. */
int export_report_write(const struct export_report *report);

/* What was written. 0, -ENOMEM, -EIO. */
int export_report_print_json(const struct export_report *report, FILE *stream);

#endif
