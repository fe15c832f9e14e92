/* A strip for each row, with a point for each set, by gnuplot. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/picture.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/stats/report.h"

#define GNUPLOT      "gnuplot"
#define ROWS_DRAWN   40
#define SETS_LABELED 16 /* more, and numbers beside points cannot be read */
#define NAME_COLUMNS 60
#define BAND         1.96 /* standard deviations: 95 % of what is random */
#define STRIP_HEIGHT 26   /* pixels */
#define FRAME_HEIGHT 140

static const struct {
	const char *name, *terminal;
} formats[] = {
	{"svg", "svg dynamic noenhanced font 'sans,12'"},
	{"png", "pngcairo noenhanced font 'sans,10'"},
	{"pdf", "pdfcairo noenhanced font 'sans,10'"},
	{"gnuplot", "svg dynamic noenhanced font 'sans,12'"},
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

/* A name from outside within single quotes: nothing that gnuplot would replace or execute, and no format. */
static void
print_name(const char *name, FILE *stream)
{
	char *shown = text_shown(name);
	size_t length;

	if (!shown)
		return;
	length = text_prefix(shown, NAME_COLUMNS);
	for (size_t i = 0; i < length; i++) {
		if (shown[i] == '%')
			fputs("%%", stream);
		else
			fputc(strchr("'`@\\", shown[i]) ? '?' : shown[i], stream);
	}
	if (shown[length])
		fputs("...", stream);
	free(shown);
}

static size_t
rows_drawn(const struct report *report)
{
	return report->shown < ROWS_DRAWN ? report->shown : ROWS_DRAWN;
}

static void
print_names(const struct report *report, FILE *stream)
{
	fputs("set ytics (", stream);
	for (size_t i = 0; i < rows_drawn(report); i++) {
		const struct row *row = report->list[i].row;

		fprintf(stream, "%s'", i ? ", " : "");
		print_name(row->title ? row->title : row->path, stream);
		fprintf(stream, "' %zu", i);
	}
	fputs(")\n", stream);
}

/* Row, and by how many percent noise alone lets a count differ. */
static void
print_bands(const struct report *report, FILE *stream)
{
	fputs("$bands << END\n", stream);
	for (size_t i = 0; i < rows_drawn(report); i++) {
		const struct variation_row *values = &report->list[i].variation;
		double noise = values->is_tested ? values->noise : report->variation.noise;

		fprintf(stream, "%zu %.6g\n", i, 100 * BAND * sqrt(1 / values->mean_count + noise * noise));
	}
	fputs("END\n", stream);
}

/* Distance from the mean in percent, row, number of the set. */
static void
print_points(const struct report *report, bool marked, FILE *stream)
{
	fprintf(stream, "$%s << END\n", marked ? "marked" : "others");
	for (size_t i = 0; i < rows_drawn(report); i++) {
		const struct report_row *row = &report->list[i];

		for (size_t j = 0; j < report->sets->count && row->is_marked == marked; j++)
			fprintf(stream, "%.6g %zu %zu\n",
			        100 * ((double)row->row->counts[j] * report->factors[j] / row->variation.mean - 1), i,
			        j + 1);
	}
	fputs("0 -9 0\nEND\n", stream); /* no block may be empty; this one lies outside */
}

static void
print_script(const void *context, FILE *stream)
{
	const struct report *report = context;
	const size_t rows = rows_drawn(report), format = format_of(report->request->plot);
	const bool is_pdf = strcmp(formats[format].name, "pdf") == 0;

	fprintf(stream, "set encoding utf8\nset terminal %s size %s,%g%s\n", formats[format].terminal,
	        is_pdf ? "24cm" : "960", (double)(FRAME_HEIGHT + STRIP_HEIGHT * rows) / (is_pdf ? 40 : 1),
	        is_pdf ? "cm" : "");
	print_bands(report, stream);
	print_points(report, true, stream);
	print_points(report, false, stream);
	fputs("set title '", stream);
	print_name(report->event, stream);
	fprintf(stream, ": %ss in %zu sets'\n", report_row_name(report), report->sets->count);
	fputs("set xlabel 'samples of a set, more or less than the mean of all, in percent'\n", stream);
	print_names(report, stream);
	fprintf(stream,
	        "set yrange [%zu.5:-0.5]\nset offsets graph 0.02, graph 0.02, 0, 0\nset grid xtics\n"
	        "set key outside top center horizontal samplen 1 width 2\nset tics out nomirror\n"
	        "set arrow from 0, graph 0 to 0, graph 1 nohead linecolor rgb '#808080'\n",
	        rows > 0 ? rows - 1 : 0);
	fputs("plot $bands using (0):1:2:(0.4) with boxxyerror fillstyle solid noborder linecolor rgb '#e4e4e4' "
	      "title 'noise (95 %)', \\\n"
	      "  $others using 1:2 with points pointtype 6 pointsize 0.9 linecolor rgb '#3070b0' title 'a set', \\\n"
	      "  $marked using 1:2 with points pointtype 7 pointsize 0.9 linecolor rgb '#c03020' title 'varies more'",
	      stream);
	if (report->sets->count <= SETS_LABELED)
		fputs(", \\\n  $marked using 1:2:3 with labels offset 0,0.7 font ',8' notitle", stream);
	fputc('\n', stream);
}

/* Opens the picture's file. */
static int
draw(const struct report *report, int output)
{
	char *arguments[] = {(char *)GNUPLOT, (char *)"-", NULL};
	int input = picture_source(print_script, report), status;

	if (input < 0)
		return message_cannot(report->request->plot, "draw the plot", input, NULL);
	status = picture_run(arguments, input, output);
	close(input);
	if (status == -ENOENT) {
		message_print(report->request->plot, "cannot draw the plot: there is no program 'gnuplot' (install the "
		                                     "package gnuplot-nox, or name a file that ends in .gnuplot)");
		return STATUS_FAILURE;
	}
	if (status < 0)
		return message_cannot(report->request->plot, "draw the plot", status, NULL);
	if (status == 0)
		return STATUS_OK;
	message_print(report->request->plot, "cannot draw the plot: 'gnuplot' ended with status %d", status);
	return STATUS_FAILURE;
}

static int
write_script(const struct report *report, int output)
{
	FILE *file = fdopen(output, "w");
	int err = 0;

	if (!file)
		return message_cannot(report->request->plot, "write the plot", -errno, NULL);
	print_script(report, file);
	if (ferror(file))
		err = -EIO;
	if (fclose(file) != 0 && !err)
		err = -errno;
	return err ? message_cannot(report->request->plot, "write the plot", err, NULL) : STATUS_OK;
}

int
report_plot(const struct report *report)
{
	const char *path = report->request->plot;
	const size_t format = format_of(path);
	int output, status;

	if (format == FORMATS) {
		message_print(path, "a plot can be drawn into a file that ends in .svg, .png, .pdf or .gnuplot");
		return STATUS_USAGE;
	}
	output = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (output < 0)
		return message_cannot(path, "write the plot", -errno, NULL);
	if (strcmp(formats[format].name, "gnuplot") == 0)
		return write_script(report, output);
	status = draw(report, output);
	close(output);
	return status;
}
