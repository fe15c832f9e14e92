/*
 * dcpitar - a profile database as one file, to be read elsewhere
 *
 * Its options; what it does is in dcpi-tools/tar/, and man/dcpitar.1.scd describes it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/temporary_directory.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/tar/tar.h"

const char *argp_program_version = "dcpitar " DCPI_VERSION;

#define SUFFIX        ".tar.zst"
#define LIMIT_DEFAULT 16384 /* MiB */

static void
take_limit(void *member, char *text, struct argp_state *state)
{
	*(uint64_t *)member = options_whole(state, "--limit", text, 1, 1 << 30) << 20;
}

static void
take_archive(void *member, char *text, struct argp_state *state)
{
	const char **archive = member;

	if (*archive)
		argp_error(state, "one archive at a time");
	*archive = text;
}

static void
check(void *checked, struct argp_state *state)
{
	const struct tar_request *request = checked;
	const bool is_standard = request->archive && strcmp(request->archive, "-") == 0;

	if (!request->archive)
		argp_error(state, "which archive? 'dcpitar NAME" SUFFIX "' writes one");
	if (!request->extract && request->target)
		argp_error(state, "--to says where to extract to: with -x");
	if (request->extract && is_standard && !request->target)
		argp_error(state, "where to? --to DIR");
	if (!request->extract && is_standard && request->options.format == FORMAT_JSON)
		argp_error(state, "standard output takes one thing only");
	if (!request->extract && is_standard && isatty(STDOUT_FILENO) == 1)
		argp_error(state, "an archive is no text for a terminal: name a file, or a pipe behind it");
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is done (without -x, ARCHIVE is written):"),
	OPTION_TRUE(1, "extract", 'x', struct tar_request, extract, "Extract the database in ARCHIVE"),
	OPTION_TEXT(1, "to", "DIR", struct tar_request, target,
                    "Into DIR, which is not there yet (default: called as the archive)"),
	OPTION_CALL(1, "limit", 0, "MIB", offsetof(struct tar_request, limit_bytes), take_limit,
                    "Extract no more than so many MiB (default: 16384)"),
	OPTION_FALSE(1, "no-images", struct tar_request, images,
                     "Do not read the files of images: only what dcpid captured goes with it"),
	OPTION_ENUM(1, "json", 0, struct tar_request, options.format, FORMAT_JSON, "Print as JSON what was written"),
	OPTION_HEADING(2, "Which database:"),
	OPTION_ARGUMENT(offsetof(struct tar_request, archive), take_archive),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "ARCHIVE",
	.doc = "Write a profile database into one file, with names and text of its images, to be read elsewhere.\v"
	       "A file of - is standard output, or input. See dcpitar(1).",
	.shared = SHARED_DATABASE,
	.options = offsetof(struct tar_request, options),
	.check = check,
};

/* "web1" of /tmp/web1.tar.zst, "profile" of what has no name. */
static char *
name_of(const char *archive)
{
	const char *name = text_basename(archive);
	size_t length = strlen(name);

	if (length > strlen(SUFFIX) && strcmp(name + length - strlen(SUFFIX), SUFFIX) == 0)
		length -= strlen(SUFFIX);
	if (length == 0 || strcmp(archive, "-") == 0)
		return strdup("profile");
	return strndup(name, length);
}

static int
do_work(void *context)
{
	const struct tar_request *request = context;

	return request->extract ? tar_extract(request) : tar_pack(request);
}

static int
make_below(struct tar_request *request, const char *parent)
{
	return temporary_directory_make(parent, ".dcpitar", request->directory, sizeof(request->directory));
}

/* Beside what is extracted, so that it can be renamed; an archive's is where there is most room. */
static int
make_directory(struct tar_request *request)
{
	struct stat there;
	char *parent, *slash;
	int err;

	if (!request->extract)
		return make_below(request, temporary_directory_parent("/var/tmp"));
	if (lstat(request->target, &there) == 0)
		return -EEXIST; /* said before any work */
	parent = strdup(request->target);
	if (!parent)
		return -ENOMEM;
	for (size_t length = strlen(parent); length > 1 && parent[length - 1] == '/';)
		parent[--length] = '\0';
	slash = strrchr(parent, '/');
	if (slash)
		slash[slash == parent] = '\0';
	err = make_below(request, slash ? parent : ".");
	free(parent);
	return err;
}

static int
run(struct tar_request *request)
{
	int err;

	request->name = name_of(request->archive);
	if (!request->name)
		return message_cannot(NULL, "name the archive", -ENOMEM, NULL);
	if (!request->target)
		request->target = request->name;
	err = make_directory(request);
	if (err == -EEXIST && request->extract) {
		message_print(request->target, "is there already: --to names another directory");
		return STATUS_FAILURE;
	}
	if (err)
		return message_cannot(request->extract ? request->target : temporary_directory_parent("/var/tmp"),
		                      "make a directory to work in", err,
		                      request->extract ? NULL : "TMPDIR names another place");
	return temporary_directory_run(request->directory, do_work, request);
}

int
main(int argc, char **argv)
{
	struct tar_request request = {.images = true, .limit_bytes = (uint64_t)LIMIT_DEFAULT << 20};
	int status = command_line_read(&line, &request, argc, argv);

	if (!status)
		status = run(&request);
	free(request.name);
	options_fini(&request.options);
	return status;
}
