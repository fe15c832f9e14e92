#include <stdio.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/doctor/doctor.h"

#define INDENT 9 /* columns of the severity */

static enum style
severity_style(enum severity severity)
{
	static const enum style styles[SEVERITIES] = {STYLE_HOT, STYLE_WARNING, STYLE_PLAIN, STYLE_FAINT};

	return styles[severity];
}

static void
print_finding(const struct ctl_finding *finding, const struct output *output)
{
	const enum style style = severity_style(finding->severity);

	fprintf(output->stream, "%s%-*s%s%s\n", output_style(output, style), INDENT, severity_name(finding->severity),
	        output_plain(output, style), finding->text);
	if (finding->mend)
		fprintf(output->stream, "%*s-> %s\n", INDENT, "", finding->mend);
}

/* The last line: is there anything to do? */
static void
print_verdict(const struct ctl_findings *findings, const struct output *output)
{
	const size_t problems = findings_count(findings, SEVERITY_PROBLEM);
	const size_t warnings = findings_count(findings, SEVERITY_WARNING);
	const enum style style = problems ? STYLE_HOT : warnings ? STYLE_WARNING : STYLE_PLAIN;

	fprintf(output->stream, "\n%s%-*s%s", output_style(output, style), INDENT, "verdict",
	        output_plain(output, style));
	if (problems)
		fprintf(output->stream, "something is in the way: %zu problem%s, %zu warning%s\n", problems,
		        text_plural(problems), warnings, text_plural(warnings));
	else if (warnings)
		fprintf(output->stream, "nothing is in the way; %zu warning%s\n", warnings, text_plural(warnings));
	else
		fprintf(output->stream, "all is well\n");
}

int
doctor_print(const struct ctl_findings *findings)
{
	struct output output;

	output_open(&output, COLOR_AUTO, false);
	for (size_t i = 0; i < findings->count; i++)
		print_finding(&findings->list[i], &output);
	print_verdict(findings, &output);
	return output_close(&output);
}

int
doctor_print_json(const struct ctl_findings *findings)
{
	return json_print(json_pack("{s:s,s:i,s:i,s:o}", "schema", "dcpictl-doctor/1", "problems",
	                            (int)findings_count(findings, SEVERITY_PROBLEM), "warnings",
	                            (int)findings_count(findings, SEVERITY_WARNING), "findings",
	                            findings_json(findings)),
	                  stdout);
}
