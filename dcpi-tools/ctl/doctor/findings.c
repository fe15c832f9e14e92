#include "dcpi-tools/ctl/doctor/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/text.h"

#define INDENT 9 /* columns of the severity */

const char *
severity_name(enum severity severity)
{
	static const char *const names[SEVERITIES] = {"problem", "warning", "note", "ok"};

	return names[severity];
}

void
findings_fini(struct ctl_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->list[i].text);
		free(findings->list[i].remedy);
		free(findings->list[i].image);
	}
	free(findings->list);
	*findings = (struct ctl_findings){0};
}

static char *
format_text(struct ctl_findings *findings, const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) >= 0)
		return text;
	findings->error = -ENOMEM;
	return NULL;
}

void
findings_add(struct ctl_findings *findings, enum severity severity, const char *check, const char *format, ...)
{
	struct ctl_finding *list = reallocarray(findings->list, findings->count + 1, sizeof(*list));
	va_list arguments;

	if (!list) {
		findings->error = -ENOMEM;
		return;
	}
	findings->list = list;
	list += findings->count;
	va_start(arguments, format);
	*list = (struct ctl_finding){
		.severity = severity,
		.text = format_text(findings, format, arguments),
	};
	va_end(arguments);
	snprintf(list->check, sizeof(list->check), "%s", check);
	findings->count += list->text != NULL;
}

void
findings_remedy(struct ctl_findings *findings, const char *format, ...)
{
	va_list arguments;

	if (findings->count == 0)
		return;
	va_start(arguments, format);
	findings->list[findings->count - 1].remedy = format_text(findings, format, arguments);
	va_end(arguments);
}

void
findings_image(struct ctl_findings *findings, const char *path, uint64_t samples, double percent)
{
	struct ctl_finding *finding;

	if (findings->count == 0)
		return;
	finding = &findings->list[findings->count - 1];
	finding->image = strdup(path);
	finding->samples = samples;
	finding->percent = percent;
	if (!finding->image)
		findings->error = -ENOMEM;
}

void
findings_demote(struct ctl_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].severity == SEVERITY_WARNING && !findings->list[i].remedy)
			findings->list[i].severity = SEVERITY_NOTE;
}

void
findings_sort(struct ctl_findings *findings)
{
	for (size_t i = 1; i < findings->count; i++) {
		struct ctl_finding moved = findings->list[i];
		size_t at = i;

		for (; at > 0 && findings->list[at - 1].severity > moved.severity; at--)
			findings->list[at] = findings->list[at - 1];
		findings->list[at] = moved;
	}
}

size_t
findings_count(const struct ctl_findings *findings, enum severity severity)
{
	size_t count = 0;

	for (size_t i = 0; i < findings->count; i++)
		count += findings->list[i].severity == severity;
	return count;
}

static json_t *
finding_json(const struct ctl_finding *finding)
{
	json_t *object = json_pack("{s:s,s:s,s:s,s:s?}", "severity", severity_name(finding->severity), "check",
	                           finding->check, "text", finding->text, "mend", finding->remedy);

	if (finding->image) {
		json_object_set_new(object, "image", json_string(finding->image));
		json_object_set_new(object, "samples", json_count(finding->samples));
		json_object_set_new(object, "percent", json_real(finding->percent));
	}
	return object;
}

json_t *
findings_json(const struct ctl_findings *findings)
{
	json_t *list = json_array();

	for (size_t i = 0; i < findings->count; i++)
		if (json_array_append_new(list, finding_json(&findings->list[i]))) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static int
severity_parse(const char *name)
{
	for (int i = 0; name && i < SEVERITIES; i++)
		if (strcmp(severity_name((enum severity)i), name) == 0)
			return i;
	return -EINVAL;
}

int
findings_add_json(struct ctl_findings *findings, const json_t *list)
{
	json_t *object;
	size_t i;

	json_array_foreach (list, i, object) {
		const char *severity, *check, *text, *image = NULL;
		json_t *mend;
		json_int_t samples = 0;
		double percent = 0;

		if (json_unpack(object, "{s:s,s:s,s:s,s:o,s?:s,s?:I,s?:F}", "severity", &severity, "check", &check,
		                "text", &text, "mend", &mend, "image", &image, "samples", &samples, "percent",
		                &percent) ||
		    severity_parse(severity) < 0)
			return -EINVAL;
		findings_add(findings, (enum severity)severity_parse(severity), check, "%s", text);
		if (json_is_string(mend))
			findings_remedy(findings, "%s", json_string_value(mend));
		if (image)
			findings_image(findings, image, (uint64_t)samples, percent);
	}
	return findings->error;
}

static void
print_finding(const struct ctl_finding *finding, const struct output *output)
{
	static const enum style styles[SEVERITIES] = {STYLE_HOT, STYLE_WARNING, STYLE_PLAIN, STYLE_FAINT};
	const enum style style = styles[finding->severity];

	fprintf(output->stream, "%s%-*s%s%s\n", output_style(output, style), INDENT, severity_name(finding->severity),
	        output_plain(output, style), finding->text);
	if (finding->remedy)
		fprintf(output->stream, "%*s-> %s\n", INDENT, "", finding->remedy);
}

/* The last line: whether there is anything to do. */
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
findings_print(const struct ctl_findings *findings)
{
	struct output output;

	output_open(&output, COLOR_AUTO, false);
	for (size_t i = 0; i < findings->count; i++)
		print_finding(&findings->list[i], &output);
	print_verdict(findings, &output);
	return output_close(&output);
}

int
findings_print_json(const struct ctl_findings *findings)
{
	return json_print(json_pack("{s:s,s:i,s:i,s:o}", "schema", "dcpictl-doctor/1", "problems",
	                            (int)findings_count(findings, SEVERITY_PROBLEM), "warnings",
	                            (int)findings_count(findings, SEVERITY_WARNING), "findings",
	                            findings_json(findings)),
	                  stdout);
}
