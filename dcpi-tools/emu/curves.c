/* Throughput over threads, a curve for each machine. */
#include "dcpi-tools/common/picture.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emu/sweep.h"

#define WIDTH  820 /* pixels */
#define HEIGHT 560

static const char *const colors[] = {"#3070b0", "#c03020", "#309050", "#a060a0", "#d08020", "#207080"};
#define COLORS (sizeof(colors) / sizeof(colors[0]))

/* Where the points of the next machine begin. */
static size_t
next_machine(const struct sweep *sweep, size_t at)
{
	const struct machine *machine = sweep->points[at].machine;

	while (at < sweep->count && sweep->points[at].machine == machine)
		at++;
	return at;
}

static unsigned
most_threads(const struct sweep *sweep)
{
	unsigned most = 1;

	for (size_t i = 0; i < sweep->count; i++)
		if (sweep->points[i].threads > most)
			most = sweep->points[i].threads;
	return most;
}

/* Threads, throughput, and what the slowest and the fastest run had. */
static void
print_data(const struct sweep *sweep, FILE *stream)
{
	size_t machine = 0;

	for (size_t i = 0; i < sweep->count; i = next_machine(sweep, i)) {
		const double first = sweep->points[i].median;

		fprintf(stream, "$machine%zu << END\n", machine++);
		for (size_t j = i; j < next_machine(sweep, i); j++) {
			const struct sweep_point *point = &sweep->points[j];

			fprintf(stream, "%u %.6g %.6g %.6g\n", point->threads, point->throughput,
			        first / point->seconds[point->runs - 1], first / point->seconds[0]);
		}
		fputs("END\n", stream);
	}
}

static void
print_frame(const struct sweep *sweep, FILE *stream)
{
	const unsigned first = sweep->points[0].first, most = most_threads(sweep);

	fputs("set title '", stream);
	plot_print_title(text_basename(sweep->command[0]), stream);
	for (size_t i = 1; sweep->command[i]; i++) {
		fputc(' ', stream);
		plot_print_title(sweep->command[i], stream);
	}
	fputs("'\nset xlabel 'threads'\n", stream);
	fprintf(stream,
	        "set ylabel 'throughput (%u %s = 1)'\n"
	        "set xrange [0.5:%u.5]\nset yrange [0:*]\nset grid\nset key left top reverse Left\nset tics nomirror\n"
	        "%s\n",
	        first, first == 1 ? "thread" : "threads", most, most <= 24 ? "set xtics 1" : "");
}

/* How a machine's curve looks. */
static void
print_style(size_t machine, FILE *stream)
{
	fprintf(stream, " with linespoints linewidth 2 pointtype %zu pointsize 0.8 linecolor rgb '%s'",
	        4 + machine % 10, colors[machine % COLORS]);
}

/* The points of the machine that begin at `at`. */
static void
print_curve(const struct sweep *sweep, size_t at, size_t machine, FILE *stream)
{
	if (sweep->points[at].runs > 1)
		fprintf(stream, ", \\\n  $machine%zu using 1:2:3:4 with yerrorbars linecolor rgb '%s' notitle", machine,
		        colors[machine % COLORS]);
	fprintf(stream, ", \\\n  $machine%zu using 1:2", machine);
	print_style(machine, stream);
	fputs(" notitle", stream);
}

/* Long curves first: a short one on the same points would not be seen below them. The key has the order of machines. */
static void
print_curves(const struct sweep *sweep, FILE *stream)
{
	size_t machine = 0;

	fprintf(stream, "plot x/%u with lines dashtype 2 linecolor rgb '#808080' title 'perfect scale'",
	        sweep->points[0].first);
	for (size_t length = sweep->count; length > 0; length--) {
		machine = 0;
		for (size_t i = 0; i < sweep->count; i = next_machine(sweep, i), machine++)
			if (next_machine(sweep, i) - i == length)
				print_curve(sweep, i, machine, stream);
	}
	machine = 0;
	for (size_t i = 0; i < sweep->count; i = next_machine(sweep, i)) {
		fputs(", \\\n  keyentry", stream);
		print_style(machine++, stream);
		fputs(" title '", stream);
		plot_print_title(sweep->points[i].machine->title, stream);
		fputc('\'', stream);
	}
	fputc('\n', stream);
}

static void
print_script(const void *context, FILE *stream)
{
	const struct sweep *sweep = context;

	plot_begin(sweep->plot, WIDTH, HEIGHT, stream);
	print_data(sweep, stream);
	print_frame(sweep, stream);
	print_curves(sweep, stream);
}

int
sweep_plot(const struct sweep *sweep)
{
	return plot_write(sweep->plot, print_script, sweep);
}
