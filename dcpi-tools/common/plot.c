#include "dcpi-tools/common/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

#define GNUPLOT      "gnuplot"
#define NAME_COLUMNS 60
#define PDF_SCALE    40.0 /* pixels in a centimetre */

/* The ground is white: letters and axes are black, and in a dark viewer a transparent one would hide them. */
static const struct {
	const char *name, *terminal;
} formats[] = {
	{"svg", "svg dynamic noenhanced background 'white' font 'sans,12'"},
	{"png", "pngcairo noenhanced background 'white' font 'sans,10'"},
	{"pdf", "pdfcairo noenhanced background 'white' font 'sans,10'"},
	{"gnuplot", "svg dynamic noenhanced background 'white' font 'sans,12'"},
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static size_t
format_of(const char *path)
{
	const char *dot = strrchr(path, '.');
	size_t format = 0;

	while (format < FORMATS && !(dot && strcasecmp(dot + 1, formats[format].name) == 0))
		format++;
	return format;
}

void
plot_begin(const char *path, double width, double height, FILE *stream)
{
	const size_t format = format_of(path);
	const bool is_pdf = strcmp(formats[format].name, "pdf") == 0;

	fprintf(stream, "set encoding utf8\nset terminal %s size %g%s,%g%s\n", formats[format].terminal,
	        is_pdf ? width / PDF_SCALE : width, is_pdf ? "cm" : "", is_pdf ? height / PDF_SCALE : height,
	        is_pdf ? "cm" : "");
}

static void
print_shown(const char *name, bool is_format, FILE *stream)
{
	char *shown = text_shown(name);
	size_t length;

	if (!shown)
		return;
	length = text_prefix(shown, NAME_COLUMNS);
	for (size_t i = 0; i < length; i++) {
		if (is_format && shown[i] == '%')
			fputs("%%", stream);
		else
			fputc(strchr("'`@\\", shown[i]) ? '?' : shown[i], stream);
	}
	if (shown[length])
		fputs("...", stream);
	free(shown);
}

void
plot_print_name(const char *name, FILE *stream)
{
	print_shown(name, true, stream);
}

void
plot_print_title(const char *title, FILE *stream)
{
	print_shown(title, false, stream);
}

/* Opens the picture's file. */
static int
draw(const char *path, picture_printer *print, const void *context, int output)
{
	char *arguments[] = {(char *)GNUPLOT, (char *)"-", NULL};
	int input = picture_source(print, context), status;

	if (input < 0)
		return message_cannot(path, "draw the plot", input, NULL);
	status = picture_run(arguments, input, output);
	close(input);
	if (status == -ENOENT) {
		message_print(path, "cannot draw the plot: there is no program 'gnuplot' (install the package "
		                    "gnuplot-nox, or name a file that ends in .gnuplot)");
		return STATUS_FAILURE;
	}
	if (status < 0)
		return message_cannot(path, "draw the plot", status, NULL);
	if (status == 0)
		return STATUS_OK;
	message_print(path, "cannot draw the plot: 'gnuplot' ended with status %d", status);
	return STATUS_FAILURE;
}

static int
write_script(const char *path, picture_printer *print, const void *context, int output)
{
	FILE *file = fdopen(output, "w");
	int err = 0;

	if (!file)
		return message_cannot(path, "write the plot", -errno, NULL);
	print(context, file);
	if (ferror(file))
		err = -EIO;
	if (fclose(file) != 0 && !err)
		err = -errno;
	return err ? message_cannot(path, "write the plot", err, NULL) : STATUS_OK;
}

int
plot_check(const char *path)
{
	if (format_of(path) < FORMATS)
		return STATUS_OK;
	message_print(path, "a plot can be drawn into a file that ends in .svg, .png, .pdf or .gnuplot");
	return STATUS_USAGE;
}

int
plot_write(const char *path, picture_printer *print, const void *context)
{
	int output, status = plot_check(path);

	if (status)
		return status;
	output = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (output < 0)
		return message_cannot(path, "write the plot", -errno, NULL);
	if (strcmp(formats[format_of(path)].name, "gnuplot") == 0)
		return write_script(path, print, context, output);
	status = draw(path, print, context, output);
	close(output);
	return status;
}
