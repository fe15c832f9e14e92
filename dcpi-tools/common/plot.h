/*
 * plot.h - a picture that gnuplot draws into a file, in the form that the file's name asks for
 *
 * .svg, .png, .pdf, or .gnuplot: what gnuplot would be given. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_PLOT_H
#define DCPI_TOOLS_PLOT_H

#include "dcpi-tools/common/picture.h"

/* Is it a name that a plot can have? STATUS_OK; STATUS_USAGE after a message. */
int plot_check(const char *path);

/* What `print` prints, which begins with plot_begin(), as a picture. STATUS_OK, or an exit status after a message. */
int plot_write(const char *path, picture_printer *print, const void *context);

/* What a picture's text begins with: the kind of picture, and its size, in pixels of a screen. */
void plot_begin(const char *path, double width, double height, FILE *stream);

/*
 * Text from outside within single quotes: nothing that gnuplot would replace or execute. A name beside an axis is a
 * format, too; a title is none.
 */
void plot_print_name(const char *name, FILE *stream);
void plot_print_title(const char *title, FILE *stream);

#endif
