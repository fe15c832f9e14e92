/* Commands of dcpictl that work on a database themselves: check, compact, keep, salvage. */
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
#include "profile/catalog.h"
#include "profile/compact.h"
#include "profile/profile.h"
#include "profile/selection.h"
#include "salvage/salvage.h"

#define COMPLAINTS_SHOWN 100
#define DAMAGE_ADVICE    "'dcpictl salvage' saves what is whole; then empty the directory and let dcpid begin a new one"
#define ATTEMPTS         3 /* to write: a dcpid may compact the database meanwhile */

/*
 * Do `work` on the database of the request, `shown` as text; damage that faults this process ends it with `advice`. Its
 * exit status, or another after a message: `what` is what cannot be done without memory.
 */
static int
run_guarded(const struct ctl_request *request, const char *what, const char *advice,
            int (*work)(const struct ctl_request *request, const char *shown))
{
	char *shown = text_shown(request->options.directory);
	struct guard guard = database_guard(shown);
	int status;

	if (!shown)
		return message_cannot(request->options.directory, what, -ENOMEM, NULL);
	guard.advice = advice;
	guard_enter(&guard);
	status = work(request, shown);
	guard_leave(&guard);
	free(shown);
	return status;
}

/* ---- check ---- */

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
check(const struct ctl_request *request, const char *shown)
{
	const char *directory = request->options.directory;
	const struct profile_options options = {.write = false};
	struct ctl_complaints complaints = {.directory = directory};
	struct profile *profile = NULL;
	struct profile_stats stats;
	int64_t found;
	int err = profile_open(directory, &options, &profile);

	if (err)
		return message_cannot(directory, "open the profile database", err, open_hint(err));
	found = profile_check(profile, complain, &complaints);
	err = found == 0 ? profile_stats(profile, &stats) : 0;
	profile_close(profile);
	if (found < 0)
		return message_cannot(directory, "check the profile database", (int)found, open_hint((int)found));
	if ((uint64_t)found > complaints.shown)
		message_print(directory, "... and %" PRIu64 " more", (uint64_t)found - complaints.shown);
	if (found > 0) {
		message_print(directory, "the database is damaged; " DAMAGE_ADVICE);
		return STATUS_DAMAGED;
	}
	if (err)
		return message_cannot(directory, "read the profile database", err, open_hint(err));
	return print_contents(shown, &stats);
}

int
ctl_check(const struct ctl_request *request)
{
	return run_guarded(request, "check the profile database", DAMAGE_ADVICE, check);
}

/* ---- compact ---- */

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
compact(const struct ctl_request *request, const char *shown)
{
	const char *directory = request->options.directory;
	struct profile *profile = NULL;
	struct compaction compaction;
	char why[256];
	int err = open_existing(directory, &profile);

	(void)shown;
	if (err) {
		profile_close(profile);
		return print_cannot_open(directory, err);
	}
	err = profile_compact(profile, &compaction);
	profile_close(profile);
	if (!err)
		return ctl_print_compacted(compaction.before_bytes, compaction.after_bytes);
	if (err == -DCPI_EDAMAGED)
		return message_cannot(directory, "compact the profile database", err, DATABASE_DAMAGE_ADVICE);
	compaction_explain(&compaction, err, why, sizeof(why));
	message_print(directory, "the database cannot be compacted: %s", why);
	return STATUS_FAILURE;
}

int
ctl_compact_offline(const struct ctl_request *request)
{
	return run_guarded(request, "compact the profile database", DATABASE_DAMAGE_ADVICE, compact);
}

/* ---- keep ---- */

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

static int
keep(const struct ctl_request *request, const char *shown)
{
	const char *directory = request->options.directory;
	uint32_t *ids = NULL;
	size_t count = 0;
	int status = STATUS_OK;

	(void)shown;
	if (request->argument) {
		status = find_epochs(directory, request->argument, &ids, &count);
		if (!status)
			status = mark(directory, ids, count, !request->release);
	}
	free(ids);
	return status ? status : print_kept(directory);
}

int
ctl_keep(const struct ctl_request *request)
{
	return run_guarded(request, "read the profile database", DATABASE_DAMAGE_ADVICE, keep);
}

/* ---- salvage ---- */

static void
print_count(const char *what, const struct salvage_count *count, bool is_known)
{
	char kept[STATUS_NUMBER_SIZE], lost[STATUS_NUMBER_SIZE];

	printf("  %-9s %s kept", what, status_format_count(count->kept, kept));
	if (is_known)
		printf(", %s lost",
		       status_format_count(count->expected > count->kept ? count->expected - count->kept : 0, lost));
	printf("\n");
}

static int
print_result(const char *directory, const char *target, const struct salvage_result *result)
{
	char pages[STATUS_NUMBER_SIZE], damaged[STATUS_NUMBER_SIZE], samples[STATUS_NUMBER_SIZE],
		lost[STATUS_NUMBER_SIZE];

	printf("%s: %s pages, %s of those in use damaged%s\n", directory, status_format_count(result->pages, pages),
	       status_format_count(result->damaged_pages, damaged),
	       result->scanned ? "; older ones were searched" : "");
	print_count("epochs", &result->epochs, result->is_known);
	print_count("slices", &result->slices, result->is_known);
	print_count("images", &result->images, result->is_known);
	print_count("contexts", &result->contexts, result->is_known);
	print_count("blocks", &result->blocks, result->is_known);
	print_count("symbols", &result->symbols, result->is_known);
	print_count("edges", &result->edges, result->is_known);
	print_count("text", &result->text, result->is_known);
	print_count("times", &result->label_times, result->is_known);
	print_count("memory", &result->memory, result->is_known);
	print_count("stacks", &result->stacks, result->is_known);
	printf("  %-9s %s kept, %s known to be lost\n", "samples", status_format_count(result->samples, samples),
	       status_format_count(result->samples_lost, lost));
	printf("%s: what was kept\n", target);
	return fflush(stdout) ? STATUS_FAILURE : STATUS_OK;
}

static int
print_failure(const char *directory, const char *target, const struct salvage_result *result, int err)
{
	if (err == -DCPI_ERUNNING && !result->is_open) {
		message_print(directory, "a dcpid uses this database; stop it first");
		return STATUS_FAILURE;
	}
	if (!result->is_open)
		return message_cannot(directory, "read the profile database", err,
		                      err == -EACCES ? "are you in group dcpi?" : NULL);
	if (err == -EEXIST) {
		message_print(target, "is not empty; name a directory that is not there yet");
		return STATUS_FAILURE;
	}
	return message_cannot(target, "make a profile database", err,
	                      result->pages ? "what is there now is not complete" : NULL);
}

int
ctl_salvage(const struct ctl_request *request)
{
	const char *directory = request->options.directory, *target = request->to;
	struct salvage_result result = {0};
	char *shown = text_shown(directory), *shown_target = text_shown(target);
	int status, err = -ENOMEM;

	if (shown && shown_target)
		err = profile_salvage(directory, target, NULL, &result);
	if (err)
		status = print_failure(directory, target, &result, err);
	else
		status = print_result(shown, shown_target, &result);
	if (status == STATUS_OK && result.epochs.kept == 0 && result.slices.kept == 0) {
		message_print(directory, "nothing was found to keep");
		status = STATUS_EMPTY;
	}
	free(shown);
	free(shown_target);
	return status;
}
