/* Rows of a memory profile: a part, a length of two bytes, and the row, again and again. What is whole is reported on.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory_profile.h"
#include "memory/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
pass(void *context, enum memory_part part, uint32_t number, const void *row, size_t size)
{
	(void)context;
	(void)part;
	(void)number;
	(void)row;
	return size > 0 ? 0 : -1;
}

static void
report(const struct memory_profile *profile)
{
	struct memory_report report;
	char why[512];

	if (memory_report_init(&report, profile) == 0) {
		for (size_t i = 0; i < report.group_count; i++)
			memory_group_explain(&report, &report.groups[i], why, sizeof(why));
	}
	memory_report_fini(&report);
	if (memory_profile_encode(profile, pass, NULL))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_profile profile;
	int err = memory_profile_init(&profile);

	while (size > 3 && !err) {
		const size_t length = data[1] | (size_t)data[2] << 8, row = length < size - 3 ? length : size - 3;

		err = memory_profile_decode(&profile, data[0], data + 3, row);
		data += 3 + row;
		size -= 3 + row;
	}
	if (!err && memory_profile_check(&profile) == 0)
		report(&profile);
	memory_profile_fini(&profile);
	return 0;
}
