#include "dcpi-tools/mem/plot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/picture.h"

#define WIDTH      800
#define HEIGHT     480
#define POINTS_MAX 1000 /* of each node: more lie on each other, and a picture must stay small */
#define MS         1e6  /* ns */

/* Readable on a light and on a dark ground, and for those who see red and green alike (Okabe and Ito, 2008). */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#8a7f00", "#999999"};

struct object_plot {
	const struct memory_report *report;
	const struct memory_member *member;
	const char *title, *path;
	uint64_t nodes[MEMORY_NODES_MAX]; /* accesses by node */
};

/* In which offsets are drawn. */
struct plot_unit {
	uint64_t least, bytes; /* of objects of this size or more; of one unit */
	const char *name;
};

struct threads_plot {
	const struct memory_report *report;
	const char *path;
	uint64_t *counts; /* by thread, then by node of the memory */
	uint64_t *from;   /* by thread, then by node on which it ran */
};

static const char *
colour_of(unsigned node)
{
	return colours[node % ARRAY_COUNT(colours)];
}

/* ---- an object over time ---- */

static const struct plot_unit *
unit_of(uint64_t size)
{
	static const struct plot_unit units[] = {
		{UINT64_C(4) << 30, UINT64_C(1) << 30, "GiB"},
		{UINT64_C(4) << 20, UINT64_C(1) << 20, "MiB"},
		{UINT64_C(4) << 10, UINT64_C(1) << 10, "KiB"},
		{0, 1, "byte"},
	};
	const struct plot_unit *unit = units;

	while (size < unit->least)
		unit++;
	return unit;
}

static void
print_points(const struct object_plot *plot, unsigned node, const struct plot_unit *unit, FILE *stream)
{
	const uint64_t each = plot->nodes[node] / POINTS_MAX + 1;
	uint64_t seen = 0;

	fprintf(stream, "$node%u << EOD\n", node);
	for (uint32_t i = 0; i < plot->member->count; i++) {
		const struct memory_access *access = memory_member_access(plot->report, plot->member, i);

		if (access->node == node && seen++ % each == 0)
			fprintf(stream, "%.6f %.10g %d\n", (double)access->time_ns / MS,
			        (double)access->offset / (double)unit->bytes, access->flags & MEMORY_STORE ? 1 : 0);
	}
	fputs("EOD\n", stream);
}

static void
print_object(const void *context, FILE *stream)
{
	const struct object_plot *plot = context;
	const struct plot_unit *unit = unit_of(plot->report->profile->objects[plot->member->object].size);
	const char *separator = "plot ";

	plot_begin_white(plot->path, WIDTH, HEIGHT, stream);
	for (unsigned node = 0; node < MEMORY_NODES_MAX; node++) {
		if (plot->nodes[node])
			print_points(plot, node, unit, stream);
	}
	fputs("set title '", stream);
	plot_print_title(plot->title, stream);
	fprintf(stream,
	        "' noenhanced\nset xlabel 'time, ms'\nset ylabel '%s of the object'\n"
	        "set yrange [0:*]\nset xrange [0:*]\n",
	        unit->name);
	for (unsigned node = 0; node < MEMORY_NODES_MAX; node++) {
		if (!plot->nodes[node])
			continue;
		fprintf(stream,
		        "%s$node%u using 1:($3 == 0 ? $2 : NaN) with points pointtype 6 pointsize 0.4 "
		        "linecolor rgb '%s' title 'node %u reads', "
		        "$node%u using 1:($3 == 1 ? $2 : NaN) with points pointtype 7 pointsize 0.4 "
		        "linecolor rgb '%s' title 'node %u writes'",
		        separator, node, colour_of(node), node, node, colour_of(node), node);
		separator = ", ";
	}
	fputs("\n", stream);
}

int
mem_plot_object(const struct memory_report *report, const struct memory_member *member, const char *title,
                const char *path)
{
	struct object_plot plot = {.report = report, .member = member, .title = title, .path = path};

	for (uint32_t i = 0; i < member->count; i++)
		plot.nodes[memory_member_access(report, member, i)->node]++;
	return plot_write(path, print_object, &plot);
}

/* ---- threads and nodes ---- */

static bool
has_accesses(const struct threads_plot *plot, size_t thread)
{
	for (unsigned node = 0; node < MEMORY_NODES_MAX; node++) {
		if (plot->counts[thread * MEMORY_NODES_MAX + node])
			return true;
	}
	return false;
}

static bool
has_unknown(const struct threads_plot *plot)
{
	const struct memory_evidence *all = &plot->report->all;

	return all->to_node[MEMORY_NODE_HERE] || all->to_node[MEMORY_NODE_AWAY];
}

/* With the node on which it ran most, where that is known: what is of another node is remote. */
static void
print_thread_name(const struct threads_plot *plot, size_t thread, FILE *stream)
{
	const uint64_t *from = &plot->from[thread * MEMORY_NODES_MAX];
	unsigned most = 0;

	for (unsigned node = 1; node < MEMORY_NODES_MAX; node++)
		most = from[node] > from[most] ? node : most;
	fprintf(stream, "\"%" PRIu32, plot->report->profile->threads[thread].tid);
	if (most < MEMORY_NODE_HERE)
		fprintf(stream, " on %u", most);
	fputs("\"", stream);
}

static void
print_threads(const void *context, FILE *stream)
{
	const struct threads_plot *plot = context;
	const struct memory_profile *profile = plot->report->profile;
	const uint64_t nodes = profile->totals.nodes ? profile->totals.nodes : 1;

	plot_begin_white(plot->path, WIDTH, HEIGHT, stream);
	fputs("$threads << EOD\n", stream);
	for (size_t i = 0; i < profile->thread_count; i++) {
		if (!has_accesses(plot, i))
			continue;
		print_thread_name(plot, i, stream);
		for (uint64_t node = 0; node < nodes; node++)
			fprintf(stream, " %" PRIu64, plot->counts[i * MEMORY_NODES_MAX + node]);
		if (has_unknown(plot))
			fprintf(stream, " %" PRIu64,
			        plot->counts[i * MEMORY_NODES_MAX + MEMORY_NODE_HERE] +
			                plot->counts[i * MEMORY_NODES_MAX + MEMORY_NODE_AWAY]);
		fputs("\n", stream);
	}
	fputs("EOD\nset title 'Accesses to the memory of each node'\nset xlabel 'thread, on the node where it "
	      "ran'\nset ylabel 'accesses'\n"
	      "set style data histograms\nset style histogram rowstacked\n"
	      "set style fill solid border -1\nset boxwidth 0.8\nset xtics rotate by -45\nset yrange [0:*]\nset format "
	      "y '%.1s %c'\n",
	      stream);
	for (uint64_t node = 0; node < nodes; node++) {
		fprintf(stream, "%s$threads using %" PRIu64 ":xtic(1) linecolor rgb '%s' title 'node %" PRIu64 "'",
		        node ? ", " : "plot ", node + 2, colour_of((unsigned)node), node);
	}
	if (has_unknown(plot))
		fprintf(stream, ", $threads using %" PRIu64 ":xtic(1) linecolor rgb '#999999' title 'not known'",
		        nodes + 2);
	fputs("\n", stream);
}

int
mem_plot_threads(const struct memory_report *report, const char *path)
{
	const struct memory_profile *profile = report->profile;
	struct threads_plot plot = {.report = report, .path = path};
	int status;

	plot.counts = calloc((profile->thread_count + 1) * MEMORY_NODES_MAX, sizeof(*plot.counts));
	plot.from = calloc((profile->thread_count + 1) * MEMORY_NODES_MAX, sizeof(*plot.from));
	if (!plot.counts || !plot.from) {
		free(plot.counts);
		free(plot.from);
		return message_cannot(path, "draw the plot", -ENOMEM, NULL);
	}
	for (size_t i = 0; i < profile->access_count; i++) {
		const struct memory_access *access = &profile->accesses[i];

		if (!memory_access_is_of_memory(access))
			continue;
		plot.counts[access->thread * (size_t)MEMORY_NODES_MAX + access->page_node] += access->weight;
		plot.from[access->thread * (size_t)MEMORY_NODES_MAX + access->node] += access->weight;
	}
	status = plot_write(path, print_threads, &plot);
	free(plot.counts);
	free(plot.from);
	return status;
}
