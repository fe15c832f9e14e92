/*
 * dcpitar - a profile database as one file, to be read elsewhere
 *
 * Its options; what it does is in dcpi-tools/tar/, and man/dcpitar.1.scd describes it.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/tar/request.h"

const char *argp_program_version = "dcpitar " DCPI_VERSION;

#define SUFFIX        ".tar.zst"
#define LIMIT_DEFAULT 16384 /* MiB */

enum tar_key {
	KEY_TO = 1,
	KEY_NO_IMAGES,
	KEY_LIMIT,
	KEY_JSON,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is done (without -x, ARCHIVE is written):", 1},
	{"extract", 'x', NULL, 0, "Extract the database in ARCHIVE", 1},
	{"to", KEY_TO, "DIR", 0, "Into DIR, which is not there yet (default: called as the archive)", 1},
	{"limit", KEY_LIMIT, "MIB", 0, "Extract no more than so many MiB (default: 16384)", 1},
	{"no-images", KEY_NO_IMAGES, NULL, 0, "Do not read the files of images: only what dcpid captured goes with it",
         1},
	{"json", KEY_JSON, NULL, 0, "Print as JSON what was written", 1},
	{NULL, 0, NULL, 0, "Which database:", 2},
	{0},
};

static const struct argp_child children[] = {
	{&options_database, 0, NULL, 0},
	{0},
};

static void
check(const struct argp_state *state, const struct tar_request *request)
{
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

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct tar_request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		tool_init_children(state, children, &request->options);
		return 0;
	case 'x':
		request->extract = true;
		return 0;
	case KEY_TO:
		request->target = text;
		return 0;
	case KEY_NO_IMAGES:
		request->images = false;
		return 0;
	case KEY_LIMIT:
		request->limit_bytes = options_whole(state, "--limit", text, 1, 1 << 30) << 20;
		return 0;
	case KEY_JSON:
		request->options.format = FORMAT_JSON;
		return 0;
	case ARGP_KEY_ARG:
		if (request->archive)
			argp_error(state, "one archive at a time");
		request->archive = text;
		return 0;
	case ARGP_KEY_END:
		check(state, request);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "ARCHIVE",
	.doc = "Write a profile database into one file, with names and text of its images, to be read elsewhere.\v"
	       "A file of - is standard output, or input. See dcpitar(1).",
	.children = children,
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

/* Beside what is extracted, so that it can be renamed; an archive's is where there is most room. */
static int
make_scratch(struct tar_request *request)
{
	struct stat there;
	char *parent, *slash;
	int err;

	if (!request->extract)
		return scratch_make(&request->scratch, NULL);
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
	err = scratch_make(&request->scratch, slash ? parent : ".");
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
	err = make_scratch(request);
	if (err == -EEXIST && request->extract) {
		message_print(request->target, "is there already: --to names another directory");
		return STATUS_FAILURE;
	}
	if (err)
		return message_cannot(request->extract ? request->target : NULL, "make a directory to work in", err,
		                      NULL);
	return scratch_run(&request->scratch, do_work, request);
}

int
main(int argc, char **argv)
{
	struct tar_request request = {.images = true, .limit_bytes = (uint64_t)LIMIT_DEFAULT << 20};
	int status;

	text_init();
	options_init(&request.options);
	status = argp_parse(&argp, argc, argv, 0, NULL, &request);
	if (status)
		status = message_cannot(NULL, "read the command line", -status, NULL);
	else
		status = run(&request);
	free(request.name);
	options_fini(&request.options);
	return status;
}
