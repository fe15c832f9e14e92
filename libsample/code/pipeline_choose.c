#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/model_file.h"
#include "code/pipeline.h"

int
pipeline_load(const char *path, struct pipeline *pipeline, char *why, size_t size)
{
	char *text;
	int err = model_file_read(path, "the model of a CPU", &text, why, size);

	if (err)
		return err;
	err = pipeline_parse(path, text, pipeline, why, size);
	free(text);
	return err;
}

void
pipeline_directory(char *directory, size_t size)
{
	model_file_directory("DCPI_CPUS", "config/cpus", PIPELINE_GENERIC MODEL_FILE_SUFFIX, PIPELINE_DIRECTORY,
	                     directory, size);
}

static int
load_named(const char *directory, const char *name, struct pipeline *pipeline, char *note, size_t size)
{
	char path[PATH_MAX];
	int used;

	if (strchr(name, '/'))
		return pipeline_load(name, pipeline, note, size);
	used = snprintf(path, sizeof(path), "%s/%s" MODEL_FILE_SUFFIX, directory, name);
	if (used < 0 || (size_t)used >= sizeof(path) || access(path, F_OK))
		return model_file_refuse("model of a CPU", name, &directory, 1, note, size);
	return pipeline_load(path, pipeline, note, size);
}

/* Load the first model that is for `cpu`. 1, 0 when none is, or an error. */
static int
load_matching(const char *directory, const char *cpu, struct pipeline *pipeline, char *note, size_t size)
{
	char **names;
	int count = model_file_list(directory, &names);
	int result = 0;

	if (count < 0) {
		snprintf(note, size, "%s: cannot read the models of CPUs: %s", directory, error_text(count));
		return count;
	}
	for (int i = 0; result == 0 && i < count; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s" MODEL_FILE_SUFFIX, directory, names[i]);
		result = pipeline_load(path, pipeline, note, size);
		if (result == 0)
			result = pipeline_is_for(pipeline, cpu);
	}
	model_file_list_free(names, count);
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
