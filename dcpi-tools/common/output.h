/*
 * output.h - standard output: a terminal with colours and a pager, or a pipe without
 *
 * Thread rule: one thread, one output a process (it takes standard output over).
 */
#ifndef DCPI_TOOLS_OUTPUT_H
#define DCPI_TOOLS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

enum color_mode {
	COLOR_AUTO, /* on a terminal, unless NO_COLOR is set and not empty, or TERM is dumb */
	COLOR_ALWAYS,
	COLOR_NEVER,
};

enum style {
	STYLE_PLAIN,
	STYLE_HEADING,
	STYLE_HOT,
	STYLE_FAINT,
	STYLE_WARNING,
};

struct output {
	FILE *stream;
	size_t width; /* columns of the terminal; 0: no terminal, nothing is cut */
	bool color;
	pid_t pager; /* 0: none */
};

/*
 * Prepare standard output. With `page` and on a terminal, it goes through $PAGER (less -FRX if that is not set; none if
 * it is empty or "cat"); if the pager cannot be started, output goes directly to the terminal.
 */
void output_open(struct output *output, enum color_mode color, bool page);

/*
 * Flush, wait for the pager. 0, or the negative errno of a write that failed; -EPIPE counts as 0: the reader stopped
 * early.
 */
int output_close(struct output *output);

/* The sequence that begins `style`, and the one that ends it; "" without colours. */
const char *output_style(const struct output *output, enum style style);
const char *output_plain(const struct output *output, enum style style);

#endif
