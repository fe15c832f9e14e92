#include <stdlib.h>

#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/topstalls/report.h"

static void
shown(struct csv *csv, const char *text)
{
	char *escaped = text_shown(text ? text : "");

	csv_text(csv, escaped ? escaped : "?");
	free(escaped);
}

static void
print_heading(struct csv *csv)
{
	static const char *const names[] = {
		"image",  "procedure", "address",      "instruction",  "file",
		"line",   "lost",      "lost_percent", "executions",   "confidence",
		"cycles", "reason",    "low_percent",  "high_percent", "culprit",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		csv_text(csv, names[i]);
	csv_end(csv);
}

/* What is not known is empty. */
static void
print_stall(const struct topstalls_report *report, const struct top_stall *stall, struct csv *csv)
{
	shown(csv, report->survey.titles[stall->image]);
	shown(csv, stall->title);
	csv_number(csv, stall->place.address);
	shown(csv, stall->place.text);
	shown(csv, stall->place.path);
	if (stall->place.path)
		csv_number(csv, stall->place.line);
	else
		csv_text(csv, "");
	csv_real(csv, stall->lost, 1);
	csv_real(csv, topstalls_report_percent(report, stall->lost), 4);
	if (stall->executions >= 0)
		csv_real(csv, stall->executions, 0);
	else
		csv_text(csv, "");
	csv_text(csv, frequency_confidence_name(stall->confidence));
	csv_real(csv, stall->cycles, 2);
}

static void
print_reason(const struct topstalls_report *report, const struct top_stall *stall, const struct top_reason *reason,
             struct csv *csv)
{
	print_stall(report, stall, csv);
	csv_text(csv, stall_cause_name(reason->cause));
	csv_real(csv, topstalls_report_percent(report, reason->low), 4);
	csv_real(csv, topstalls_report_percent(report, reason->high), 4);
	if (reason->culprit_count)
		csv_number(csv, reason->culprits[0].address);
	else
		csv_text(csv, "");
	csv_end(csv);
}

/* A row for each reason of each instruction. */
int
topstalls_report_print_csv(const struct topstalls_report *report, FILE *stream)
{
	struct csv csv = {.stream = stream};

	if (report->request->survey.options.header)
		print_heading(&csv);
	for (size_t i = 0; i < report->shown; i++) {
		const struct top_stall *stall = &report->top.stalls[i];
		const double unexplained = topstalls_report_percent(report, stall->unexplained);

		for (size_t k = 0; k < stall->reason_count; k++)
			print_reason(report, stall, &stall->reasons[k], &csv);
		if (unexplained < 0.005 && stall->reason_count)
			continue;
		print_stall(report, stall, &csv);
		csv_text(&csv, "Unexplained stall");
		csv_real(&csv, unexplained, 4);
		csv_real(&csv, unexplained, 4);
		csv_text(&csv, "");
		csv_end(&csv);
	}
	return 0;
}
