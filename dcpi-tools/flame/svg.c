#include "dcpi-tools/flame/svg.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/text.h"

/* In units of the picture. The script (flame.js) has the first four, too. */
#define WIDTH      1200
#define CHARACTER  7.25 /* of a monospaced font of 12 units */
#define PADDING    3
#define CUT_LEAST  3 /* a name with fewer characters says nothing */
#define ROW        18
#define TOP        86 /* of the first row */
#define BOTTOM     10
#define TITLE_LINE 24
#define ABOUT_LINE 46
#define KEY_LINE   70
#define MARGIN     10

/* So wide is what fits beside the search field, and into the line below it. */
#define TITLE_COLUMNS  76
#define EVENT_COLUMNS  24
#define FILTER_COLUMNS 40

/* The script as it is, with a NUL behind it. The Makefile says which object depends on it. */
__asm__(".section .rodata\n"
        ".global flame_script\n"
        "flame_script:\n"
        ".incbin \"dcpi-tools/flame/flame.js\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char flame_script[];

/* ---- text ---- */

/* What text_shown() made has no control characters; U+FFFE and U+FFFF are no characters of XML. */
static void
print_escaped(const char *shown, size_t size, FILE *stream)
{
	for (size_t i = 0; i < size; i++) {
		const unsigned char *at = (const unsigned char *)shown + i;

		if (*at == '&')
			fputs("&amp;", stream);
		else if (*at == '<')
			fputs("&lt;", stream);
		else if (*at == '>')
			fputs("&gt;", stream);
		else if (*at == '"')
			fputs("&quot;", stream);
		else if (size - i >= 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe) {
			fputc('?', stream);
			i += 2;
		} else {
			fputc(*at, stream);
		}
	}
}

/* At most `columns` of it, the last an ellipsis where it is cut. */
static int
print_text(const char *text, size_t columns, FILE *stream)
{
	char *shown = text_shown(text);

	if (!shown)
		return -ENOMEM;
	if (text_width(shown) <= columns) {
		print_escaped(shown, strlen(shown), stream);
	} else {
		print_escaped(shown, text_prefix(shown, columns - 1), stream);
		fputs("\xe2\x80\xa6", stream);
	}
	free(shown);
	return 0;
}

/* ---- colours: on all of them black letters have a contrast of 6 and more ---- */

#define GREY "#d9d9d9"

/* The colours of an origin; images of one origin differ in hue and lightness. */
static const struct flame_colors {
	const char *name;
	double hue, hue_range; /* degrees */
	double saturation, lightness, lightness_range;
} colors[FLAME_ORIGINS] = {
	[FLAME_PROGRAM] = {"program", 44, 14, 0.90, 0.66, 0.10},
	[FLAME_LIBRARY] = {"library", 95, 95, 0.45, 0.68, 0.10},
	[FLAME_KERNEL] = {"kernel", 10, 14, 0.85, 0.72, 0.06},
	[FLAME_RUN_TIME] = {"run-time code", 265, 40, 0.60, 0.78, 0.06},
	[FLAME_TRUNCATED] = {.name = "truncated"},
};

/* FNV-1a: an image has its colour in all pictures. */
static uint32_t
hash_text(const char *text)
{
	uint32_t hash = 2166136261;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619;
	return hash ^ hash >> 15;
}

/* A component of HSL's colour: CSS Color 4, 7.1. */
static unsigned
component(double hue, double saturation, double lightness, double offset)
{
	const double k = fmod(offset + hue / 30, 12);
	const double a = saturation * fmin(lightness, 1 - lightness);

	return (unsigned)lround(255 * (lightness - a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1))));
}

static void
print_color(enum flame_origin origin, uint32_t hash, FILE *stream)
{
	const struct flame_colors *from = &colors[origin];
	const double hue = from->hue + from->hue_range * (double)(hash & 0xff) / 255;
	const double lightness = from->lightness + from->lightness_range * (double)(hash >> 8 & 0xff) / 255;

	if (origin == FLAME_TRUNCATED)
		fputs("url(#flame-hatch)", stream);
	else
		fprintf(stream, "#%02x%02x%02x", component(hue, from->saturation, lightness, 0),
		        component(hue, from->saturation, lightness, 8), component(hue, from->saturation, lightness, 4));
}

/* A difference is the darker, the less likely it is chance; the first step begins where it is one. */
#define STEPS 3
static const double step_chances[STEPS] = {1, 1e-3, 1e-6};
static const char *const more_colors[STEPS] = {"#fbd0c8", "#f69a8b", "#ee6a58"};
static const char *const less_colors[STEPS] = {"#cddcf8", "#9bbcf0", "#6b9ae6"};

static const char *
difference_color(const struct diff_comparison *comparison)
{
	unsigned step = 0;

	if (!comparison->is_marked)
		return GREY;
	while (step + 1 < STEPS && comparison->chance <= step_chances[step + 1])
		step++;
	return comparison->change > 0 ? more_colors[step] : less_colors[step];
}

static void
print_fill(const struct flame_svg *svg, const struct flame_node *node, FILE *stream)
{
	const struct flame_frame *frame = &svg->graph->frames[node->frame];

	if (node->depth == 0)
		fputs(GREY, stream);
	else if (svg->graph->set_count == 2 && frame->origin != FLAME_TRUNCATED)
		fputs(difference_color(&node->comparison), stream);
	else
		print_color(frame->origin, frame->image ? hash_text(text_basename(frame->image)) : 0, stream);
}

/* ---- what stands above the frames ---- */

static double
percent(uint64_t samples, uint64_t all)
{
	return all > 0 ? 100 * (double)samples / (double)all : 0;
}

/* Of the first set's samples, those of stacks that the second has none of, and so have no width. */
static uint64_t
count_gone(const struct flame_graph *graph)
{
	uint64_t gone = 0;

	for (size_t i = 1; i < graph->node_count; i++) {
		const struct flame_node *node = &graph->nodes[i];

		if (node->samples[1].count == 0 && graph->nodes[node->parent].samples[1].count > 0)
			gone += node->samples[0].count;
	}
	return gone;
}

static int
print_head(const struct flame_svg *svg, FILE *stream)
{
	const struct flame_graph *graph = svg->graph;
	const struct flame_node *root = &graph->nodes[0];
	const size_t last = graph->set_count - 1;
	int err;

	fprintf(stream, "<text x=\"%d\" y=\"%d\" font-size=\"16\" font-weight=\"bold\">", MARGIN, TITLE_LINE);
	err = print_text(svg->title, TITLE_COLUMNS, stream);
	fprintf(stream, "</text>\n<text x=\"%d\" y=\"%d\">Call stacks of ", MARGIN, ABOUT_LINE);
	if (last)
		fprintf(stream, "%" PRIu64 " samples before and ", root->samples[0].count);
	fprintf(stream, "%" PRIu64 " samples%s (", root->samples[last].count, last ? " after" : "");
	if (!err)
		err = print_text(svg->event, EVENT_COLUMNS, stream);
	if (!err && svg->filter[0]) {
		fputs(", ", stream);
		err = print_text(svg->filter, FILTER_COLUMNS, stream);
	}
	fputs(")", stream);
	if (graph->truncated[last])
		fprintf(stream, "; %.2f%% truncated", percent(graph->truncated[last], root->samples[last].count));
	if (last)
		fprintf(stream, "; %.2f%% of before in stacks that are gone",
		        percent(count_gone(graph), root->samples[0].count));
	fputs("</text>\n", stream);
	return err;
}

/* A patch of a colour and what it stands for, which has no markup; returns where the next one begins. */
static double
print_key(double x, const char *fill, const char *text, FILE *stream)
{
	fprintf(stream, "<rect x=\"%.2f\" y=\"%d\" width=\"14\" height=\"14\" fill=\"%s\" stroke=\"#767676\"/>", x,
	        KEY_LINE - 11, fill);
	fprintf(stream, "<text x=\"%.2f\" y=\"%d\">%s</text>\n", x + 19, KEY_LINE, text);
	return x + 19 + (double)text_width(text) * CHARACTER + 14;
}

static double
print_steps(double x, const struct flame_svg *svg, const char *what, const char *const fills[STEPS], FILE *stream)
{
	for (unsigned step = 0; step < STEPS; step++) {
		char text[64];

		snprintf(text, sizeof(text), "%s%g", step == 0 ? what : "",
		         step == 0 ? svg->alpha : step_chances[step]);
		x = print_key(x, fills[step], text, stream);
	}
	return x;
}

static void
print_difference_key(const struct flame_svg *svg, FILE *stream)
{
	double x = print_steps(MARGIN, svg, "shrank: p \xe2\x89\xa4 ", less_colors, stream);

	x = print_steps(x, svg, "grew: p \xe2\x89\xa4 ", more_colors, stream);
	x = print_key(x, GREY, "within sampling error", stream);
	print_key(x, "url(#flame-hatch)", colors[FLAME_TRUNCATED].name, stream);
}

static void
print_origin_key(FILE *stream)
{
	double x = MARGIN;

	for (unsigned origin = 0; origin < FLAME_ORIGINS; origin++) {
		char fill[32] = "";
		FILE *text = fmemopen(fill, sizeof(fill), "w");

		if (!text)
			continue;
		print_color(origin, 0x8080, text);
		fclose(text);
		x = print_key(x, fill, colors[origin].name, stream);
	}
}

/* ---- frames ---- */

/* What a pointer over the frame is shown, and what a screen reader calls the frame. */
static int
print_title(const struct flame_svg *svg, const struct flame_node *node, FILE *stream)
{
	const struct flame_node *root = &svg->graph->nodes[0];
	const struct flame_frame *frame = node->depth > 0 ? &svg->graph->frames[node->frame] : NULL;
	const size_t last = svg->graph->set_count - 1;
	int err;

	fputs("<title>", stream);
	err = print_text(frame ? frame->title : "all", SIZE_MAX, stream);
	fputc('\n', stream);
	if (!err && frame && frame->image)
		err = print_text(frame->image, SIZE_MAX, stream);
	fprintf(stream, "\n%" PRIu64 " samples, %.2f%%", node->samples[last].count,
	        percent(node->samples[last].count, root->samples[last].count));
	if (last && frame)
		fprintf(stream, "; before %" PRIu64 ", %.2f%%: %+.2f points, %s (p = %.2g)", node->samples[0].count,
		        percent(node->samples[0].count, root->samples[0].count), 100 * node->comparison.change,
		        node->comparison.is_marked ? "more than sampling explains" : "within sampling error",
		        node->comparison.chance);
	fputs("</title>", stream);
	return err;
}

static int
print_frame(const struct flame_svg *svg, const struct flame_node *node, FILE *stream)
{
	const double x = WIDTH * node->left, width = WIDTH * node->width;
	const double fitting = (width - 2 * PADDING) / CHARACTER;
	const uint32_t y = TOP + ROW * node->depth;
	int err;

	fputs("<g class=\"f\" role=\"img\">", stream);
	err = print_title(svg, node, stream);
	fprintf(stream,
	        "<rect x=\"%.2f\" y=\"%" PRIu32
	        "\" width=\"%.2f\" height=\"%d\" stroke=\"#fff\" stroke-width=\".5\" fill=\"",
	        x, y, width, ROW - 1);
	print_fill(svg, node, stream);
	fprintf(stream, "\"/><text x=\"%.2f\" y=\"%" PRIu32 "\">", x + PADDING, y + ROW - 5);
	if (!err && fitting >= CUT_LEAST)
		err = print_text(node->depth > 0 ? svg->graph->frames[node->frame].title : "all", (size_t)fitting,
		                 stream);
	fputs("</text></g>\n", stream);
	return err;
}

/*
 * The ground is white, because letters are black and a dark viewer would hide them. The picture is a group, because
 * frames within one of role "img" would be hidden from screen readers.
 */
int
flame_svg_print(const struct flame_svg *svg, FILE *stream)
{
	const struct flame_graph *graph = svg->graph;
	const uint32_t height = TOP + ROW * (graph->depth + 1) + BOTTOM;
	int err;

	fprintf(stream,
	        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" role=\"group\" width=\"%d\" "
	        "height=\"%" PRIu32 "\" viewBox=\"0 0 %d %" PRIu32
	        "\" font-family=\"monospace\" font-size=\"12\">\n<title>",
	        WIDTH, height, WIDTH, height);
	err = print_text(svg->title, SIZE_MAX, stream);
	fprintf(stream,
	        "</title>\n<rect width=\"%d\" height=\"%" PRIu32 "\" fill=\"white\"/>\n"
	        "<defs><pattern id=\"flame-hatch\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" "
	        "patternTransform=\"rotate(45)\"><rect width=\"8\" height=\"8\" fill=\"#e6e6e6\"/>"
	        "<rect width=\"3\" height=\"8\" fill=\"#cfcfcf\"/></pattern></defs>\n",
	        WIDTH, height);
	if (!err)
		err = print_head(svg, stream);
	if (graph->set_count == 2)
		print_difference_key(svg, stream);
	else
		print_origin_key(stream);
	for (size_t i = 0; i < graph->node_count && !err; i++)
		if (graph->nodes[i].is_shown)
			err = print_frame(svg, &graph->nodes[i], stream);
	if (svg->has_script) {
		fputs("<script><![CDATA[\n", stream);
		fputs(flame_script, stream);
		fputs("]]></script>\n", stream);
	}
	fputs("</svg>\n", stream);
	return err;
}
