#include "base/error.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct error_entry {
	int value;
	int status;
	const char *text;
};

static const struct error_entry entries[] = {
#define DCPI_ERROR_ENTRY(name, value, status, text) {value, status, text},
	DCPI_ERRORS(DCPI_ERROR_ENTRY)
#undef DCPI_ERROR_ENTRY
};

static const struct error_entry *
find_entry(int error)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (entries[i].value == abs(error))
			return &entries[i];
	return NULL;
}

const char *
error_text(int error)
{
	const struct error_entry *entry = find_entry(error);

	return entry ? entry->text : strerror(abs(error));
}

int
error_exit_status(int error)
{
	const struct error_entry *entry = find_entry(error);

	if (error == 0)
		return STATUS_OK;
	return entry ? entry->status : STATUS_FAILURE;
}
