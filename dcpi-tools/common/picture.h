/*
 * picture.h - pictures that another program draws from a text: graphviz draws graphs, gnuplot plots
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_PICTURE_H
#define DCPI_TOOLS_PICTURE_H

#include <stddef.h>
#include <stdio.h>

/* Write the text, `context`, for the program to `stream`. */
typedef void picture_printer(const void *context, FILE *stream);

/* A program that draws: parts of messages. */
struct picture_program {
	const char *name, *package; /* "gnuplot", which is in the package "gnuplot-nox" */
	const char *draw, *write;   /* "draw the plot", "write the plot" */
	const char *script_suffix;  /* of a file that gets the program's input instead: ".gnuplot" */
};

/* The index in `names` of the form that the suffix of `path` names, in upper or lower case; else `count`. */
size_t picture_form(const char *path, const char *const *names, size_t count);

/* Write the output of `print` to the file at `path`. STATUS_OK, or an exit status after a message. */
int picture_write_script(const struct picture_program *program, const char *path, picture_printer *print,
                         const void *context);

/*
 * Run the program, arguments[0], with the output of `print` as its standard input, and its standard output to `output`
 * (-1: ours). STATUS_OK, or an exit status after a message about the picture at `path`.
 */
int picture_draw(const struct picture_program *program, char *const arguments[], const char *path,
                 picture_printer *print, const void *context, int output);

/* ---- plots: .svg, .png, .pdf, or .gnuplot for the input of gnuplot itself ---- */

/* Check that `path` has a suffix for plots. STATUS_OK; STATUS_USAGE after a message. */
int plot_check(const char *path);

/*
 * Write the output of `print`, which begins with plot_begin(), as a picture. STATUS_OK, or an exit status after a
 * message.
 */
int plot_write(const char *path, picture_printer *print, const void *context);

/* Print the beginning of a plot's text: the kind of picture, and its size, in pixels of a screen. */
void plot_begin(const char *path, double width, double height, FILE *stream);

/* As plot_begin(), for a picture that may be shown on any ground: its own is white, its frame grey, its key outside. */
void plot_begin_white(const char *path, double width, double height, FILE *stream);

/*
 * Print text from outside in single quotes, without anything that gnuplot would replace or execute. A name beside an
 * axis is a printf format for gnuplot; a title is not.
 */
void plot_print_name(const char *name, FILE *stream);
void plot_print_title(const char *title, FILE *stream);

#endif
