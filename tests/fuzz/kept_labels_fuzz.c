/* Whatever the file of labels has become, who it names can be labelled, or it is refused whole. */
#include <stdlib.h>
#include <string.h>

#include "collectord/labels_file.h"
#include "control/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct labelled_processes labelled = {0};
	char why[128], *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (labels_file_parse(text, size, "boot", &labelled) && labelled.count)
		abort();
	for (size_t i = 0; i < labelled.count; i++)
		if (!labelled.list[i].pid || !*labelled.list[i].label ||
		    request_check_label(labelled.list[i].label, why, sizeof(why)))
			abort();
	labelled_processes_fini(&labelled);
	free(text);
	return 0;
}
