/* A strip for each row, with a point for each set, by gnuplot. */
#include <math.h>

#include "dcpi-tools/common/picture.h"
#include "dcpi-tools/stats/report.h"

#define ROWS_DRAWN   40
#define SETS_LABELED 16   /* more, and numbers beside points cannot be read */
#define BAND         1.96 /* standard deviations: 95 % of a normal distribution */
#define STRIP_HEIGHT 26   /* pixels */
#define FRAME_HEIGHT 140

static size_t
rows_drawn(const struct stats_report *report)
{
	return report->shown < ROWS_DRAWN ? report->shown : ROWS_DRAWN;
}

static void
print_names(const struct stats_report *report, FILE *stream)
{
	fputs("set ytics (", stream);
	for (size_t i = 0; i < rows_drawn(report); i++) {
		const struct stats_row *row = report->list[i].row;

		fprintf(stream, "%s'", i ? ", " : "");
		plot_print_name(row->title ? row->title : row->path, stream);
		fprintf(stream, "' %zu", i);
	}
	fputs(")\n", stream);
}

/* Row, and by how many percent noise alone lets a count differ. */
static void
print_bands(const struct stats_report *report, FILE *stream)
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
print_points(const struct stats_report *report, bool marked, FILE *stream)
{
	fprintf(stream, "$%s << END\n", marked ? "marked" : "others");
	for (size_t i = 0; i < rows_drawn(report); i++) {
		const struct stats_report_row *row = &report->list[i];

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
	const struct stats_report *report = context;
	const size_t rows = rows_drawn(report);

	plot_begin(report->request->plot, 960, FRAME_HEIGHT + STRIP_HEIGHT * (double)rows, stream);
	print_bands(report, stream);
	print_points(report, true, stream);
	print_points(report, false, stream);
	fputs("set title '", stream);
	plot_print_name(report->event, stream);
	fprintf(stream, ": %ss in %zu sets'\n", stats_report_row_name(report), report->sets->count);
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

int
stats_report_plot(const struct stats_report *report)
{
	return plot_write(report->request->plot, print_script, report);
}
