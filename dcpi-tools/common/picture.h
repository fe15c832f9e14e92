/*
 * picture.h - pictures that another program draws from a text
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_PICTURE_H
#define DCPI_TOOLS_PICTURE_H

#include <stdio.h>

typedef void picture_printer(const void *context, FILE *stream);

/* What `print` prints, as a file without a name, open at its beginning: a descriptor for the caller to close, or
 * -errno. */
int picture_source(picture_printer *print, const void *context);

/*
 * Run the program arguments[0] with standard input from `input`, and standard output to `output` (-1: ours). Its exit
 * status; -ENOENT when there is no such program; another negative errno.
 */
int picture_run(char *const arguments[], int input, int output);

#endif
