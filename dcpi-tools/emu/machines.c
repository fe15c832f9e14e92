#include "dcpi-tools/emu/machines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/model_file.h"

static bool
is_listed(const struct machine_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *file = strrchr(list->machines[i].path, '/') + 1;
		const size_t length = strlen(name);

		if (strncmp(file, name, length) == 0 && strcmp(file + length, MODEL_FILE_SUFFIX) == 0)
			return true;
	}
	return false;
}

static int
add(struct machine_list *list, const char *directory, const char *name)
{
	struct described_machine *machines, *one;
	struct pipeline pipeline;
	int used;

	if (is_listed(list, name))
		return 0;
	machines = realloc(list->machines, (list->count + 1) * sizeof(*machines));
	if (!machines)
		return -ENOMEM;
	list->machines = machines;
	one = &machines[list->count];
	memset(one, 0, sizeof(*one));
	used = snprintf(one->path, sizeof(one->path), "%s/%s" MODEL_FILE_SUFFIX, directory, name);
	if (used < 0 || (size_t)used >= sizeof(one->path))
		return -ENAMETOOLONG;
	list->count++;
	if (machine_choose(one->path, &one->machine, &pipeline, one->why, sizeof(one->why)) && !one->why[0])
		snprintf(one->why, sizeof(one->why), "%s: it cannot be read", name);
	return 0;
}

static int
add_all(struct machine_list *list, const char *directory)
{
	char **names;
	int count = model_file_list(directory, &names);
	int err = count < 0 ? count : 0;

	for (int i = 0; !err && i < count; i++)
		err = add(list, directory, names[i]);
	model_file_list_free(names, count);
	return err;
}

int
machine_list_read(struct machine_list *list)
{
	int err = 0;

	memset(list, 0, sizeof(*list));
	machine_directory(list->described, sizeof(list->described));
	if (machine_own_directory(list->own, sizeof(list->own)))
		list->own[0] = '\0';
	if (list->own[0])
		err = add_all(list, list->own);
	if (err == -ENOENT)
		err = 0;
	return err ? err : add_all(list, list->described);
}

void
machine_list_fini(struct machine_list *list)
{
	free(list->machines);
	list->machines = NULL;
	list->count = 0;
}
