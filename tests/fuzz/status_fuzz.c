/* The status of any daemon, also of one that is older, newer or mad: its metrics, its text, what the doctor says. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "dcpi-tools/ctl/doctor/doctor.h"
#include "dcpi-tools/ctl/status.h"

#define NOW_NS UINT64_C(1700000094000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct doctor_environment around = {.directory = "/nowhere",
	                                    .kernel = {.procfs = "/nowhere", .sysfs = "/nowhere"}};
	struct ctl_findings findings = {0};
	FILE *stream = fopen("/dev/null", "we");

	around.status = json_loadb((const char *)data, size, 0, NULL);
	if (around.status && stream) {
		status_print_metrics(around.status, NOW_NS, stream);
		status_print(around.status, NOW_NS, stream);
		doctor_check_service(&around, &findings);
		doctor_check_kernel(&around, true, &findings);
	}
	findings_fini(&findings);
	json_decref(around.status);
	if (stream)
		fclose(stream);
	return 0;
}
