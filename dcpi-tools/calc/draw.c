#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/calc/report.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/picture.h"

#define DOT  "dot" /* of graphviz */
#define SLOW 1000  /* blocks, or more, take 'dot' long: 5,000 were not drawn in nine minutes */

static const char *const formats[] = {"svg", "png", "pdf", "dot"};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static const char *
format_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < FORMATS; i++)
		if (strcasecmp(dot + 1, formats[i]) == 0)
			return formats[i];
	return NULL;
}

static void
print_source(const void *context, FILE *stream)
{
	graph_print(context, stream);
}

/* Its exit status, or a negative errno. */
static int
run_dot(const char *format, const char *path, int input)
{
	char format_option[16];
	char *arguments[] = {(char *)DOT, format_option, (char *)"-o", (char *)path, NULL};

	snprintf(format_option, sizeof(format_option), "-T%s", format);
	return picture_run(arguments, input, -1);
}

static int
write_source(const struct report *report, const char *path)
{
	FILE *file = fopen(path, "we");
	int err = 0;

	if (!file)
		return message_cannot(path, "write the graph", -errno, NULL);
	graph_print(report, file);
	if (ferror(file))
		err = -EIO;
	if (fclose(file) != 0 && !err)
		err = -errno;
	return err ? message_cannot(path, "write the graph", err, NULL) : STATUS_OK;
}

static int
draw(const struct report *report, const char *format)
{
	const char *path = report->request->graph;
	const size_t drawn = graph_drawn_blocks(report);
	int input = picture_source(print_source, report), status;

	if (input < 0)
		return message_cannot(path, "draw the graph", input, NULL);
	if (drawn >= SLOW)
		message_print(path,
		              "drawing %zu blocks may take long: '--cutoff 1' leaves out those that do not matter",
		              drawn);
	status = run_dot(format, path, input);
	close(input);
	if (status == -ENOENT) {
		message_print(path,
		              "cannot draw the graph: there is no program 'dot' (install the package graphviz, or "
		              "name a file that ends in .dot)");
		return STATUS_FAILURE;
	}
	if (status < 0)
		return message_cannot(path, "draw the graph", status, NULL);
	if (status == 0)
		return STATUS_OK;
	message_print(path, "cannot draw the graph: 'dot' ended with status %d", status);
	return STATUS_FAILURE;
}

int
calc_report_draw(const struct report *report)
{
	const char *path = report->request->graph, *format = format_of(path);

	if (!format) {
		message_print(path, "a graph can be drawn into a file that ends in .svg, .png, .pdf or .dot");
		return STATUS_USAGE;
	}
	return strcmp(format, "dot") == 0 ? write_source(report, path) : draw(report, format);
}
