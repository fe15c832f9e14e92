/*
 * report.h - scores of recordings, for people and for docs/accuracy.md
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_ACCURACY_REPORT_H
#define DCPI_ACCURACY_REPORT_H

#include "tests/accuracy/recording.h"

/* One procedure. */
struct result_procedure {
	char name[64];
	double samples;
	struct error_histogram relative[SOURCE_COUNT];
};

struct accuracy_result {
	char name[64];
	double samples; /* of the program, all of them; the score's are those that were judged */
	bool is_kernel;
	struct accuracy_score scores[SOURCE_COUNT];
	struct result_procedure *procedures; /* by index, which means one procedure in all sources */
	size_t procedure_count;
};

/* A line each; lines of single procedures come from report_line(). */
void report_text(const struct accuracy_result *results, size_t count, enum accuracy_source source);
void report_line(const char *name, const struct accuracy_score *score);

/* The tables of docs/accuracy.md. 0 or -ENOMEM. */
int report_markdown(const struct accuracy_result *results, size_t count);

#endif
