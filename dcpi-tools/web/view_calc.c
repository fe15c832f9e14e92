/* The listing of dcpicalc: instructions, their cycles, why they stalled, and the source beside them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/text.h"
#include "dcpi-tools/web/view.h"
#include "dcpi-tools/web/view_calc.h"

#define CUTOFF_DEFAULT "0.1" /* percent: blocks that never ran are most of many procedures */
#define REASONS_SHOWN  3
#define LEAST_STALL    0.05 /* cycles; less is noise */

enum calc_part { REPORT_CALC, REPORT_SOURCE, REPORT_COUNT };

static const struct view_field fields[] = {
	{QUERY_PROCEDURE, "Procedure", "inflate_fast, 0x1139", NULL},
	{QUERY_IMAGE, "Image", "libz.so.1", NULL},
	{QUERY_CUTOFF, "Leave out blocks below %", CUTOFF_DEFAULT, NULL},
	{QUERY_EVENT, "Event", "cycles", NULL},
	{QUERY_CPU, "CPU model", "intel-skylake", NULL},
	{0},
};

bool
view_calc_command(const struct query *query, const char *directory, const char *tool, struct tool_command *command,
                  const char *cutoff, char *why, size_t size)
{
	if (!query->values[QUERY_PROCEDURE]) {
		snprintf(why, size, "which procedure? The table of procedures links to each of them");
		return false;
	}
	if (query->values[QUERY_CPU] && strchr(query->values[QUERY_CPU], '/')) {
		snprintf(why, size, "cpu is the name of a model, not a file");
		return false;
	}
	command_begin(command, tool, directory);
	command_selection(command, query);
	command_field(command, query, QUERY_EVENT);
	command_option(command, "cutoff", cutoff);
	if (cutoff)
		command_field(command, query, QUERY_CPU);
	return true;
}

void
view_calc_arguments(const struct query *query, struct tool_command *command)
{
	command_option(command, "image", query->values[QUERY_IMAGE]);
	command_word(command, "--");
	command_word(command, query->values[QUERY_PROCEDURE]);
}

static size_t
calc_commands(const struct query *query, const char *directory, struct tool_command *commands, char *why, size_t size)
{
	const char *cutoff = query->values[QUERY_CUTOFF];

	if (!view_calc_command(query, directory, "dcpicalc", &commands[REPORT_CALC], cutoff ? cutoff : CUTOFF_DEFAULT,
	                       why, size))
		return 0;
	view_calc_arguments(query, &commands[REPORT_CALC]);
	commands[REPORT_CALC].title = "Cycles";
	if (!view_calc_command(query, directory, "dcpilist", &commands[REPORT_SOURCE], NULL, why, size))
		return 0;
	view_calc_arguments(query, &commands[REPORT_SOURCE]);
	commands[REPORT_SOURCE].title = "Source";
	return REPORT_COUNT;
}

/* ---- the source ---- */

/* Instructions ascending by address, of dcpilist; lines by "file:line". */
struct source_index {
	const json_t *instructions;
	size_t at; /* of the last one that was found */
	json_t *lines;
};

static json_t *
index_lines(const json_t *report)
{
	const json_t *lines = json_object_get(report, "lines"), *line;
	json_t *index = json_object();
	size_t i;

	json_array_foreach (lines, i, line) {
		char *key = NULL;

		if (asprintf(&key, "%s:%.0f", view_text(line, "file"), view_number(line, "line")) < 0)
			continue;
		json_object_set(index, key, json_object_get(line, "text"));
		free(key);
	}
	return index;
}

/* The instruction of dcpilist at `address`; NULL: there is none. Addresses are mostly asked for in ascending order. */
static const json_t *
find_instruction(struct source_index *index, double address)
{
	const size_t count = json_array_size(index->instructions);

	for (size_t i = 0; i < count; i++) {
		const size_t at = (index->at + i) % count;
		const json_t *instruction = json_array_get(index->instructions, at);

		if (view_number(instruction, "address") != address)
			continue;
		index->at = at;
		return instruction;
	}
	return NULL;
}

/* The source line of an instruction, with its text unless the line is that of the row above. */
static void
render_source(struct html *out, struct source_index *index, double address, const json_t **above)
{
	const json_t *instruction = find_instruction(index, address);
	const char *file = view_text(instruction, "file");
	const double line = view_number(instruction, "line");
	char *key = NULL;

	html(out, "<td class=\"source wide\">");
	if (file[0] &&
	    !(*above && view_number(*above, "line") == line && strcmp(view_text(*above, "file"), file) == 0) &&
	    asprintf(&key, "%s:%.0f", file, line) >= 0) {
		const char *text = json_string_value(json_object_get(index->lines, key));

		html(out, "<span class=\"line\"");
		html_attribute(out, "title", key);
		html(out, ">");
		html_text(out, text_basename(file));
		html(out, ":");
		html_real(out, line, 0);
		html(out, "</span> <code>");
		html_text(out, text ? text + strspn(text, " ") : "");
		html(out, "</code>");
		free(key);
	}
	html(out, "</td>");
	*above = instruction;
}

/* ---- the listing ---- */

static void
render_address(struct html *out, double address)
{
	char text[24];

	snprintf(text, sizeof(text), "%06" PRIx64, (uint64_t)fmax(address, 0));
	html_text(out, text);
}

/* An arrow to the instruction that may have caused the stall. */
static void
render_culprit(struct html *out, double culprit, double address)
{
	char target[32];

	snprintf(target, sizeof(target), "#i%" PRIx64, (uint64_t)fmax(culprit, 0));
	html(out, culprit == address ? " <span class=\"culprit\">itself</span>" : " <a class=\"culprit\"");
	if (culprit == address)
		return;
	html_attribute(out, "href", target);
	html(out, culprit < address ? ">↑ " : ">↓ ");
	render_address(out, culprit);
	html(out, "</a>");
}

/* Reasons in the order of the most that they may have cost. */
static void
render_stalls(struct html *out, const json_t *instruction)
{
	const json_t *stalls = json_object_get(instruction, "stalls"), *stall;
	const double address = view_number(instruction, "address");
	bool shown[64] = {false};

	for (int n = 0; n < REASONS_SHOWN; n++) {
		const json_t *best = NULL, *culprit;
		size_t i, best_at = 0;

		json_array_foreach (stalls, i, stall) {
			if (i < 64 && !shown[i] && (!best || view_number(stall, "high") > view_number(best, "high"))) {
				best = stall;
				best_at = i;
			}
		}
		if (!best || view_number(best, "high") < LEAST_STALL)
			break;
		shown[best_at] = true;
		html(out, n ? "<br>" : "");
		html_text(out, view_text(best, "reason"));
		html(out, " <span class=\"range\">");
		html_real(out, view_number(best, "low"), 1);
		html(out, " to ");
		html_real(out, view_number(best, "high"), 1);
		html(out, "</span>");
		json_array_foreach (json_object_get(best, "culprits"), i, culprit)
			if (i < REASONS_SHOWN)
				render_culprit(out, json_number_value(culprit), address);
	}
}

static double
most_cycles(const json_t *blocks)
{
	const json_t *block, *instruction;
	double most = 0;
	size_t i, k;

	json_array_foreach (blocks, i, block)
		json_array_foreach (json_object_get(block, "instructions"), k, instruction)
			most = fmax(most, view_number(instruction, "held"));
	return most;
}

static void
render_block_head(struct html *out, const json_t *block, int columns)
{
	const double instructions = (double)json_array_size(json_object_get(block, "instructions"));
	const json_t *frequency = json_object_get(block, "frequency");
	char span[16];

	snprintf(span, sizeof(span), "%d", columns);
	html(out, "<tr class=\"block\"><th scope=\"colgroup\"");
	html_attribute(out, "colspan", span);
	html(out, ">Block ");
	html_real(out, view_number(block, "block"), 0);
	html(out, " at ");
	render_address(out, view_number(block, "address"));
	html(out, ": <strong>");
	html_real(out, view_number(block, "percent"), 1);
	html(out, "%</strong> of the time");
	if (view_has(block, "actual_cycles") && instructions > 0) {
		html(out, ", ");
		html_real(out, view_number(block, "actual_cycles") / instructions, 2);
		html(out, " cycles an instruction (best case ");
		html_real(out, view_number(block, "best_cycles") / instructions, 2);
		html(out, ")");
	}
	if (view_has(frequency, "executions")) {
		html(out, ", ran ");
		html_count(out, (uint64_t)fmax(view_number(frequency, "executions"), 0));
		html(out, " times");
	}
	html(out, ", confidence ");
	html_text(out, view_text(frequency, "confidence"));
	html(out, "</th></tr>\n");
}

static void
render_instruction(struct html *out, const json_t *instruction, double most, struct source_index *index,
                   const json_t **above)
{
	const double address = view_number(instruction, "address"), held = view_number(instruction, "held");
	const double stalled = view_number(instruction, "stall_cycles"), cycles = view_number(instruction, "cycles");
	char id[24];

	snprintf(id, sizeof(id), "i%" PRIx64, (uint64_t)fmax(address, 0));
	html(out, "<tr");
	html_attribute(out, "id", id);
	html(out, "><td class=\"address\">");
	render_address(out, address);
	html(out, "</td><th scope=\"row\" class=\"code\"><code>");
	html_text(out, view_text(instruction, "text"));
	html(out, "</code></th><td class=\"number\">");
	if (held > 0)
		html_real(out, held, 0);
	html(out, "</td><td class=\"bar wide\">");
	html_bar(out, most > 0 ? 100 * held / most : 0, "bar");
	html(out, "</td><td class=\"number\">");
	if (view_has(instruction, "cycles"))
		html_real(out, cycles, 1);
	html(out, "</td><td class=\"bar wide\">");
	html_bar(out, cycles > 0 ? 100 * stalled / cycles : 0, "bar stall");
	html(out, "</td><td class=\"stalls\">");
	render_stalls(out, instruction);
	html(out, "</td>");
	if (index)
		render_source(out, index, address, above);
	html(out, "</tr>\n");
}

static bool
has_source(const json_t *report)
{
	const json_t *line;
	size_t i;

	json_array_foreach (json_object_get(report, "lines"), i, line)
		if (view_text(line, "file")[0])
			return true;
	return false;
}

static void
render_listing(const struct view_page *page, const json_t *report)
{
	const json_t *blocks = json_object_get(report, "blocks"), *source = page->reports[REPORT_SOURCE].json;
	struct source_index index = {.instructions = json_object_get(source, "instructions")};
	struct source_index *used = has_source(source) ? &index : NULL;
	const json_t *block, *instruction, *above = NULL;
	const double most = most_cycles(blocks);
	struct html *out = page->out;
	size_t i, k;

	index.lines = used ? index_lines(source) : NULL;
	html(out,
	     "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Listing\"><table "
	     "class=\"listing\">\n<caption>Instructions by address; a stall has the least and the most cycles that a "
	     "reason may have cost</caption>\n<thead><tr><th scope=\"col\">Address</th>"
	     "<th scope=\"col\">Instruction</th><th scope=\"col\" class=\"number\">Samples</th>"
	     "<th scope=\"col\" class=\"wide\"><span class=\"unseen\">Samples, drawn</span></th>"
	     "<th scope=\"col\" class=\"number\">Cycles</th>"
	     "<th scope=\"col\" class=\"wide\"><span class=\"unseen\">Stalled part of them</span></th>"
	     "<th scope=\"col\">Stalled for</th>");
	html(out, used ? "<th scope=\"col\" class=\"wide\">Source</th></tr></thead>\n<tbody>\n"
	               : "</tr></thead>\n<tbody>\n");
	json_array_foreach (blocks, i, block) {
		render_block_head(out, block, used ? 8 : 7);
		json_array_foreach (json_object_get(block, "instructions"), k, instruction)
			render_instruction(out, instruction, most, used, &above);
	}
	html(out, "</tbody></table></div>\n");
	json_decref(index.lines);
}

void
view_calc_heading(const struct view_page *page, const json_t *report)
{
	struct html *out = page->out;

	html(out, "<h2 class=\"name\">");
	html_text(out, view_text(report, "procedure"));
	html(out, " <span class=\"in\">in ");
	html_text(out, view_text(report, "image"));
	html(out, "</span></h2>\n");
}

static void
calc_render(const struct view_page *page)
{
	const json_t *report = page->reports[REPORT_CALC].json;
	const json_t *event = json_object_get(report, "event"), *model = json_object_get(report, "model");
	struct query_change changes[] = {{QUERY_PROCEDURE, page->query->values[QUERY_PROCEDURE]},
	                                 {QUERY_IMAGE, page->query->values[QUERY_IMAGE]},
	                                 {QUERY_BY, "callers"}};
	struct html *out = page->out;

	view_calc_heading(page, report);
	html(out, "<p class=\"summary\">");
	html_count(out, (uint64_t)fmax(view_number(event, "samples"), 0));
	html(out, " samples of <strong>");
	html_text(out, view_text(event, "name"));
	html(out, "</strong>; best cases are those of ");
	html_text(out, view_text(model, "title"));
	html(out, ". ");
	view_link(page, &view_graph, changes, 2, "Its flow graph");
	html(out, " · ");
	view_link(page, &view_calls, changes, 3, "Who calls it");
	changes[2].value = "callees";
	html(out, " · ");
	view_link(page, &view_calls, changes, 3, "What it calls");
	html(out, "</p>\n");
	render_listing(page, report);
}

const struct view view_calc = {
	.path = "/calc",
	.title = "Instructions",
	.keeps = QUERY_SELECTION | QUERY_KEEPS(QUERY_EVENT),
	.is_hidden = true,
	.has_selection = true,
	.fields = fields,
	.commands = calc_commands,
	.render = calc_render,
};
