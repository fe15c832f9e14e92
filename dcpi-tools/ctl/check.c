#include "dcpi-tools/ctl/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/status.h"
#include "profile/profile.h"

#define COMPLAINTS_SHOWN 100
#define DAMAGE_ADVICE    "'dcpictl salvage' saves what is whole; then empty the directory and let dcpid begin a new one"

struct ctl_complaints {
	const char *directory;
	uint64_t count, shown;
	char last[256];
};

static void
complain(void *context, const char *text)
{
	struct ctl_complaints *complaints = context;

	complaints->count++;
	if (complaints->shown == COMPLAINTS_SHOWN || strncmp(text, complaints->last, sizeof(complaints->last) - 1) == 0)
		return; /* damage of a slice is repeated for each of its thousand blocks */
	complaints->shown++;
	snprintf(complaints->last, sizeof(complaints->last), "%s", text);
	message_print(complaints->directory, "%s", text);
}

static int
print_contents(const char *shown, const struct profile_stats *stats)
{
	char epochs[STATUS_NUMBER_SIZE], slices[STATUS_NUMBER_SIZE], images[STATUS_NUMBER_SIZE],
		blocks[STATUS_NUMBER_SIZE];

	printf("%s: %s epoch%s, %s slice%s, %s image%s, %s block%s: no damage found\n", shown,
	       status_format_count(stats->epochs, epochs), text_plural(stats->epochs),
	       status_format_count(stats->slices, slices), text_plural(stats->slices),
	       status_format_count(stats->images, images), text_plural(stats->images),
	       status_format_count(stats->blocks, blocks), text_plural(stats->blocks));
	return fflush(stdout) ? STATUS_FAILURE : STATUS_OK;
}

static const char *
open_hint(int err)
{
	if (err == -DCPI_EDAMAGED)
		return DAMAGE_ADVICE;
	return err == -EACCES ? "are you in group dcpi?" : NULL;
}

static int
check_profile(struct profile *profile, const char *directory, const char *shown)
{
	struct ctl_complaints complaints = {.directory = directory};
	struct profile_stats stats;
	int64_t found;
	int err;

	found = profile_check(profile, complain, &complaints);
	if (found < 0)
		return message_cannot(directory, "check the profile database", (int)found, open_hint((int)found));
	if ((uint64_t)found > complaints.shown)
		message_print(directory, "... and %" PRIu64 " more", (uint64_t)found - complaints.shown);
	if (found > 0) {
		message_print(directory, "the database is damaged; " DAMAGE_ADVICE);
		return STATUS_DAMAGED;
	}
	err = profile_stats(profile, &stats);
	if (err)
		return message_cannot(directory, "read the profile database", err, open_hint(err));
	return print_contents(shown, &stats);
}

int
ctl_check(const struct ctl_request *request)
{
	const char *directory = request->options.directory;
	const struct profile_options options = {.write = false};
	char *shown = text_shown(directory);
	struct guard guard = database_guard(shown);
	struct profile *profile = NULL;
	int status, err;

	if (!shown)
		return message_cannot(directory, "check the profile database", -ENOMEM, NULL);
	guard.advice = DAMAGE_ADVICE;
	guard_enter(&guard);
	err = profile_open(directory, &options, &profile);
	if (err)
		status = message_cannot(directory, "open the profile database", err, open_hint(err));
	else
		status = check_profile(profile, directory, shown);
	profile_close(profile);
	guard_leave(&guard);
	free(shown);
	return status;
}
