#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/doctor/checks.h"
#include "dcpi-tools/ctl/status_text.h"

#define CHECK         "symbols"
#define LEAST_PERCENT 0.5 /* of all samples, for an image to be named */
#define IMAGES_NAMED  10
#define DAY_NS        (UINT64_C(86400) * 1000000000)

/* Samples of one image that have no name, and why. */
struct loss {
	uint32_t image;   /* index into the selection's */
	uint64_t samples; /* sum of the kinds but PROCEDURE_NAMED */
	uint64_t kinds[PROCEDURE_KINDS];
};

static int
add_up(const struct selection *selection, struct symbolizer *symbolizer, struct loss *losses)
{
	for (size_t i = 0; i < selection->count_count; i++) {
		const struct selection_count *count = &selection->counts[i];
		struct loss *loss = &losses[count->image];
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
	const struct loss *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return x->image < y->image ? -1 : x->image > y->image;
}

/* The kind that costs most; code in no table counts as code without a name: both are what a stripped file has. */
static enum procedure_kind
main_kind(const struct loss *loss)
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
mend_stripped(const struct surroundings *around, const char *path, struct ctl_findings *findings)
{
	char package[PACKAGE_NAME_SIZE], debug[PACKAGE_NAME_SIZE];

	if (package_of(around->dpkg_query, path, package) == 0) {
		package_debug(package, debug);
		findings_mend(findings, "apt install %s", debug);
	} else {
		findings_mend(findings, "install it again with its symbols (link without -s, install without -s)");
	}
}

static void
mend(const struct surroundings *around, enum procedure_kind kind, const struct image *image,
     struct ctl_findings *findings)
{
	switch (kind) {
	case PROCEDURE_UNNAMED:
	case PROCEDURE_NO_SYMBOL:
		if (image->kind == IMAGE_USER)
			mend_stripped(around, image->path, findings);
		return;
	case PROCEDURE_OTHER_BUILD:
		findings_mend(findings, "restart what runs the old build, then: dcpictl epoch");
		return;
	case PROCEDURE_NOT_READABLE:
		if (around->uid != 0)
			findings_mend(findings, "sudo dcpiprof");
		return;
	case PROCEDURE_NO_NAMES:
		findings_mend(findings, "sysctl kernel.kptr_restrict=1 && systemctl restart dcpid");
		return;
	default:
		return;
	}
}

static void
add_loss(const struct surroundings *around, const struct selection *selection, const struct loss *loss, uint64_t total,
         struct ctl_findings *findings)
{
	const struct image *image = selection->images[loss->image].image;
	const enum procedure_kind kind = main_kind(loss);
	const double percent = share_percent(loss->samples, total);
	char *shown = text_shown(image->path), count[NUMBER_TEXT_SIZE];

	findings_add(findings, SEVERITY_WARNING, CHECK, "%s: %s samples (%.1f %%) have no name: %s",
	             shown ? shown : "?", count_format(loss->samples, count), percent, kind_reason(kind));
	mend(around, kind, image, findings);
	findings_image(findings, shown ? shown : "?", loss->samples, percent);
	free(shown);
}

/* Packages that are called -dbgsym come from an archive of their own. */
static void
check_archive(const struct surroundings *around, struct ctl_findings *findings)
{
	bool wanted = false;

	for (size_t i = 0; i < findings->count; i++)
		wanted |= findings->list[i].mend && strstr(findings->list[i].mend, "-dbgsym");
	if (!wanted || package_debug_archive(around->apt_lists))
		return;
	findings_add(findings, SEVERITY_NOTE, "debug-archive",
	             "apt has no archive of debug packages (-dbgsym), which are apart from the others");
	findings_mend(findings,
	              "add Debian's archive debian-debug to apt's sources (suite: its name and -debug), then: apt "
	              "update");
}

static void
report(const struct surroundings *around, const struct selection *selection, const char *stretch, struct loss *losses,
       struct ctl_findings *findings)
{
	char total_text[NUMBER_TEXT_SIZE];
	uint64_t total = 0, missing = 0;
	size_t count = 0;

	for (size_t i = 0; i < selection->image_count; i++) {
		total += losses[i].kinds[PROCEDURE_NAMED] + losses[i].samples;
		missing += losses[i].samples;
	}
	if (total == 0) {
		findings_add(findings, SEVERITY_NOTE, CHECK, "%s has no samples", stretch);
		return;
	}
	qsort(losses, selection->image_count, sizeof(*losses), compare_losses);
	for (size_t i = 0; i < selection->image_count && count < IMAGES_NAMED; i++) {
		if (share_percent(losses[i].samples, total) < LEAST_PERCENT)
			break;
		add_loss(around, selection, &losses[i], total, findings);
		count++;
	}
	check_archive(around, findings);
	findings_add(findings, SEVERITY_OK, CHECK, "%.1f %% of the %s samples of %s have a procedure's name",
	             share_percent(total - missing, total), count_format(total, total_text), stretch);
}

int
examine_selection(const struct surroundings *around, struct profile *profile, const struct selection *selection,
                  const char *stretch, struct ctl_findings *findings)
{
	struct symbolizer *symbolizer = symbolizer_new(profile);
	struct loss *losses = calloc(selection->image_count + 1, sizeof(*losses));
	int err = symbolizer && losses ? 0 : -ENOMEM;

	for (uint32_t i = 0; losses && i < selection->image_count; i++)
		losses[i].image = i;
	if (!err)
		err = add_up(selection, symbolizer, losses);
	if (!err)
		report(around, selection, stretch, losses, findings);
	free(losses);
	symbolizer_free(symbolizer);
	return err;
}

/* The last day, over the epochs that a change of rates begins; the latest epoch when nothing is as young as that. */
static int
read_recent(struct profile *profile, struct selection **selection, const char **stretch)
{
	const struct selection_request day = {.since_ns = time_now() - DAY_NS}, latest = {0};
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

int
examine_images(const struct surroundings *around, struct profile *profile, struct ctl_findings *findings)
{
	struct selection *selection;
	const char *stretch;
	int err;

	err = read_recent(profile, &selection, &stretch);
	if (err == -DCPI_ENOSELECTION) {
		findings_add(findings, SEVERITY_NOTE, CHECK, "the database has no samples yet");
		return 0;
	}
	if (err)
		return err;
	err = examine_selection(around, profile, selection, stretch, findings);
	selection_free(selection);
	return err;
}
