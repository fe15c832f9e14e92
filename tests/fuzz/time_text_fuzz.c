/* Any text is a time or is none; what is one can be shown, and lies in the range that the rest of the tools can add to.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	char shown[2 * TIME_TEXT_SIZE];
	uint64_t time_ns;

	if (text && time_parse(text, UINT64_C(1795271400000000000), &time_ns) == 0) {
		if (time_ns > UINT64_MAX / 2 + 1000000000)
			abort();
		time_format_range(time_ns, UINT64_MAX, shown);
		duration_format(time_ns, shown);
	}
	free(text);
	return 0;
}
