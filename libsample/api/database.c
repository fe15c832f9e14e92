#include <libsample/database.h>

#include <errno.h>
#include <stdlib.h>

#include "api/parts.h"

int
sample_database_open(const char *directory, struct sample_database **database)
{
	const struct profile_options options = {.write = false};
	const char *wanted = directory ? directory : getenv("DCPI_DB");
	int err;

	*database = calloc(1, sizeof(**database));
	if (!*database)
		return -ENOMEM;
	err = profile_open(wanted && *wanted ? wanted : PROFILE_DIRECTORY, &options, &(*database)->profile);
	if (err) {
		free(*database);
		*database = NULL;
	}
	return err;
}

void
sample_database_close(struct sample_database *database)
{
	if (!database)
		return;
	profile_close(database->profile);
	free(database);
}
