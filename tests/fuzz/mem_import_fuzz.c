/*
 * mem_import_fuzz - recordings that no perf would write, as profiles of memory
 *
 * The input is the file. Whatever it says, the profile refers only to what it has, is read again from its rows, and can
 * be reported. Accesses that are kept are few, so that they are thinned.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/mem/recorded.h"
#include "memory/verdict.h"
#include "tests/fuzz/touch_record.h"

#define ACCESS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
read_row(void *context, enum memory_part part, uint32_t number, const void *row, size_t size)
{
	(void)number;
	return memory_profile_decode(context, part, row, size);
}

static void
check_profile(const struct memory_profile *profile)
{
	struct memory_profile again;
	struct memory_report report;
	char why[512];

	require(profile->access_count <= ACCESS_MAX);
	require(memory_profile_init(&again) == 0);
	require(memory_profile_encode(profile, read_row, &again) == 0);
	require(memory_profile_check(&again) == 0);
	require(memory_report_init(&report, &again) == 0);
	for (size_t i = 0; i < report.group_count; i++)
		memory_group_explain(&report, &report.groups[i], why, sizeof(why));
	memory_report_fini(&report);
	memory_profile_fini(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct recorded_outcome outcome;
	const struct recorded_request request = {
		.fd = memfd_create("perf.data", MFD_CLOEXEC),
		.access_max = ACCESS_MAX,
	};
	int err;

	require(request.fd >= 0);
	require(write(request.fd, data, size) == (ssize_t)size && lseek(request.fd, 0, SEEK_SET) == 0);
	err = recorded_read(&request, &outcome);
	close(request.fd);
	require(err == 0 || (err == -DCPI_EDAMAGED && outcome.fault.text) ||
	        (err == -EINVAL && outcome.kind == RECORDED_SPE_OTHER_CLOCK));
	require(outcome.counts.counts[DATA_SAMPLES] == outcome.samples);
	if (outcome.samples)
		check_profile(&outcome.profile);
	recorded_fini(&outcome);
	return 0;
}
