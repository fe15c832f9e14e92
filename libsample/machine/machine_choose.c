#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/model_file.h"
#include "machine/machine.h"

int
machine_load(const char *path, struct machine *machine, char *why, size_t size)
{
	char *text;
	int err = model_file_read(path, "the description of a machine", &text, why, size);

	if (err)
		return err;
	err = machine_parse(path, text, machine, why, size);
	free(text);
	return err;
}

void
machine_directory(char *directory, size_t size)
{
	model_file_directory("DCPI_MACHINES", "config/machines", "in-order-2" MODEL_FILE_SUFFIX, MACHINE_DIRECTORY,
	                     directory, size);
}

int
machine_own_directory(char *directory, size_t size)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME");
	const char *home = secure_getenv("HOME");
	int used;

	if (config && *config == '/')
		used = snprintf(directory, size, "%s/dcpi/machines", config);
	else if (home && *home == '/')
		used = snprintf(directory, size, "%s/.config/dcpi/machines", home);
	else
		return -DCPI_ECONFIG;
	return used > 0 && (size_t)used < size ? 0 : -DCPI_ECONFIG;
}

/* The file of the machine `name`; an error when there is none. */
static int
find_named(const char *name, char *path, size_t path_size, char *why, size_t size)
{
	char own[PATH_MAX], described[PATH_MAX];
	const char *directories[2];
	size_t count = 0;

	if (machine_own_directory(own, sizeof(own)) == 0)
		directories[count++] = own;
	machine_directory(described, sizeof(described));
	directories[count++] = described;
	for (size_t i = 0; i < count; i++) {
		int used = snprintf(path, path_size, "%s/%s" MODEL_FILE_SUFFIX, directories[i], name);

		if (used > 0 && (size_t)used < path_size && access(path, F_OK) == 0)
			return 0;
	}
	return model_file_refuse("machine", name, directories, count, why, size);
}

/* A load that hits takes what the machine says; one of a vector is as much longer as it was. */
static void
set_load_latency(const struct machine *machine, struct pipeline *pipeline)
{
	struct pipeline_operation *load = &pipeline->operations[CLASS_LOAD];
	struct pipeline_operation *vector = &pipeline->operations[OPERATION_LOAD_VECTOR];
	const unsigned longer = vector->latency > load->latency ? vector->latency - load->latency : 0;

	load->latency = machine->levels[0].latency_cycles;
	vector->latency = load->latency + longer;
}

static int
choose_pipeline(const char *path, const struct machine *machine, struct pipeline *pipeline, char *why, size_t size)
{
	char directory[PATH_MAX], note[1024];
	int err;

	pipeline_directory(directory, sizeof(directory));
	err = pipeline_choose(directory, machine->pipeline_name, "", pipeline, note, sizeof(note));
	if (err) {
		snprintf(why, size, "%s: pipeline: %s", path, note);
		return err;
	}
	pipeline->cache_line = machine->line_bytes;
	set_load_latency(machine, pipeline);
	return 0;
}

int
machine_choose(const char *choice, struct machine *machine, struct pipeline *pipeline, char *why, size_t size)
{
	char found[PATH_MAX];
	const char *path = strchr(choice, '/') ? choice : found;
	int err = path == found ? find_named(choice, found, sizeof(found), why, size) : 0;

	if (!err)
		err = machine_load(path, machine, why, size);
	return err ? err : choose_pipeline(path, machine, pipeline, why, size);
}
