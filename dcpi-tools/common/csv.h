/*
 * csv.h - comma-separated values, quoted as RFC 4180 says; lines end with a newline alone
 *
 * Thread rule: one thread per csv.
 */
#ifndef DCPI_TOOLS_CSV_H
#define DCPI_TOOLS_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct csv {
	FILE *stream;
	bool in_line; /* a field of this line has been written */
};

void csv_text(struct csv *csv, const char *text); /* as it is; escape what comes from outside first */
int csv_shown(struct csv *csv, const char *text); /* from outside, escaped; "" for NULL. 0 or -ENOMEM */
void csv_number(struct csv *csv, uint64_t number);
void csv_real(struct csv *csv, double number, int digits); /* so many behind the point */
void csv_end(struct csv *csv);                             /* of the line */

#endif
