#include "dcpi-tools/ctl/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/status.h"
#include "profile/profile.h"
#include "salvage/salvage.h"

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
