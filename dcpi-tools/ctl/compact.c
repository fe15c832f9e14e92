#include "dcpi-tools/ctl/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/status.h"
#include "profile/compact.h"

int
ctl_print_compacted(uint64_t before_bytes, uint64_t after_bytes)
{
	char before[STATUS_NUMBER_SIZE], after[STATUS_NUMBER_SIZE];

	printf("%s -> %s\n", status_format_size(before_bytes, before), status_format_size(after_bytes, after));
	return fflush(stdout) ? STATUS_FAILURE : STATUS_OK;
}

/* Opened for writing alone, a missing database would be made. */
static int
open_existing(const char *directory, struct profile **profile)
{
	const struct profile_options reading = {.write = false}, writing = {.write = true};
	int err = profile_open(directory, &reading, profile);

	if (err)
		return err;
	profile_close(*profile);
	*profile = NULL;
	return profile_open(directory, &writing, profile);
}

static int
print_cannot_open(const char *directory, int err)
{
	int owner;

	if (err == -DCPI_EDAMAGED)
		return message_cannot(directory, "open the profile database", err, DATABASE_DAMAGE_ADVICE);
	if (err != -DCPI_ERUNNING)
		return message_cannot(directory, "open the profile database", err,
		                      err == -EACCES ? "be root, or its owner" : NULL);
	owner = profile_owner(directory);
	if (owner > 0)
		message_print(directory, "%s (process %d), but it does not listen there", error_text(err), owner);
	else
		message_print(directory, "%s, but it does not listen there", error_text(err));
	return STATUS_FAILURE;
}

static int
compact(struct profile *profile, const char *directory)
{
	struct compaction compaction;
	char why[256];
	int err = profile_compact(profile, &compaction);

	if (!err)
		return ctl_print_compacted(compaction.before_bytes, compaction.after_bytes);
	if (err == -DCPI_EDAMAGED)
		return message_cannot(directory, "compact the profile database", err, DATABASE_DAMAGE_ADVICE);
	compaction_explain(&compaction, err, why, sizeof(why));
	message_print(directory, "the database cannot be compacted: %s", why);
	return STATUS_FAILURE;
}

int
ctl_compact(const char *directory)
{
	char *shown = text_shown(directory);
	struct guard guard = database_guard(shown);
	struct profile *profile = NULL;
	int status, err;

	if (!shown)
		return message_cannot(directory, "compact the profile database", -ENOMEM, NULL);
	guard_enter(&guard);
	err = open_existing(directory, &profile);
	status = err ? print_cannot_open(directory, err) : compact(profile, directory);
	profile_close(profile);
	guard_leave(&guard);
	free(shown);
	return status;
}
