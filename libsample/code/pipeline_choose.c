#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config_text.h"
#include "base/error.h"
#include "base/suggest.h"
#include "code/pipeline.h"

#define MODELS_MAX 256
#define SUFFIX     ".conf"

static int
read_all(int fd, char *text, size_t capacity)
{
	size_t length = 0;

	while (length < capacity) {
		ssize_t got = TEMP_FAILURE_RETRY(read(fd, text + length, capacity - length));

		if (got < 0)
			return -errno;
		if (got == 0)
			return memchr(text, '\0', length) ? -DCPI_EDAMAGED : 0;
		length += (size_t)got;
	}
	return -EFBIG;
}

int
pipeline_load(const char *path, struct pipeline *pipeline, char *why, size_t size)
{
	char *text = calloc(1, CONFIG_TEXT_MAX + 2);
	struct stat status;
	int err = 0;
	int fd;

	if (!text) {
		snprintf(why, size, "%s: cannot read the model of a CPU: %s", path, error_text(-ENOMEM));
		return -ENOMEM;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status))
		err = -errno;
	else
		err = S_ISREG(status.st_mode) ? read_all(fd, text, CONFIG_TEXT_MAX + 1) : -DCPI_ECONFIG;
	if (err)
		snprintf(why, size, "%s: cannot read the model of a CPU: %s", path, error_text(err));
	else
		err = pipeline_parse(path, text, pipeline, why, size);
	if (fd >= 0)
		close(fd);
	free(text);
	return err;
}

/* A program that is not installed lies in BUILD/bin or BUILD/tests/..., and its sources above BUILD. */
static bool
find_in_sources(char *directory, size_t size)
{
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (length < 0)
		return false;
	program[length] = '\0';
	for (char *slash = strrchr(program, '/'); slash && slash != program; slash = strrchr(program, '/')) {
		char generic[PATH_MAX + 64];

		*slash = '\0';
		snprintf(generic, sizeof(generic), "%s/config/cpus/" PIPELINE_GENERIC SUFFIX, program);
		if (access(generic, R_OK) == 0) {
			int used = snprintf(directory, size, "%s/config/cpus", program);

			return used > 0 && (size_t)used < size;
		}
	}
	return false;
}

void
pipeline_directory(char *directory, size_t size)
{
	const char *given = secure_getenv("DCPI_CPUS");

	if (given && *given)
		snprintf(directory, size, "%s", given);
	else if (!find_in_sources(directory, size))
		snprintf(directory, size, "%s", PIPELINE_DIRECTORY);
}

static int
is_model(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > strlen(SUFFIX) &&
	       strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) == 0;
}

/* The files of `directory`, sorted; how many, or -errno. */
static int
list_models(const char *directory, struct dirent ***entries)
{
	int count = scandir(directory, entries, is_model, alphasort);

	return count < 0 ? -errno : count;
}

static void
free_models(struct dirent **entries, int count)
{
	for (int i = 0; i < count; i++)
		free(entries[i]);
	if (count >= 0)
		free(entries);
}

static int
refuse_name(const char *directory, const char *choice, char *note, size_t size)
{
	struct dirent **entries;
	const char *names[MODELS_MAX];
	int count = list_models(directory, &entries);
	size_t known = 0;
	const char *near;
	int used = 0;

	for (int i = 0; i < count && known < MODELS_MAX; i++) {
		entries[i]->d_name[strlen(entries[i]->d_name) - strlen(SUFFIX)] = '\0';
		names[known++] = entries[i]->d_name;
	}
	near = suggest_name(choice, names, known);
	if (near)
		snprintf(note, size, "there is no model of a CPU \"%s\"; did you mean \"%s\"?", choice, near);
	else
		used = snprintf(note, size, "there is no model of a CPU \"%s\" in %s%s", choice, directory,
		                known ? "; there are:" : "");
	for (size_t i = 0; !near && i < known && used > 0 && (size_t)used < size; i++)
		used += snprintf(note + used, size - (size_t)used, " %s", names[i]);
	free_models(entries, count);
	return -DCPI_ECONFIG;
}

static int
load_named(const char *directory, const char *name, struct pipeline *pipeline, char *note, size_t size)
{
	char path[PATH_MAX];
	int used;

	if (strchr(name, '/'))
		return pipeline_load(name, pipeline, note, size);
	used = snprintf(path, sizeof(path), "%s/%s" SUFFIX, directory, name);
	if (used < 0 || (size_t)used >= sizeof(path) || access(path, F_OK))
		return refuse_name(directory, name, note, size);
	return pipeline_load(path, pipeline, note, size);
}

/* Load the first model that is for `cpu`. 1, 0 when none is, or an error. */
static int
load_matching(const char *directory, const char *cpu, struct pipeline *pipeline, char *note, size_t size)
{
	struct dirent **entries;
	int count = list_models(directory, &entries);
	int result = 0;

	if (count < 0) {
		snprintf(note, size, "%s: cannot read the models of CPUs: %s", directory, error_text(count));
		return count;
	}
	for (int i = 0; result == 0 && i < count; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		result = pipeline_load(path, pipeline, note, size);
		if (result == 0)
			result = pipeline_is_for(pipeline, cpu);
	}
	free_models(entries, count);
	return result;
}

int
pipeline_choose(const char *directory, const char *choice, const char *cpu, struct pipeline *pipeline, char *note,
                size_t size)
{
	int found;
	int err;

	*note = '\0';
	if (choice)
		return load_named(directory, choice, pipeline, note, size);
	found = load_matching(directory, cpu, pipeline, note, size);
	if (found)
		return found < 0 ? found : 0;
	err = load_named(directory, PIPELINE_GENERIC, pipeline, note, size);
	if (!err)
		snprintf(note, size, "no model is for the CPU \"%s\": the generic one is used; --cpu chooses another",
		         *cpu ? cpu : "unknown");
	return err;
}
