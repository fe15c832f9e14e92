#include "collectord/trouble.h"

#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define SLOW_S 30 /* a disk that takes longer for one flush is worth a word */

#define SECOND_NS UINT64_C(1000000000)

static void
format_clock(uint64_t time_ns, char *text, size_t size)
{
	time_t seconds = (time_t)(time_ns / SECOND_NS);
	struct tm broken;

	if (!localtime_r(&seconds, &broken) || !strftime(text, size, "%H:%M", &broken))
		snprintf(text, size, "?");
}

/* By name, as commands want it; where there is none, the number will do. */
static void
name_owner(char *user, char *group, size_t size)
{
	const struct passwd *passwd = getpwuid(geteuid());
	const struct group *entry = getgrgid(getegid());

	snprintf(user, size, "%u", geteuid());
	snprintf(group, size, "%u", getegid());
	if (passwd)
		snprintf(user, size, "%s", passwd->pw_name);
	if (entry)
		snprintf(group, size, "%s", entry->gr_name);
}

void
trouble_explain(const char *directory, int err, char *text, size_t size)
{
	char user[64], group[64];

	if (err != -DCPI_EGONE) {
		snprintf(text, size, "%s", error_text(err));
		return;
	}
	name_owner(user, group, sizeof(user));
	snprintf(text, size, "%s: 'install -d -m 0750 -o %s -g %s %s'", error_text(err), user, group, directory);
}

static bool
describe_failure(const struct collection_view *view, char *text, size_t size)
{
	char since[16], reason[TROUBLE_SIZE / 2];

	if (!view->flush_error)
		return false;
	format_clock(view->trouble_since_ns, since, sizeof(since));
	trouble_explain(view->config->database, view->flush_error, reason, sizeof(reason));
	snprintf(text, size, "cannot write %s: %s; %" PRIu64 " samples kept in memory, %" PRIu64 " dropped since %s",
	         view->config->database, reason, view->kept, view->trouble_dropped, since);
	return true;
}

static bool
describe_slowness(const struct collection_view *view, char *text, size_t size)
{
	if (view->flush_error || view->flush_pending_ns < SLOW_S * SECOND_NS)
		return false;
	snprintf(text, size, "writing %s has taken %" PRIu64 " s so far; %" PRIu64 " samples kept in memory",
	         view->config->database, view->flush_pending_ns / SECOND_NS, view->kept);
	return true;
}

static void
read_command(int pid, char *command, size_t size)
{
	char path[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	*command = '\0';
	file = fopen(path, "re");
	if (!file)
		return;
	if (!fgets(command, (int)size, file))
		*command = '\0';
	command[strcspn(command, "\n")] = '\0';
	fclose(file);
}

static bool
describe_reader(const struct collection_view *view, char *text, size_t size)
{
	const struct profile_stats *stats = &view->profile;
	char since[16], command[64], who[96] = "a process";

	if (!stats->reader)
		return false;
	format_clock(stats->reader_since_ns, since, sizeof(since));
	if (stats->reader > 0) {
		read_command(stats->reader, command, sizeof(command));
		snprintf(who, sizeof(who), "process %d (%s)", stats->reader, *command ? command : "?");
	}
	snprintf(text, size,
	         "%s has been reading the database since %s and does not go on: %.1f MiB cannot be used again until "
	         "it does, or ends; after five minutes, and at the size limit, it is cut off",
	         who, since, (double)stats->reader_bytes / (1 << 20));
	return true;
}

static bool
describe_full_memory(const struct collection_view *view, char *text, size_t size)
{
	if (!view->stalled)
		return false;
	snprintf(text, size, "memory for counts is full: samples that it has no room for are dropped");
	return true;
}

static bool
describe_full_tables(const struct collection_view *view, char *text, size_t size)
{
	if (!view->attribution.is_full)
		return false;
	snprintf(text, size,
	         "memory for names is full until the database takes them: samples of images that are new count as "
	         "unknown (no-memory), those of new commands as " CONTEXT_OTHER);
	return true;
}

static bool
describe_aside(const struct collection_view *view, char *text, size_t size)
{
	const struct quarantined *aside = &view->aside;

	if (!*aside->name)
		return false;
	snprintf(text, size,
	         "the database was damaged: what it held is in %s/%s (%.1f MiB) until somebody saves what is whole of "
	         "it "
	         "('dcpictl --db %s/%s salvage --to NEWDIR') and removes it",
	         view->config->database, aside->name, (double)aside->bytes / (1 << 20), view->config->database,
	         aside->name);
	return true;
}

bool
trouble_describe(const struct collection_view *view, unsigned index, char *text, size_t size)
{
	static bool (*const kinds[])(const struct collection_view *, char *, size_t) = {
		describe_failure,     describe_slowness, describe_full_memory,
		describe_full_tables, describe_reader,   describe_aside,
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i](view, text, size) && index-- == 0)
			return true;
	return false;
}
