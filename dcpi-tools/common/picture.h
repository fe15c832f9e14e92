/*
 * picture.h - pictures that another program draws from a text: graphviz a graph, gnuplot a plot
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

/* The index of the form, one of `names`, that the suffix of `path` asks for, in any case of letters; else `count`. */
size_t picture_form(const char *path, const char *const *names, size_t count);

/* What `print` prints, into the file at `path`. STATUS_OK, or an exit status after a message. */
int picture_write_script(const struct picture_program *program, const char *path, picture_printer *print,
                         const void *context);

/*
 * Run the program, arguments[0], with what `print` prints as its standard input, and its standard output to `output`
 * (-1: ours). STATUS_OK, or an exit status after a message about the picture at `path`.
 */
int picture_draw(const struct picture_program *program, char *const arguments[], const char *path,
                 picture_printer *print, const void *context, int output);

/* ---- plots: .svg, .png, .pdf, or .gnuplot for the input of gnuplot itself ---- */

/* Is it a name that a plot can have? STATUS_OK; STATUS_USAGE after a message. */
int plot_check(const char *path);

/* What `print` prints, which begins with plot_begin(), as a picture. STATUS_OK, or an exit status after a message. */
int plot_write(const char *path, picture_printer *print, const void *context);

/* What a plot's text begins with: the kind of picture, and its size, in pixels of a screen. */
void plot_begin(const char *path, double width, double height, FILE *stream);

/*
 * Text from outside within single quotes, without what gnuplot would replace or execute. A name beside an axis is a
 * printf format for gnuplot; a title is not.
 */
void plot_print_name(const char *name, FILE *stream);
void plot_print_title(const char *title, FILE *stream);

#endif
