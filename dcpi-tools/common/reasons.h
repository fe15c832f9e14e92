/*
 * reasons.h - the letters in front of a stall, and what they stand for
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_REASONS_H
#define DCPI_TOOLS_REASONS_H

#include <stddef.h>

#define REASON_COUNT 16

/* In the order in which the letters stand beside each other: "dwD". */
struct reason {
	char letter;
	const char *text;   /* "D-cache miss" */
	const char *detail; /* for the legend, a sentence */
};

extern const struct reason reasons[REASON_COUNT];

/* The index of a letter in reasons[]; REASON_COUNT when it is none. */
size_t reason_find(char letter);

#endif
