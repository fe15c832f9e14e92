/*
 * lines.h - the files of /proc, line by line
 *
 * A line longer than the buffer is left out whole; the last one need not end in a newline.
 * Thread rule: one thread per reader.
 */
#ifndef DCPI_PROCESS_LINES_H
#define DCPI_PROCESS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINES_BUFFER_SIZE 65536

/* Large: keep it on the heap. */
struct line_reader {
	int fd; /* borrowed */
	size_t start, end;
	bool ended, skipping;
	char buffer[LINES_BUFFER_SIZE];
};

void lines_init(struct line_reader *reader, int fd);

/* 1 with *line set, NUL-terminated without its newline, valid until the next call; 0 at the end; -errno. */
int lines_next(struct line_reader *reader, char **line);

/* May write into `line`. 0 to go on; anything else ends the pass and becomes its result. */
typedef int lines_visit(void *context, char *line);

/* Visit every line of the file `name` in `directory`. 0, -errno, -ENAMETOOLONG, or what `visit` ended it with. */
int lines_read(const char *directory, const char *name, lines_visit *visit, void *context);

/*
 * Read a number in lower-case or upper-case hexadecimal at **at (without "0x") and move *at behind it. False when there
 * is none, or it does not fit.
 */
bool parse_hex(const char **at, uint64_t *value);
bool parse_decimal(const char **at, uint64_t *value); /* the same in decimal */

#endif
