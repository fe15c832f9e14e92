/* Whatever a client sends, it is a request or refused with a sentence, and a label that is taken can be shown as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "control/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char shown[4 * EPOCH_LABEL_SIZE];
	struct control_request request;
	char why[128] = "";

	if (request_parse((const char *)data, size, &request, why, sizeof(why))) {
		if (!*why)
			abort();
		return 0;
	}
	if (strcmp(escape_text(request.label, shown, sizeof(shown)), request.label) != 0 || strchr(request.label, '/'))
		abort();
	return 0;
}
