#include "dcpi-tools/ctl/doctor/finding.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/json.h"

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
		free(findings->list[i].mend);
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
findings_mend(struct ctl_findings *findings, const char *format, ...)
{
	va_list arguments;

	if (findings->count == 0)
		return;
	va_start(arguments, format);
	findings->list[findings->count - 1].mend = format_text(findings, format, arguments);
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
		if (findings->list[i].severity == SEVERITY_WARNING && !findings->list[i].mend)
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
	                           finding->check, "text", finding->text, "mend", finding->mend);

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
			findings_mend(findings, "%s", json_string_value(mend));
		if (image)
			findings_image(findings, image, (uint64_t)samples, percent);
	}
	return findings->error;
}
