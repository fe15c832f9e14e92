#include <stdio.h>
#include <string.h>

#include "code/pipeline_parts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Who stands for an operation that a file does not have; an operation stands for itself when it must be there. */
static const uint8_t stand_ins[OPERATION_COUNT] = {
	[CLASS_NOP] = CLASS_NOP,
	[CLASS_INTEGER] = CLASS_INTEGER,
	[CLASS_SHIFT] = CLASS_INTEGER,
	[CLASS_ADDRESS] = CLASS_INTEGER,
	[CLASS_MOVE] = CLASS_INTEGER,
	[CLASS_SELECT] = CLASS_INTEGER,
	[CLASS_MULTIPLY] = CLASS_MULTIPLY,
	[CLASS_DIVIDE] = CLASS_DIVIDE,
	[CLASS_BIT] = CLASS_INTEGER,
	[CLASS_LOAD] = CLASS_LOAD,
	[CLASS_STORE] = CLASS_STORE,
	[CLASS_PREFETCH] = CLASS_LOAD,
	[CLASS_ATOMIC] = CLASS_INTEGER,
	[CLASS_BARRIER] = CLASS_INTEGER,
	[CLASS_BRANCH] = CLASS_BRANCH,
	[CLASS_JUMP] = CLASS_BRANCH,
	[CLASS_CALL] = CLASS_BRANCH,
	[CLASS_RETURN] = CLASS_BRANCH,
	[CLASS_FLOAT_ADD] = CLASS_FLOAT_ADD,
	[CLASS_FLOAT_MULTIPLY] = CLASS_FLOAT_ADD,
	[CLASS_FLOAT_FUSED] = CLASS_FLOAT_MULTIPLY,
	[CLASS_FLOAT_DIVIDE] = CLASS_FLOAT_DIVIDE,
	[CLASS_FLOAT_ROOT] = CLASS_FLOAT_DIVIDE,
	[CLASS_FLOAT_COMPARE] = CLASS_FLOAT_ADD,
	[CLASS_FLOAT_CONVERT] = CLASS_FLOAT_ADD,
	[CLASS_FLOAT_MOVE] = CLASS_FLOAT_ADD,
	[CLASS_VECTOR_INTEGER] = CLASS_FLOAT_ADD,
	[CLASS_VECTOR_MULTIPLY] = CLASS_FLOAT_MULTIPLY,
	[CLASS_VECTOR_SHUFFLE] = CLASS_VECTOR_INTEGER,
	[CLASS_CRYPTO] = CLASS_VECTOR_MULTIPLY,
	[CLASS_STRING] = CLASS_INTEGER,
	[CLASS_SYSTEM] = CLASS_INTEGER,
	[CLASS_UNKNOWN] = CLASS_INTEGER,
	[OPERATION_LOAD_VECTOR] = CLASS_LOAD,
	[OPERATION_STORE_VECTOR] = CLASS_STORE,
	[OPERATION_STORE_FOLDED] = CLASS_STORE,
	[OPERATION_TRANSFER] = CLASS_FLOAT_MOVE,
	[OPERATION_TRANSFER_BACK] = OPERATION_TRANSFER,
	[OPERATION_ADDRESS_THREE] = CLASS_ADDRESS,
	[OPERATION_MULTIPLY_TWO] = CLASS_MULTIPLY,
	[OPERATION_DIVIDE_WIDE] = CLASS_DIVIDE,
	[OPERATION_SHIFT_BY_REGISTER] = CLASS_SHIFT,
};

int
pipeline_find_unit(const struct pipeline *pipeline, const char *name, size_t length)
{
	for (unsigned i = 0; i < pipeline->unit_count; i++)
		if (strncmp(pipeline->units[i], name, length) == 0 && pipeline->units[i][length] == '\0')
			return (int)i;
	return -1;
}

/* "ALU0 ALU1" */
static int
read_unit_names(const struct config_source *source, const config_setting_t *setting, const struct pipeline *pipeline,
                uint32_t *units)
{
	const char *at = setting ? config_setting_get_string(setting) : NULL;

	*units = 0;
	while (at && *(at += strspn(at, " "))) {
		size_t length = strcspn(at, " ");
		int unit = pipeline_find_unit(pipeline, at, length);

		if (unit < 0)
			return config_refuse(source, setting, "there is no unit \"%.*s\"", (int)length, at);
		*units |= UINT32_C(1) << unit;
		at += length;
	}
	return 0;
}

static int
read_use(const struct config_source *source, const config_setting_t *setting, const struct pipeline *pipeline,
         struct pipeline_use *use)
{
	static const char *const known[] = {"units", "cycles"};
	const config_setting_t *cycles;
	int err;

	if (!config_setting_is_group(setting))
		return config_refuse(source, setting, "uses must be a list of { units = \"...\"; cycles = ...; }");
	err = config_known_names(source, setting, known, COUNT(known));
	if (!err)
		err = read_unit_names(source, config_setting_get_member(setting, "units"), pipeline, &use->units);
	if (err)
		return err;
	if (!use->units)
		return config_refuse(source, setting, "uses must name units");
	cycles = config_setting_get_member(setting, "cycles");
	use->cycles = 1;
	return cycles ? config_number(source, cycles, 0.01, 1000, "cycles", &use->cycles) : 0;
}

static int
read_uses(const struct config_source *source, const config_setting_t *setting, const struct pipeline *pipeline,
          struct pipeline_operation *operation)
{
	int count = config_setting_length(setting);
	int err = 0;

	if (!config_setting_is_list(setting) || count > PIPELINE_USES_MAX)
		return config_refuse(source, setting, "uses must be a list, ( ... ), of at most %d", PIPELINE_USES_MAX);
	for (int i = 0; !err && i < count; i++)
		err = read_use(source, config_setting_get_elem(setting, (unsigned)i), pipeline, &operation->uses[i]);
	operation->use_count = (unsigned)count;
	return err;
}

static int
find_class(const char *name)
{
	for (unsigned i = 0; name && i < OPERATION_COUNT; i++)
		if (strcmp(name, pipeline_operation_name(i)) == 0)
			return (int)i;
	return -1;
}

static int
read_never_with(const struct config_source *source, const config_setting_t *setting,
                struct pipeline_operation *operation)
{
	if (!config_setting_is_array(setting))
		return config_refuse(source, setting, "never_with must be an array of operations, [ ... ]");
	for (int i = 0; i < config_setting_length(setting); i++) {
		int class = find_class(config_setting_get_string_elem(setting, i));

		if (class < 0 || class >= CLASS_COUNT)
			return config_refuse(source, setting, "never_with must be an array of operations, [ ... ]");
		operation->never_with |= UINT64_C(1) << class;
	}
	return 0;
}

static int
read_operation(const struct config_source *source, const config_setting_t *group, const struct pipeline *pipeline,
               struct pipeline_operation *operation)
{
	static const char *const known[] = {"latency", "upper_latency", "micro_operations", "uses", "never_with"};
	const config_setting_t *latency = config_setting_get_member(group, "latency");
	const config_setting_t *upper_latency = config_setting_get_member(group, "upper_latency");
	const config_setting_t *micro_operations = config_setting_get_member(group, "micro_operations");
	const config_setting_t *uses = config_setting_get_member(group, "uses");
	const config_setting_t *never_with = config_setting_get_member(group, "never_with");
	uint64_t value = 1;
	int err = config_known_names(source, group, known, COUNT(known));

	if (!err && !latency)
		return config_refuse(source, group, "%s has no latency", config_setting_name(group));
	if (!err)
		err = config_whole_number(source, latency, 0, 1000, "cycles", &value);
	operation->latency = (unsigned)value;
	if (!err && upper_latency)
		err = config_whole_number(source, upper_latency, 0, 1000, "cycles", &value);
	operation->upper_latency = (unsigned)value;
	value = 1;
	if (!err && micro_operations)
		err = config_whole_number(source, micro_operations, 0, 1000, "", &value);
	operation->micro_operations = (unsigned)value;
	if (!err && uses)
		err = read_uses(source, uses, pipeline, operation);
	if (!err && never_with)
		err = read_never_with(source, never_with, operation);
	return err;
}

/* Stand-ins may have stand-ins: at most two on the way. */
static int
fill_in(const struct config_source *source, const config_setting_t *group, const bool *given, struct pipeline *pipeline)
{
	for (unsigned i = 0; i < OPERATION_COUNT; i++) {
		unsigned from = i;

		while (!given[from] && stand_ins[from] != from)
			from = stand_ins[from];
		if (!given[from] && from == CLASS_NOP)
			pipeline->operations[from].micro_operations = 1;
		else if (!given[from])
			return config_refuse(source, group, "%s is missing", pipeline_operation_name(from));
		pipeline->operations[i] = pipeline->operations[from];
	}
	return 0;
}

int
pipeline_read_operations(const struct config_source *source, const config_setting_t *root, struct pipeline *pipeline)
{
	const config_setting_t *group = config_setting_get_member(root, "operations");
	bool given[OPERATION_COUNT] = {false};
	const char *names[OPERATION_COUNT];
	int err;

	if (!group || !config_setting_is_group(group))
		return config_refuse(source, group ? group : root, "operations must be a group, { ... }");
	for (unsigned i = 0; i < OPERATION_COUNT; i++)
		names[i] = pipeline_operation_name(i);
	err = config_known_names(source, group, names, OPERATION_COUNT);
	for (int i = 0; !err && i < config_setting_length(group); i++) {
		const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);
		int operation = find_class(config_setting_name(member));

		if (operation < 0 || !config_setting_is_group(member))
			return config_refuse(source, member, "%s must be a group, { ... }",
			                     config_setting_name(member));
		err = read_operation(source, member, pipeline, &pipeline->operations[operation]);
		given[operation] = true;
	}
	return err ? err : fill_in(source, group, given, pipeline);
}
