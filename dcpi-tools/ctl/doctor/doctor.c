#include "dcpi-tools/ctl/doctor/doctor.h"

#include "base/error.h"

int
doctor_examine(const struct surroundings *around, struct ctl_findings *findings)
{
	bool has_counters;

	examine_service(around, findings);
	has_counters = examine_events(around, findings);
	examine_rights(around, findings);
	examine_kernel(around, has_counters, findings);
	examine_profilers(around, has_counters, findings);
	examine_apart(around, examine_store, findings);
	findings_demote(findings);
	findings_sort(findings);
	return findings->error;
}

int
doctor_status(const struct ctl_findings *findings)
{
	return findings_count(findings, SEVERITY_PROBLEM) > 0 ? STATUS_FAILURE : STATUS_OK;
}
