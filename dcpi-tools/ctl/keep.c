#include "dcpi-tools/ctl/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "profile/catalog.h"
#include "profile/profile.h"
#include "profile/selection.h"

#define ATTEMPTS 3 /* to write: a dcpid may compact the database meanwhile */

static int
print_cannot(const char *directory, const char *what, int err)
{
	const char *advice = err == -DCPI_EDAMAGED             ? DATABASE_DAMAGE_ADVICE
	                     : err == -EACCES || err == -EPERM ? "be root, or its owner"
	                                                       : NULL;

	return message_cannot(directory, what, err, advice);
}

/* The epochs that have samples of processes with that label. */
static int
find_by_label(struct profile *profile, const char *label, uint32_t **ids, size_t *count)
{
	const struct selection_request request = {.epoch = "all", .label = label};
	struct selection *selection;
	char why[512];
	int err = selection_read(profile, &request, &selection, why, sizeof(why));

	if (err)
		return err;
	*ids = calloc(selection->epoch_count + 1, sizeof(**ids));
	for (size_t i = 0; i < selection->epoch_count && *ids; i++)
		(*ids)[(*count)++] = selection->epochs[i].id;
	selection_free(selection);
	return *ids ? 0 : -ENOMEM;
}

static int
find_epochs(const char *directory, const char *which, uint32_t **ids, size_t *count)
{
	const struct profile_options options = {.write = false};
	const struct selection_request request = {.epoch = which};
	struct profile *profile = NULL;
	char why[1024] = "";
	int err = profile_open(directory, &options, &profile);

	*ids = NULL;
	*count = 0;
	if (err)
		return print_cannot(directory, "open the profile database", err);
	err = catalog_choose_epochs(profile, &request, ids, count, why, sizeof(why));
	if (err == -DCPI_ENOSELECTION && find_by_label(profile, which, ids, count) == 0)
		err = 0;
	profile_close(profile);
	if (err && why[0]) {
		message_print(directory, "%s", why);
		return error_exit_status(err);
	}
	return err ? print_cannot(directory, "read the profile database", err) : STATUS_OK;
}

static int
mark(const char *directory, const uint32_t *ids, size_t count, bool is_kept)
{
	const struct profile_options options = {.write = true, .beside = true};
	int err = -ESTALE;

	for (unsigned attempt = 0; err == -ESTALE && attempt < ATTEMPTS; attempt++) {
		struct profile *profile = NULL;

		err = profile_open(directory, &options, &profile);
		for (size_t i = 0; i < count && !err; i++)
			err = profile_keep_epoch(profile, ids[i], is_kept);
		profile_close(profile);
	}
	return err ? print_cannot(directory, is_kept ? "keep the epoch" : "release the epoch", err) : STATUS_OK;
}

/* "7  2026-11-21 14:30:00 to 15:40:00 UTC  imported  web1  before-release" */
static int
print_kept(const char *directory)
{
	const struct profile_options options = {.write = false};
	struct profile *profile = NULL;
	struct epoch_summary *epochs = NULL;
	size_t count = 0, kept = 0;
	int err = profile_open(directory, &options, &profile);

	if (err)
		return print_cannot(directory, "open the profile database", err);
	err = catalog_read_epochs(profile, &epochs, &count);
	profile_close(profile);
	if (err)
		return print_cannot(directory, "read the profile database", err);
	for (size_t i = 0; i < count; i++) {
		char range[2 * TIME_TEXT_SIZE];

		if (!epochs[i].is_kept)
			continue;
		printf("%" PRIu32 "  %s  %s  ", epochs[i].id,
		       time_format_range(epochs[i].start_ns, epochs[i].end_ns, range),
		       epochs[i].is_imported ? "imported" : "kept");
		text_print(epochs[i].host, stdout);
		fputs("  ", stdout);
		text_print(epochs[i].label[0] ? epochs[i].label : "-", stdout);
		fputc('\n', stdout);
		kept++;
	}
	free(epochs);
	if (kept == 0)
		puts("no epoch is kept");
	return fflush(stdout) ? STATUS_FAILURE : STATUS_OK;
}

int
ctl_keep(const struct ctl_request *request)
{
	const char *directory = request->options.directory;
	char *shown = text_shown(directory);
	struct guard guard = database_guard(shown);
	uint32_t *ids = NULL;
	size_t count = 0;
	int status = STATUS_OK;

	if (!shown)
		return message_cannot(directory, "read the profile database", -ENOMEM, NULL);
	guard_enter(&guard);
	if (request->epoch) {
		status = find_epochs(directory, request->epoch, &ids, &count);
		if (!status)
			status = mark(directory, ids, count, !request->release);
	}
	if (!status)
		status = print_kept(directory);
	guard_leave(&guard);
	free(ids);
	free(shown);
	return status;
}
