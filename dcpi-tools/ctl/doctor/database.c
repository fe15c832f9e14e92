#include "dcpi-tools/ctl/doctor/doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/status.h"
#include "profile/profile.h"

#define MIB                  (UINT64_C(1) << 20)
#define LEAST                16  /* MiB that size_limit_mib may be */
#define SPARED               2   /* the limit that is suggested uses 1/SPARED of the free space */
#define LEAST_PERCENT        0.5 /* of all samples, for an image to be named */
#define LEAST_STACKS_PERCENT 1.0 /* of the call stacks: for an image to be named */
#define LEAST_STACKS         20  /* that end in it: fewer may be chance */
#define IMAGES_NAMED         10
#define DAY_NS               (UINT64_C(86400) * 1000000000)
#define NAME_CHARACTERS      "abcdefghijklmnopqrstuvwxyz0123456789+-."

/* ---- Debian packages ---- */

/* The other name of a file where /lib is a link to /usr/lib: dpkg may know either. NULL: memory ended. */
static char *
other_name(const char *path)
{
	char *other;

	if (strncmp(path, "/usr/", strlen("/usr/")) == 0)
		return strdup(path + strlen("/usr"));
	return asprintf(&other, "/usr%s", path) < 0 ? NULL : other;
}

/* "libc6" of "libc6:amd64: /lib/libc.so.6", "a" of "a, b: /path"; false for what is no package: a diversion. */
static bool
package_name(const char *line, char package[PACKAGE_NAME_SIZE])
{
	const size_t length = strspn(line, NAME_CHARACTERS);

	if (length == 0 || (line[length] != ':' && line[length] != ','))
		return false;
	snprintf(package, PACKAGE_NAME_SIZE, "%.*s", (int)length, line);
	return true;
}

/* Start `program` --search for two names of one file, its output to be read from *output. 0 or -errno. */
static int
start_query(const char *program, char *path, char *other, pid_t *child, int *output)
{
	char *arguments[] = {(char *)program, "--search", "--", path, other, NULL};
	posix_spawn_file_actions_t actions;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	err = posix_spawn_file_actions_init(&actions);
	if (!err) {
		err = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
		if (!err)
			err = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
		if (!err)
			err = posix_spawnp(child, program, &actions, NULL, arguments, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(ends[1]);
	if (err)
		close(ends[0]);
	*output = ends[0];
	return -err;
}

/* 0 with the first package that is named; -ENOENT. Reads to the end, so that the writer gets no SIGPIPE. */
static int
read_answer(int output, char package[PACKAGE_NAME_SIZE])
{
	FILE *stream = fdopen(output, "r");
	char line[PATH_MAX + 2 * PACKAGE_NAME_SIZE];
	int err = -ENOENT;

	if (!stream) {
		close(output);
		return -ENOMEM;
	}
	while (fgets(line, sizeof(line), stream))
		if (err && package_name(line, package))
			err = 0;
	fclose(stream);
	return err;
}

int
package_of(const char *dpkg_query, const char *path, char package[PACKAGE_NAME_SIZE])
{
	char *name = strdup(path), *other = other_name(path);
	int output = -1, err = -ENOMEM;
	pid_t child = 0;

	if (!name || !other)
		goto out;
	err = -ENOENT;
	if (path[0] != '/' || strpbrk(path, "*?[\\")) /* dpkg-query would take it for a pattern */
		goto out;
	err = start_query(dpkg_query, name, other, &child, &output);
	if (err)
		goto out;
	err = read_answer(output, package);
	TEMP_FAILURE_RETRY(waitpid(child, NULL, 0));
out:
	free(name);
	free(other);
	return err;
}

/* Debian makes a -dbgsym package of nearly everything; the C library's is called otherwise, and in the main archive. */
void
package_debug(const char *package, char debug[PACKAGE_NAME_SIZE])
{
	const bool is_libc = strcmp(package, "libc6") == 0 || strcmp(package, "libc6-i386") == 0;

	snprintf(debug, PACKAGE_NAME_SIZE, is_libc ? "libc6-dbg" : "%.*s-dbgsym", PACKAGE_NAME_SIZE - 8, package);
}

bool
package_debug_archive(const char *apt_lists)
{
	DIR *lists = opendir(apt_lists);
	struct dirent *entry;
	bool found = false;

	/* as apt names them: ..._debian-debug_dists_bookworm-debug_main_binary-amd64_Packages, ddebs.... */
	while (lists && !found && (entry = readdir(lists)) != NULL)
		found = strstr(entry->d_name, "-debug_") || strncmp(entry->d_name, "ddebs.", strlen("ddebs.")) == 0;
	if (lists)
		closedir(lists);
	return found;
}

/* ---- Images without symbols ---- */

/* Samples of one image that have no name, and why. */
struct doctor_loss {
	uint32_t image;   /* index into the selection's */
	uint64_t samples; /* sum of the kinds but PROCEDURE_NAMED */
	uint64_t kinds[PROCEDURE_KINDS];
};

static int
add_up(const struct selection *selection, struct symbolizer *symbolizer, struct doctor_loss *losses)
{
	for (size_t i = 0; i < selection->count_count; i++) {
		const struct selection_count *count = &selection->counts[i];
		struct doctor_loss *loss = &losses[count->image];
		struct procedure procedure;
		int err;

		err = symbolizer_find(symbolizer, &selection->images[count->image], count->offset, &procedure);
		if (err)
			return err;
		loss->kinds[procedure.kind] += count->count;
		if (procedure.kind != PROCEDURE_NAMED)
			loss->samples += count->count;
	}
	return 0;
}

static int
compare_losses(const void *a, const void *b)
{
	const struct doctor_loss *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return x->image < y->image ? -1 : x->image > y->image;
}

/* The kind that costs most; code in no table counts as code without a name: both are what a stripped file has. */
static enum procedure_kind
main_kind(const struct doctor_loss *loss)
{
	enum procedure_kind most = PROCEDURE_UNNAMED;

	for (int kind = PROCEDURE_NO_SYMBOL + 1; kind < PROCEDURE_KINDS; kind++)
		if (loss->kinds[kind] > loss->kinds[most])
			most = (enum procedure_kind)kind;
	if (loss->kinds[PROCEDURE_UNNAMED] + loss->kinds[PROCEDURE_NO_SYMBOL] >= loss->kinds[most])
		return PROCEDURE_UNNAMED;
	return most;
}

static const char *
kind_reason(enum procedure_kind kind)
{
	switch (kind) {
	case PROCEDURE_UNNAMED:
	case PROCEDURE_NO_SYMBOL:
		return "it is stripped";
	case PROCEDURE_OTHER_BUILD:
		return "the file there now is another build";
	case PROCEDURE_NO_FILE:
		return "the file is not here any more";
	case PROCEDURE_NOT_READABLE:
		return "the file may not be read";
	case PROCEDURE_NOT_ELF:
		return "the file is not an ELF file";
	case PROCEDURE_NO_NAMES:
		return "the kernel hid its names";
	case PROCEDURE_ANON:
		return "code made at run time, of which its process tells nothing";
	default:
		return "";
	}
}

static void
add_stripped_remedy(const struct doctor_environment *environment, const char *path, struct ctl_findings *findings)
{
	char package[PACKAGE_NAME_SIZE], debug[PACKAGE_NAME_SIZE];

	if (package_of(environment->dpkg_query, path, package) == 0) {
		package_debug(package, debug);
		findings_remedy(findings, "apt install %s", debug);
	} else {
		findings_remedy(findings, "install it again with its symbols (link without -s, install without -s)");
	}
}

static void
add_remedy(const struct doctor_environment *environment, enum procedure_kind kind, const struct image *image,
           struct ctl_findings *findings)
{
	switch (kind) {
	case PROCEDURE_UNNAMED:
	case PROCEDURE_NO_SYMBOL:
		if (image->kind == IMAGE_USER)
			add_stripped_remedy(environment, image->path, findings);
		return;
	case PROCEDURE_OTHER_BUILD:
		findings_remedy(findings, "restart what runs the old build, then: dcpictl epoch");
		return;
	case PROCEDURE_NOT_READABLE:
		if (environment->uid != 0)
			findings_remedy(findings, "sudo dcpiprof");
		return;
	case PROCEDURE_NO_NAMES:
		findings_remedy(findings, "sysctl kernel.kptr_restrict=1 && systemctl restart dcpid");
		return;
	default:
		return;
	}
}

static void
add_loss(const struct doctor_environment *environment, const struct selection *selection,
         const struct doctor_loss *loss, uint64_t total, struct ctl_findings *findings)
{
	const struct image *image = selection->images[loss->image].image;
	const enum procedure_kind kind = main_kind(loss);
	const double percent = summary_percent(loss->samples, total);
	char *shown = text_shown(image->path), count[STATUS_NUMBER_SIZE];

	findings_add(findings, SEVERITY_WARNING, "symbols", "%s: %s samples (%.1f %%) have no name: %s",
	             shown ? shown : "?", status_format_count(loss->samples, count), percent, kind_reason(kind));
	add_remedy(environment, kind, image, findings);
	findings_image(findings, shown ? shown : "?", loss->samples, percent);
	free(shown);
}

/* Packages that are called -dbgsym come from an archive of their own. */
static void
check_archive(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	bool wanted = false;

	for (size_t i = 0; i < findings->count; i++)
		wanted |= findings->list[i].remedy && strstr(findings->list[i].remedy, "-dbgsym");
	if (!wanted || package_debug_archive(environment->apt_lists))
		return;
	findings_add(findings, SEVERITY_NOTE, "debug-archive",
	             "apt has no archive of debug packages (-dbgsym), which are apart from the others");
	findings_remedy(findings,
	                "add Debian's archive debian-debug to apt's sources (suite: its name and -debug), then: apt "
	                "update");
}

static void
add_losses(const struct doctor_environment *environment, const struct selection *selection, const char *stretch,
           struct doctor_loss *losses, struct ctl_findings *findings)
{
	char total_text[STATUS_NUMBER_SIZE];
	uint64_t total = 0, missing = 0;
	size_t count = 0;

	for (size_t i = 0; i < selection->image_count; i++) {
		total += losses[i].kinds[PROCEDURE_NAMED] + losses[i].samples;
		missing += losses[i].samples;
	}
	if (total == 0) {
		findings_add(findings, SEVERITY_NOTE, "symbols", "%s has no samples", stretch);
		return;
	}
	qsort(losses, selection->image_count, sizeof(*losses), compare_losses);
	for (size_t i = 0; i < selection->image_count && count < IMAGES_NAMED; i++) {
		if (summary_percent(losses[i].samples, total) < LEAST_PERCENT)
			break;
		add_loss(environment, selection, &losses[i], total, findings);
		count++;
	}
	check_archive(environment, findings);
	findings_add(findings, SEVERITY_OK, "symbols", "%.1f %% of the %s samples of %s have a procedure's name",
	             summary_percent(total - missing, total), status_format_count(total, total_text), stretch);
}

int
doctor_check_selection(const struct doctor_environment *environment, struct profile *profile,
                       const struct selection *selection, const char *stretch, struct ctl_findings *findings)
{
	struct symbolizer *symbolizer = symbolizer_new(profile);
	struct doctor_loss *losses = calloc(selection->image_count + 1, sizeof(*losses));
	int err = symbolizer && losses ? 0 : -ENOMEM;

	for (uint32_t i = 0; losses && i < selection->image_count; i++)
		losses[i].image = i;
	if (!err)
		err = add_up(selection, symbolizer, losses);
	if (!err)
		add_losses(environment, selection, stretch, losses, findings);
	free(losses);
	symbolizer_free(symbolizer);
	return err;
}

/* ---- Call stacks that end early ---- */

/* Where stacks ended, and why. */
struct stack_losses {
	uint64_t samples, truncated;
	uint64_t (*ends)[STACK_END_COUNT]; /* by image: of the outermost frame that was found */
};

static void
add_stack(const struct selection *selection, const struct selection_count *count, struct stack_losses *losses)
{
	const struct stack_node *nodes = selection->stacks.nodes;
	uint32_t node = (uint32_t)count->offset, callee = node;

	losses->samples += count->taken;
	for (; nodes[node].caller; node = nodes[node].caller)
		callee = node;
	if (nodes[node].image != STACK_NO_IMAGE)
		return;
	losses->truncated += count->taken;
	if (callee != node && nodes[node].offset < STACK_END_COUNT)
		losses->ends[nodes[callee].image][nodes[node].offset] += count->taken;
}

static void
add_stack_loss(const struct selection *selection, uint32_t image, enum stack_end end, uint64_t samples, double percent,
               struct ctl_findings *findings)
{
	char *shown = text_shown(selection->images[image].image->path), count[STATUS_NUMBER_SIZE];
	const bool can_be_built = end == STACK_END_NO_TABLES && selection->images[image].image->kind == IMAGE_USER;

	findings_add(findings, can_be_built ? SEVERITY_WARNING : SEVERITY_NOTE, "stacks",
	             "%s: %s call stacks (%.1f %%) end in it: %s", shown ? shown : "?",
	             status_format_count(samples, count), percent, stack_end_text(end));
	if (can_be_built)
		findings_remedy(findings,
		                "build it with -fasynchronous-unwind-tables, its assembly with .cfi directives");
	findings_image(findings, shown ? shown : "?", samples, percent);
	free(shown);
}

int
doctor_check_stacks(const struct selection *selection, const char *stretch, struct ctl_findings *findings)
{
	struct stack_losses losses = {.ends = calloc(selection->image_count + 1, sizeof(*losses.ends))};
	char samples[STATUS_NUMBER_SIZE];

	if (!losses.ends)
		return -ENOMEM;
	for (size_t i = 0; i < selection->count_count; i++)
		add_stack(selection, &selection->counts[i], &losses);
	for (uint32_t i = 0; i < selection->image_count; i++) {
		for (unsigned end = 0; end < STACK_END_COUNT; end++) {
			const double percent = summary_percent(losses.ends[i][end], losses.samples);

			if (losses.ends[i][end] >= LEAST_STACKS && percent >= LEAST_STACKS_PERCENT)
				add_stack_loss(selection, i, (enum stack_end)end, losses.ends[i][end], percent,
				               findings);
		}
	}
	if (losses.samples > 0)
		findings_add(findings, SEVERITY_OK, "stacks",
		             "%.1f %% of the %s call stacks of %s reach the outermost procedure",
		             summary_percent(losses.samples - losses.truncated, losses.samples),
		             status_format_count(losses.samples, samples), stretch);
	free(losses.ends);
	return 0;
}

/* ---- What was sampled lately ---- */

/* The last day, over the epochs that a change of rates begins; the latest epoch when nothing is as young as that. */
static int
read_recent(struct profile *profile, bool stacks, struct selection **selection, const char **stretch)
{
	const struct selection_request day = {.since_ns = time_now() - DAY_NS, .stacks = stacks};
	const struct selection_request latest = {.stacks = stacks};
	char why[512];
	int err;

	*stretch = "the last day";
	err = database_read(profile, &day, selection, why, sizeof(why));
	if (err != -DCPI_ENOSELECTION && (err || (*selection)->count_count > 0))
		return err;
	if (!err)
		selection_free(*selection);
	*stretch = "the latest epoch";
	return database_read(profile, &latest, selection, why, sizeof(why));
}

static int
check_images(const struct doctor_environment *environment, struct profile *profile, struct ctl_findings *findings)
{
	struct selection *selection;
	const char *stretch;
	int err;

	err = read_recent(profile, false, &selection, &stretch);
	if (err == -DCPI_ENOSELECTION) {
		findings_add(findings, SEVERITY_NOTE, "symbols", "the database has no samples yet");
		return 0;
	}
	if (err)
		return err;
	err = doctor_check_selection(environment, profile, selection, stretch, findings);
	selection_free(selection);
	if (!err)
		err = read_recent(profile, true, &selection, &stretch);
	if (err)
		return err == -DCPI_ENOSELECTION ? 0 : err;
	err = doctor_check_stacks(selection, stretch, findings);
	selection_free(selection);
	return err;
}

/* ---- The database itself ---- */

void
doctor_add_unreadable(const struct doctor_environment *environment, const char *shown, int err,
                      struct ctl_findings *findings)
{
	switch (-err) {
	case ENOENT:
	case DCPI_ENODATABASE:
		findings_add(findings, SEVERITY_NOTE, "database", "%s: there is no database yet; dcpid makes it",
		             shown);
		return;
	case EACCES:
	case EPERM:
		doctor_add_no_access(environment, "read the database", findings);
		return;
	case DCPI_EDAMAGED:
		findings_add(findings, SEVERITY_PROBLEM, "database", "%s: the database is damaged", shown);
		findings_remedy(findings, "%sdcpictl --db %s salvage --to %s.salvaged",
		                environment->is_service ? "systemctl stop dcpid; " : "", shown, shown);
		return;
	default:
		findings_add(findings, SEVERITY_PROBLEM, "database", "%s: cannot read the database: %s", shown,
		             error_text(err));
		findings_remedy(findings, "dcpictl --db %s check", shown);
	}
}

/* The disk must hold what the database may become. */
static void
check_room(const struct doctor_environment *environment, const char *shown, const struct profile_stats *stats,
           struct ctl_findings *findings)
{
	const json_t *database = json_object_get(environment->status, "database");
	const uint64_t limit = (uint64_t)json_integer_value(json_object_get(database, "limit"));
	char free_text[STATUS_NUMBER_SIZE], more_text[STATUS_NUMBER_SIZE];
	uint64_t available, more, mib;
	struct statvfs disk;

	if (statvfs(environment->directory, &disk) || limit <= stats->file_bytes)
		return;
	available = (uint64_t)disk.f_bavail * disk.f_frsize;
	more = limit - stats->file_bytes;
	if (available >= more)
		return;
	mib = (stats->file_bytes + available / SPARED) / MIB;
	findings_add(findings, SEVERITY_WARNING, "disk", "%s: the disk has %s left, and the database may grow by %s",
	             shown, status_format_size(available, free_text), status_format_size(more, more_text));
	findings_remedy(findings, "set size_limit_mib = %" PRIu64 "; in /etc/dcpi/dcpid.conf, then: dcpictl reload",
	                mib > LEAST ? mib : LEAST);
}

static void
check_contents(const struct doctor_environment *environment, struct profile *profile, const char *shown,
               struct ctl_findings *findings)
{
	char used[STATUS_NUMBER_SIZE], epochs[STATUS_NUMBER_SIZE], slices[STATUS_NUMBER_SIZE];
	struct profile_stats stats;
	int err = profile_stats(profile, &stats);

	if (!err) {
		findings_add(findings, SEVERITY_OK, "database",
		             "%s: the database can be read; %s, epochs: %s, slices: %s", shown,
		             status_format_size(stats.used_bytes, used), status_format_count(stats.epochs, epochs),
		             status_format_count(stats.slices, slices));
		check_room(environment, shown, &stats, findings);
		err = check_images(environment, profile, findings);
	}
	if (err)
		doctor_add_unreadable(environment, shown, err, findings);
}

/* The status of a dcpid that runs has it already. */
static void
check_quarantined(const struct doctor_environment *environment, const char *shown, struct ctl_findings *findings)
{
	char size[STATUS_NUMBER_SIZE];
	struct quarantined found;

	if (environment->status || profile_find_quarantined(environment->directory, &found) <= 0)
		return;
	findings_add(findings, SEVERITY_PROBLEM, "database",
	             "%s/%s: the database was damaged, and what it held (%s) is kept here until somebody removes it",
	             shown, found.name, status_format_size(found.bytes, size));
	findings_remedy(findings, "dcpictl --db %s/%s salvage --to %s.salvaged", shown, found.name, shown);
}

void
doctor_check_database(const struct doctor_environment *environment, struct ctl_findings *findings)
{
	const struct profile_options options = {.write = false};
	char *shown = text_shown(environment->directory);
	struct guard guard = database_guard(shown ? shown : "?");
	struct profile *profile = NULL;
	int err;

	guard_enter(&guard);
	err = profile_open(environment->directory, &options, &profile);
	if (err)
		doctor_add_unreadable(environment, guard.subject, err, findings);
	else
		check_contents(environment, profile, guard.subject, findings);
	profile_close(profile);
	guard_leave(&guard);
	check_quarantined(environment, guard.subject, findings);
	free(shown);
}
