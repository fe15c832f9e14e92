#include "process/label.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct label {
	size_t owners;
	char text[];
};

struct label *
label_new(const char *text)
{
	const size_t size = strlen(text) + 1;
	struct label *label = malloc(sizeof(*label) + size);

	if (!label)
		return NULL;
	label->owners = 1;
	memcpy(label->text, text, size);
	return label;
}

struct label *
label_share(struct label *label)
{
	if (label)
		label->owners++;
	return label;
}

void
label_release(struct label *label)
{
	if (label && --label->owners == 0)
		free(label);
}

const char *
label_text(const struct label *label)
{
	return label ? label->text : "";
}
