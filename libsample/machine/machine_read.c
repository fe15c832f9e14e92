#include <string.h>

#include "base/array.h"
#include "machine/machine_parts.h"

#define FIELD(field) offsetof(struct machine, field)

static const struct config_field core_fields[] = {
	{"clock_mhz", FIELD(clock_mhz), 1, 20000, true, CONFIG_FIELD_DOUBLE, "MHz"},
	{"nodes", FIELD(nodes), 1, MACHINE_NODES_MAX, true},
	{"cores", FIELD(cores), 1, MACHINE_CORES_MAX, true},
	{"line_bytes", FIELD(line_bytes), 16, 256, true, .unit = "bytes"},
	{"page_bytes", FIELD(page_bytes), 4096, 1 << 30, true, .unit = "bytes"},
	{"misses_in_flight", FIELD(misses_in_flight), 1, 64, true},
	{"write_buffer_entries", FIELD(write_buffer_entries), 1, 1024, true},
	{"call_cycles", FIELD(call_cycles), 0, 1000000, true, CONFIG_FIELD_DOUBLE, "cycles"},
};

static const char *const top_names[] = {
	"name", "title", "pipeline", "caches", "tlbs", "prefetchers", "branches", "memory",
};

int
machine_read_group(const struct config_source *source, const config_setting_t *group, const struct config_field *fields,
                   size_t count, void *into)
{
	int err = config_fields_known(source, group, fields, count, NULL, 0);

	return err ? err : config_fields_read(source, group, fields, count, into);
}

static int
refuse_word(const struct config_source *source, const config_setting_t *setting, const char *const *words,
            unsigned count)
{
	char list[256] = "";
	size_t used = 0;

	for (unsigned i = 0; i < count; i++) {
		const char *between = i == 0 ? "" : i + 1 == count ? " or " : ", ";
		const size_t length = strlen(between) + strlen(words[i]) + 2;

		if (used + length >= sizeof(list))
			break;
		used = (size_t)(stpcpy(stpcpy(stpcpy(stpcpy(list + used, between), "\""), words[i]), "\"") - list);
	}
	return config_refuse(source, setting, "%s must be %s", config_setting_name(setting), list);
}

int
machine_read_word(const struct config_source *source, const config_setting_t *group, const char *name,
                  const char *const *words, unsigned count, unsigned *value)
{
	const config_setting_t *setting = config_setting_get_member(group, name);
	const char *given = setting ? config_setting_get_string(setting) : NULL;

	if (!setting)
		return 0;
	for (unsigned i = 0; given && i < count; i++) {
		if (strcmp(given, words[i]) != 0)
			continue;
		*value = i;
		return 0;
	}
	return refuse_word(source, setting, words, count);
}

int
machine_check_power(const struct config_source *source, const config_setting_t *group, const char *name, uint64_t value)
{
	const config_setting_t *setting = config_setting_get_member(group, name);

	if (value != 0 && (value & (value - 1)) == 0)
		return 0;
	return config_refuse(source, setting ? setting : group, "%s is %llu; it must be a power of two", name,
	                     (unsigned long long)value);
}

static int
read_text(const struct config_source *source, const config_setting_t *root, const char *name, char *text, size_t size)
{
	int err = 0;
	const config_setting_t *setting =
		config_member(source, root, name, CONFIG_TYPE_STRING, "a string, in \"...\"", true, &err);

	if (!err)
		err = config_string(source, setting, text, size);
	if (!err && !*text)
		err = config_refuse(source, setting, "%s is empty", name);
	return err;
}

/* It becomes a part of labels and file names, and is shown as it is. */
static bool
is_plain_name(const char *name)
{
	while (*name > ' ' && *name < 0x7f && *name != '/')
		name++;
	return *name == '\0';
}

static int
read_texts(const struct config_source *source, const config_setting_t *root, struct machine *machine)
{
	int err = read_text(source, root, "name", machine->name, sizeof(machine->name));

	if (!err && !is_plain_name(machine->name))
		err = config_refuse(source, config_setting_get_member(root, "name"),
		                    "name must be letters, digits and signs, without a space or a slash");
	if (!err)
		err = read_text(source, root, "title", machine->title, sizeof(machine->title));
	if (!err)
		err = read_text(source, root, "pipeline", machine->pipeline_name, sizeof(machine->pipeline_name));
	return err;
}

static int
check_core(const struct config_source *source, const config_setting_t *root, const struct machine *machine)
{
	int err = machine_check_power(source, root, "line_bytes", machine->line_bytes);

	if (!err)
		err = machine_check_power(source, root, "page_bytes", machine->page_bytes);
	if (!err && machine->cores % machine->nodes != 0)
		err = config_refuse(source, config_setting_get_member(root, "cores"),
		                    "cores is %u; %u nodes must have equally many", machine->cores, machine->nodes);
	return err;
}

static int
read_machine(const struct config_source *source, const config_setting_t *root, void *into)
{
	struct machine *machine = into;
	int err = config_fields_known(source, root, core_fields, ARRAY_COUNT(core_fields), top_names,
	                              ARRAY_COUNT(top_names));

	if (!err)
		err = read_texts(source, root, machine);
	if (!err)
		err = config_fields_read(source, root, core_fields, ARRAY_COUNT(core_fields), machine);
	if (!err)
		err = check_core(source, root, machine);
	if (!err)
		err = machine_read_caches(source, root, machine);
	if (!err)
		err = machine_read_tlbs(source, root, machine);
	if (!err)
		err = machine_read_prefetchers(source, root, machine);
	if (!err)
		err = machine_read_branches(source, root, machine);
	if (!err)
		err = machine_read_memory(source, root, machine);
	return err;
}

int
machine_parse(const char *file, const char *text, struct machine *machine, char *why, size_t size)
{
	memset(machine, 0, sizeof(*machine));
	return config_read_text(file, text, read_machine, machine, why, size);
}
