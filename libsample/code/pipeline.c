#include "code/pipeline.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libconfig.h>

#include "base/array.h"
#include "base/config.h"
#include "base/error.h"

static const struct {
	const char *name; /* that a model's file has for it */
	uint8_t stand_in; /* whose values it gets when the file does not have it; itself when it is mandatory */
} operations[OPERATION_COUNT] = {
	[CLASS_NOP] = {"nop", CLASS_NOP},
	[CLASS_INTEGER] = {"integer", CLASS_INTEGER},
	[CLASS_SHIFT] = {"shift", CLASS_INTEGER},
	[CLASS_ADDRESS] = {"address", CLASS_INTEGER},
	[CLASS_MOVE] = {"move", CLASS_INTEGER},
	[CLASS_SELECT] = {"select", CLASS_INTEGER},
	[CLASS_MULTIPLY] = {"multiply", CLASS_MULTIPLY},
	[CLASS_DIVIDE] = {"divide", CLASS_DIVIDE},
	[CLASS_BIT] = {"bit", CLASS_INTEGER},
	[CLASS_LOAD] = {"load", CLASS_LOAD},
	[CLASS_STORE] = {"store", CLASS_STORE},
	[CLASS_PREFETCH] = {"prefetch", CLASS_LOAD},
	[CLASS_ATOMIC] = {"atomic", CLASS_INTEGER},
	[CLASS_BARRIER] = {"barrier", CLASS_INTEGER},
	[CLASS_BRANCH] = {"branch", CLASS_BRANCH},
	[CLASS_JUMP] = {"jump", CLASS_BRANCH},
	[CLASS_CALL] = {"call", CLASS_BRANCH},
	[CLASS_RETURN] = {"return", CLASS_BRANCH},
	[CLASS_FLOAT_ADD] = {"float_add", CLASS_FLOAT_ADD},
	[CLASS_FLOAT_MULTIPLY] = {"float_multiply", CLASS_FLOAT_ADD},
	[CLASS_FLOAT_FUSED] = {"float_fused", CLASS_FLOAT_MULTIPLY},
	[CLASS_FLOAT_DIVIDE] = {"float_divide", CLASS_FLOAT_DIVIDE},
	[CLASS_FLOAT_ROOT] = {"float_root", CLASS_FLOAT_DIVIDE},
	[CLASS_FLOAT_COMPARE] = {"float_compare", CLASS_FLOAT_ADD},
	[CLASS_FLOAT_CONVERT] = {"float_convert", CLASS_FLOAT_ADD},
	[CLASS_FLOAT_MOVE] = {"float_move", CLASS_FLOAT_ADD},
	[CLASS_VECTOR_INTEGER] = {"vector_integer", CLASS_FLOAT_ADD},
	[CLASS_VECTOR_MULTIPLY] = {"vector_multiply", CLASS_FLOAT_MULTIPLY},
	[CLASS_VECTOR_SHUFFLE] = {"vector_shuffle", CLASS_VECTOR_INTEGER},
	[CLASS_CRYPTO] = {"crypto", CLASS_VECTOR_MULTIPLY},
	[CLASS_STRING] = {"string", CLASS_INTEGER},
	[CLASS_SYSTEM] = {"system", CLASS_INTEGER},
	[CLASS_UNKNOWN] = {"unknown", CLASS_INTEGER},
	[OPERATION_LOAD_VECTOR] = {"load_vector", CLASS_LOAD},
	[OPERATION_STORE_VECTOR] = {"store_vector", CLASS_STORE},
	[OPERATION_STORE_FOLDED] = {"store_folded", CLASS_STORE},
	[OPERATION_TRANSFER] = {"transfer", CLASS_FLOAT_MOVE},
	[OPERATION_TRANSFER_BACK] = {"transfer_back", OPERATION_TRANSFER},
	[OPERATION_ADDRESS_THREE] = {"address_three", CLASS_ADDRESS},
	[OPERATION_MULTIPLY_TWO] = {"multiply_two", CLASS_MULTIPLY},
	[OPERATION_DIVIDE_WIDE] = {"divide_wide", CLASS_DIVIDE},
	[OPERATION_SHIFT_BY_REGISTER] = {"shift_by_register", CLASS_SHIFT},
};

static bool
has_register(const uint8_t *registers, unsigned count, bool vector)
{
	const unsigned first = vector ? REGISTER_VECTOR : 0, end = vector ? REGISTER_FLAGS : REGISTER_VECTOR;

	for (unsigned i = 0; i < count; i++)
		if (registers[i] >= first && registers[i] < end)
			return true;
	return false;
}

/* From general registers to vector ones, or back when `back`. */
static bool
moves_between_files(const struct instruction *instruction, bool back)
{
	unsigned data = instruction->read_count - instruction->address_reads;

	return !instruction->loads && !instruction->stores && has_register(instruction->reads, data, back) &&
	       has_register(instruction->writes, instruction->write_count, !back);
}

static bool
is_shift_by_register(const struct instruction *instruction)
{
	return instruction->class == CLASS_SHIFT && instruction->read_count - instruction->address_reads > 1 &&
	       instruction->write_count && instruction->writes[instruction->write_count - 1] == REGISTER_FLAGS;
}

const struct pipeline_operation *
pipeline_operation(const struct pipeline *pipeline, const struct instruction *instruction)
{
	unsigned class = instruction->class < CLASS_COUNT ? instruction->class : CLASS_UNKNOWN;

	if (class == CLASS_FLOAT_MOVE && moves_between_files(instruction, false))
		return &pipeline->operations[OPERATION_TRANSFER];
	if (class == CLASS_FLOAT_MOVE && moves_between_files(instruction, true))
		return &pipeline->operations[OPERATION_TRANSFER_BACK];
	if (class == CLASS_ADDRESS && instruction->is_wide)
		return &pipeline->operations[OPERATION_ADDRESS_THREE];
	if (class == CLASS_MULTIPLY && instruction->write_count > 1 && instruction->writes[1] < REGISTER_VECTOR)
		return &pipeline->operations[OPERATION_MULTIPLY_TWO];
	if (class == CLASS_DIVIDE && instruction->is_wide)
		return &pipeline->operations[OPERATION_DIVIDE_WIDE];
	if (is_shift_by_register(instruction))
		return &pipeline->operations[OPERATION_SHIFT_BY_REGISTER];
	return &pipeline->operations[class];
}

static bool
touches_vectors(const struct instruction *instruction)
{
	return has_register(instruction->writes, instruction->write_count, true) ||
	       has_register(instruction->reads, instruction->read_count - instruction->address_reads, true);
}

/* What its load takes: into a general or a vector register. */
static const struct pipeline_operation *
load_operation(const struct pipeline *pipeline, const struct instruction *instruction)
{
	return &pipeline->operations[touches_vectors(instruction) ? (unsigned)OPERATION_LOAD_VECTOR
	                                                          : (unsigned)CLASS_LOAD];
}

static const struct pipeline_operation *
store_operation(const struct pipeline *pipeline, const struct instruction *instruction)
{
	if (instruction->class != CLASS_STORE)
		return &pipeline->operations[OPERATION_STORE_FOLDED];
	return &pipeline->operations[touches_vectors(instruction) ? (unsigned)OPERATION_STORE_VECTOR
	                                                          : (unsigned)CLASS_STORE];
}

/* A compare, a test or, on some CPUs, arithmetic between registers, and the branch by its flags: one micro-operation.
 */
static bool
is_fused(const struct pipeline *pipeline, const struct instruction *instruction, const struct instruction *next)
{
	unsigned writes = instruction->write_count;

	if (!next || next->class != CLASS_BRANCH || next->read_count != 1 || next->reads[0] != REGISTER_FLAGS)
		return false;
	if (instruction->class != CLASS_INTEGER || instruction->stores || !writes ||
	    instruction->writes[writes - 1] != REGISTER_FLAGS)
		return false;
	if (writes == 1)
		return pipeline->fuses_compare_and_branch;
	return pipeline->fuses_arithmetic_and_branch && writes == 2 && !instruction->loads &&
	       !instruction_reads(instruction, REGISTER_FLAGS);
}

/* A move or a zeroing that register renaming does: no unit, no time. */
static bool
is_eliminated(const struct pipeline *pipeline, const struct instruction *instruction)
{
	if (instruction->loads || instruction->stores || pipeline->kind == PIPELINE_KIND_IN_ORDER)
		return false;
	if (instruction->clears)
		return true;
	if (!pipeline->eliminates_moves || instruction->read_count != 1 || instruction->write_count != 1)
		return false;
	return instruction->class == CLASS_MOVE ||
	       (instruction->class == CLASS_FLOAT_MOVE &&
	        (instruction->reads[0] < REGISTER_VECTOR) == (instruction->writes[0] < REGISTER_VECTOR));
}

static void
add_uses(struct uops *uops, const struct pipeline_operation *operation)
{
	for (unsigned i = 0; i < operation->use_count; i++)
		uops->uses[uops->use_count++] = operation->uses[i];
}

static unsigned
load_latency(const struct pipeline *pipeline, const struct instruction *instruction)
{
	unsigned latency = load_operation(pipeline, instruction)->latency;

	if (instruction->is_scaled)
		latency += pipeline->scaled_index_cycles;
	if (instruction->extends_sign)
		latency += pipeline->extended_sign_cycles;
	return latency;
}

void
uops_of(const struct pipeline *pipeline, const struct instruction *instruction, const struct instruction *next,
        struct uops *uops)
{
	const struct pipeline_operation *operation = pipeline_operation(pipeline, instruction);

	memset(uops, 0, offsetof(struct uops, uses));
	if (is_eliminated(pipeline, instruction)) {
		uops->micro_operations = 1;
		return;
	}
	if (instruction->class == CLASS_LOAD)
		operation = load_operation(pipeline, instruction);
	if (instruction->class == CLASS_STORE)
		operation = store_operation(pipeline, instruction);
	uops->latency = operation->latency;
	uops->upper_latency = operation->upper_latency;
	uops->micro_operations = operation->micro_operations;
	if (is_fused(pipeline, instruction, next))
		uops->micro_operations = 0;
	else
		add_uses(uops, operation);
	if (instruction->loads || instruction->class == CLASS_LOAD)
		uops->load_latency = load_latency(pipeline, instruction);
	if (instruction->class == CLASS_LOAD) {
		uops->latency = 0;
	} else if (instruction->loads) {
		add_uses(uops, load_operation(pipeline, instruction));
		uops->micro_operations += pipeline->folded_load;
	}
	if (instruction->stores && instruction->class != CLASS_STORE) {
		add_uses(uops, store_operation(pipeline, instruction));
		uops->micro_operations += pipeline->folded_store;
	}
}

bool
uops_is_written_back(const struct instruction *instruction, unsigned write)
{
	unsigned first_address = instruction->read_count - instruction->address_reads;

	if (!instruction->loads && !instruction->stores)
		return false;
	/* What is loaded is written first; of a return it is no register. */
	if (instruction->loads && write == 0 && instruction->class != CLASS_RETURN)
		return false;
	for (unsigned i = first_address; i < instruction->read_count; i++)
		if (instruction->reads[i] == instruction->writes[write])
			return true;
	return false;
}

/* mul writes rax, rdx and the flags; mulx, which leaves the flags alone, first the register of the upper half. */
bool
uops_is_upper_half(const struct instruction *instruction, unsigned write)
{
	bool is_pair = instruction->class == CLASS_MULTIPLY && instruction->write_count > 1 &&
	               instruction->writes[1] < REGISTER_VECTOR;

	return is_pair && write == (instruction->write_count > 2 ? 1 : 0);
}

/* The number of the unit whose name are `length` bytes at `name`, or -1. */
static int
find_unit(const struct pipeline *pipeline, const char *name, size_t length)
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
		int unit = find_unit(pipeline, at, length);

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
	err = config_known_names(source, setting, known, ARRAY_COUNT(known));
	if (err)
		return err;
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

	if (!config_setting_is_list(setting) || count > PIPELINE_USES_MAX)
		return config_refuse(source, setting, "uses must be a list, ( ... ), of at most %d", PIPELINE_USES_MAX);
	for (int i = 0; i < count; i++) {
		int err =
			read_use(source, config_setting_get_elem(setting, (unsigned)i), pipeline, &operation->uses[i]);

		if (err)
			return err;
	}
	operation->use_count = (unsigned)count;
	return 0;
}

static int
find_operation(const char *name)
{
	for (unsigned i = 0; name && i < OPERATION_COUNT; i++)
		if (strcmp(name, operations[i].name) == 0)
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
		int class = find_operation(config_setting_get_string_elem(setting, i));

		if (class < 0 || class >= CLASS_COUNT)
			return config_refuse(source, setting, "never_with must be an array of operations, [ ... ]");
		operation->never_with |= UINT64_C(1) << class;
	}
	return 0;
}

/* A whole number of `group`, from 0 to `most`; *value keeps what it has when there is none. */
static int
read_bounded(const struct config_source *source, const config_setting_t *group, const char *name, unsigned most,
             const char *unit, unsigned *value)
{
	const config_setting_t *setting = config_setting_get_member(group, name);
	uint64_t number;
	int err = setting ? config_whole_number(source, setting, 0, most, unit, &number) : 0;

	if (!err && setting)
		*value = (unsigned)number;
	return err;
}

static int
read_operation(const struct config_source *source, const config_setting_t *group, const struct pipeline *pipeline,
               struct pipeline_operation *operation)
{
	static const char *const known[] = {"latency", "upper_latency", "micro_operations", "uses", "never_with"};
	const config_setting_t *uses = config_setting_get_member(group, "uses");
	const config_setting_t *never_with = config_setting_get_member(group, "never_with");
	int err = config_known_names(source, group, known, ARRAY_COUNT(known));

	if (err)
		return err;
	if (!config_setting_get_member(group, "latency"))
		return config_refuse(source, group, "%s has no latency", config_setting_name(group));
	err = read_bounded(source, group, "latency", 1000, "cycles", &operation->latency);
	if (err)
		return err;
	operation->upper_latency = operation->latency;
	err = read_bounded(source, group, "upper_latency", 1000, "cycles", &operation->upper_latency);
	if (err)
		return err;
	operation->micro_operations = 1;
	err = read_bounded(source, group, "micro_operations", 1000, "", &operation->micro_operations);
	if (err)
		return err;
	err = uses ? read_uses(source, uses, pipeline, operation) : 0;
	if (err)
		return err;
	return never_with ? read_never_with(source, never_with, operation) : 0;
}

/* Give operations that the file does not have their values. A stand-in may have a stand-in itself. */
static int
fill_in(const struct config_source *source, const config_setting_t *group, const bool *given, struct pipeline *pipeline)
{
	for (unsigned i = 0; i < OPERATION_COUNT; i++) {
		unsigned from = i;

		while (!given[from] && operations[from].stand_in != from)
			from = operations[from].stand_in;
		if (!given[from] && from == CLASS_NOP)
			pipeline->operations[from].micro_operations = 1;
		else if (!given[from])
			return config_refuse(source, group, "%s is missing", operations[from].name);
		pipeline->operations[i] = pipeline->operations[from];
	}
	return 0;
}

static int
read_operations(const struct config_source *source, const config_setting_t *root, struct pipeline *pipeline)
{
	const config_setting_t *group = config_setting_get_member(root, "operations");
	const char *names[OPERATION_COUNT];
	bool given[OPERATION_COUNT] = {false};
	int err;

	if (!group || !config_setting_is_group(group))
		return config_refuse(source, group ? group : root, "operations must be a group, { ... }");
	for (unsigned i = 0; i < OPERATION_COUNT; i++)
		names[i] = operations[i].name;
	err = config_known_names(source, group, names, OPERATION_COUNT);
	if (err)
		return err;
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);
		int operation = find_operation(config_setting_name(member));

		if (operation < 0 || !config_setting_is_group(member))
			return config_refuse(source, member, "%s must be a group, { ... }",
			                     config_setting_name(member));
		err = read_operation(source, member, pipeline, &pipeline->operations[operation]);
		if (err)
			return err;
		given[operation] = true;
	}
	return fill_in(source, group, given, pipeline);
}

/* models = [ first, last ]; none: all of the family */
static int
read_models(const struct config_source *source, const config_setting_t *group, struct pipeline_match *match)
{
	const config_setting_t *models = config_setting_get_member(group, "models");
	int first, last;

	match->model_last = 255;
	if (!models)
		return 0;
	if (!config_setting_is_array(models) || config_setting_length(models) != 2)
		return config_refuse(source, models, "models must be [ first, last ]");
	first = config_setting_get_int_elem(models, 0);
	last = config_setting_get_int_elem(models, 1);
	if (first < 0 || last < first || last > 255)
		return config_refuse(source, models, "models must be [ first, last ], from 0 to 255");
	match->model_first = (unsigned)first;
	match->model_last = (unsigned)last;
	return 0;
}

static int
read_match(const struct config_source *source, const config_setting_t *group, struct pipeline_match *match)
{
	static const char *const known[] = {"vendor", "family",      "models", "has",
	                                    "lacks",  "implementer", "part",   "text"};
	const struct {
		const char *name;
		char *text;
		size_t size;
	} texts[] = {
		{"vendor", match->vendor, sizeof(match->vendor)},
		{"text", match->text, sizeof(match->text)},
		{"has", match->has, sizeof(match->has)},
		{"lacks", match->lacks, sizeof(match->lacks)},
	};
	const struct {
		const char *name;
		unsigned most;
		unsigned *value;
	} numbers[] = {{"family", 4095, &match->family},
	               {"implementer", 255, &match->implementer},
	               {"part", 4095, &match->part}};
	const config_setting_t *flag;
	int err;

	if (!config_setting_is_group(group))
		return config_refuse(source, group, "match must be a list of groups, ( { ... }, ... )");
	err = config_known_names(source, group, known, ARRAY_COUNT(known));
	for (size_t i = 0; i < ARRAY_COUNT(texts) && !err; i++) {
		const config_setting_t *text = config_setting_get_member(group, texts[i].name);

		if (text)
			err = config_string(source, text, texts[i].text, texts[i].size);
	}
	for (size_t i = 0; i < ARRAY_COUNT(numbers) && !err; i++)
		err = read_bounded(source, group, numbers[i].name, numbers[i].most, "", numbers[i].value);
	if (!err)
		err = read_models(source, group, match);
	if (err)
		return err;
	flag = config_setting_get_member(group, "has");
	if (!flag)
		flag = config_setting_get_member(group, "lacks");
	if (flag && !*match->vendor)
		return config_refuse(source, flag, "a match by a flag must have a vendor");
	if (!*match->vendor && !*match->text && !match->implementer)
		return config_refuse(source, group, "match must have a vendor, an implementer or a text");
	return 0;
}

/* `list` may be NULL: the file has no `match`. */
static int
read_matches(const struct config_source *source, const config_setting_t *list, struct pipeline *pipeline)
{
	int count = list ? config_setting_length(list) : 0;

	if (!list)
		return 0;
	if (!config_setting_is_list(list) || count > PIPELINE_MATCHES_MAX)
		return config_refuse(source, list, "match must be a list, ( ... ), of at most %d",
		                     PIPELINE_MATCHES_MAX);
	for (int i = 0; i < count; i++) {
		int err = read_match(source, config_setting_get_elem(list, (unsigned)i), &pipeline->matches[i]);

		if (err)
			return err;
	}
	pipeline->match_count = (unsigned)count;
	return 0;
}

#define FIELD(field) offsetof(struct pipeline, field)

static const struct config_field core_numbers[] = {
	{"issue_width", FIELD(issue_width), 1, 32, true},
	{"retire_width", FIELD(retire_width), 1, 32, true},
	{"window", FIELD(window), 1, 4096, false},
	{"timer_skid", FIELD(timer_skid), 0, PIPELINE_SKID_MAX, false},
	{"pmu_skid", FIELD(pmu_skid), 0, PIPELINE_SKID_MAX, false},
	{"mispredict_cycles", FIELD(mispredict_cycles), 1, 100, true},
	{"taken_branches", FIELD(taken_branches), 1, 8, false},
	{"write_buffer_entries", FIELD(write_buffer_entries), 1, 1024, true},
	{"folded_load", FIELD(folded_load), 0, 8, false},
	{"folded_store", FIELD(folded_store), 0, 8, false},
	{"store_lines", FIELD(store_lines), 0, 8, false},
	{"scaled_index_cycles", FIELD(scaled_index_cycles), 0, 8, false},
	{"extended_sign_cycles", FIELD(extended_sign_cycles), 0, 8, false},
	{"cache_line", FIELD(cache_line), 8, 1024, true},
	{"page_bytes", FIELD(page_bytes), 1024, 1 << 30, false},
};

static const struct config_field code_numbers[] = {
	{"cache_bytes", FIELD(code_cache_bytes), 512, 1 << 30, true},
	{"level2_cycles", FIELD(code.level2_cycles), 1, 1000, true},
	{"level3_cycles", FIELD(code.level3_cycles), 1, 1000, false},
	{"memory_cycles", FIELD(code.memory_cycles), 1, 10000, true},
	{"tlb_entries", FIELD(code_tlb.entries), 1, 65536, true},
	{"tlb_miss_cycles", FIELD(code_tlb.miss_cycles), 1, 10000, true},
};

static const struct config_field data_numbers[] = {
	{"cache_bytes", FIELD(data_cache_bytes), 512, 1 << 30, true},
	{"level2_cycles", FIELD(data.level2_cycles), 1, 1000, true},
	{"level3_cycles", FIELD(data.level3_cycles), 1, 1000, false},
	{"memory_cycles", FIELD(data.memory_cycles), 1, 10000, true},
	{"tlb_entries", FIELD(data_tlb.entries), 1, 65536, true},
	{"tlb_miss_cycles", FIELD(data_tlb.miss_cycles), 1, 10000, true},
};

static const char *const top_names[] = {
	"name",
	"title",
	"kind",
	"match",
	"units",
	"fuses_compare_and_branch",
	"fuses_arithmetic_and_branch",
	"eliminates_moves",
	"code",
	"data",
	"operations",
};

static int
read_memory(const struct config_source *source, const config_setting_t *root, const char *name,
            const struct config_field *numbers, size_t count, struct pipeline *pipeline)
{
	int err = 0;
	const config_setting_t *group =
		config_member(source, root, name, CONFIG_TYPE_GROUP, "a group, { ... }", true, &err);

	if (!group)
		return err;
	err = config_fields_known(source, group, numbers, count, NULL, 0);
	return err ? err : config_fields_read(source, group, numbers, count, pipeline);
}

static int
read_texts(const struct config_source *source, const config_setting_t *root, struct pipeline *pipeline)
{
	int err = 0;
	const config_setting_t *name = config_member(source, root, "name", CONFIG_TYPE_STRING, "a string", true, &err);
	const config_setting_t *title =
		err ? NULL : config_member(source, root, "title", CONFIG_TYPE_STRING, "a string", true, &err);
	const config_setting_t *kind =
		err ? NULL : config_member(source, root, "kind", CONFIG_TYPE_STRING, "a string", true, &err);

	if (err)
		return err;
	err = config_string(source, name, pipeline->name, sizeof(pipeline->name));
	if (err)
		return err;
	err = config_string(source, title, pipeline->title, sizeof(pipeline->title));
	if (err)
		return err;
	if (strcmp(config_setting_get_string(kind), "in-order") == 0)
		pipeline->kind = PIPELINE_KIND_IN_ORDER;
	else if (strcmp(config_setting_get_string(kind), "out-of-order") == 0)
		pipeline->kind = PIPELINE_KIND_OUT_OF_ORDER;
	else
		return config_refuse(source, kind, "kind must be \"in-order\" or \"out-of-order\"");
	return 0;
}

static int
read_truths(const struct config_source *source, const config_setting_t *root, struct pipeline *pipeline)
{
	const struct {
		const char *name;
		bool *value;
	} truths[] = {
		{"fuses_compare_and_branch", &pipeline->fuses_compare_and_branch},
		{"fuses_arithmetic_and_branch", &pipeline->fuses_arithmetic_and_branch},
		{"eliminates_moves", &pipeline->eliminates_moves},
	};

	for (size_t i = 0; i < ARRAY_COUNT(truths); i++) {
		const config_setting_t *setting = config_setting_get_member(root, truths[i].name);
		int err = setting ? config_truth(source, setting, truths[i].value) : 0;

		if (err)
			return err;
	}
	return 0;
}

static int
read_units(const struct config_source *source, const config_setting_t *root, struct pipeline *pipeline)
{
	int err = 0;
	const config_setting_t *units =
		config_member(source, root, "units", CONFIG_TYPE_ARRAY, "an array of strings, [ ... ]", true, &err);
	int count = units ? config_setting_length(units) : 0;

	if (err)
		return err;
	if (count < 1 || count > PIPELINE_UNITS_MAX)
		return config_refuse(source, units, "units has %d names; it must be from 1 to %d", count,
		                     PIPELINE_UNITS_MAX);
	for (int i = 0; i < count; i++) {
		const char *name = config_setting_get_string_elem(units, i);

		if (!name || !*name || strlen(name) >= PIPELINE_NAME_SIZE || strchr(name, ' '))
			return config_refuse(source, units, "units must be names of 1 to %d letters without a space",
			                     PIPELINE_NAME_SIZE - 1);
		if (find_unit(pipeline, name, strlen(name)) >= 0)
			return config_refuse(source, units, "units has \"%s\" twice", name);
		memcpy(pipeline->units[pipeline->unit_count++], name, strlen(name) + 1);
	}
	return 0;
}

static int
read_all(const struct config_source *source, const config_setting_t *root, void *into)
{
	struct pipeline *pipeline = into;
	int err = config_fields_known(source, root, core_numbers, ARRAY_COUNT(core_numbers), top_names,
	                              ARRAY_COUNT(top_names));

	if (err)
		return err;
	err = read_texts(source, root, pipeline);
	if (err)
		return err;
	err = config_fields_read(source, root, core_numbers, ARRAY_COUNT(core_numbers), pipeline);
	if (err)
		return err;
	err = read_truths(source, root, pipeline);
	if (err)
		return err;
	err = read_memory(source, root, "code", code_numbers, ARRAY_COUNT(code_numbers), pipeline);
	if (err)
		return err;
	err = read_memory(source, root, "data", data_numbers, ARRAY_COUNT(data_numbers), pipeline);
	if (err)
		return err;
	err = read_units(source, root, pipeline);
	if (err)
		return err;
	err = read_matches(source, config_setting_get_member(root, "match"), pipeline);
	if (err)
		return err;
	return read_operations(source, root, pipeline);
}

int
pipeline_parse(const char *file, const char *text, struct pipeline *pipeline, char *why, size_t size)
{
	memset(pipeline, 0, sizeof(*pipeline));
	pipeline->taken_branches = 1;
	pipeline->page_bytes = 4096;
	pipeline->pmu_skid = PIPELINE_SKID_UNKNOWN;
	return config_read_text(file, text, read_all, pipeline, why, size);
}

/* Read the file at `path`. 0; -errno or -DCPI_ECONFIG with a sentence in `why` that begins with the file. */
static int
load(const char *path, struct pipeline *pipeline, char *why, size_t size)
{
	char *text;
	int err = config_model_read(path, "the model of a CPU", &text, why, size);

	if (err)
		return err;
	err = pipeline_parse(path, text, pipeline, why, size);
	free(text);
	return err;
}

/* `flags`: the end of a CPU's text, behind the model: " with FLAG FLAG)". */
static bool
has_flag(const char *flags, const char *flag)
{
	static const char ends[] = " )";
	size_t length = strlen(flag);

	if (strncmp(flags, " with ", 6) != 0)
		return false;
	for (flags += 6; *flags && *flags != ')'; flags += strcspn(flags, ends), flags += *flags == ' ')
		if (strcspn(flags, ends) == length && strncmp(flags, flag, length) == 0)
			return true;
	return false;
}

static bool
fits_x86(const struct pipeline_match *match, const char *cpu)
{
	const char *numbers = strrchr(cpu, '(');
	unsigned family, model;
	char vendor[16];
	int end = 0;

	if (!numbers || sscanf(numbers, "(%15s family %u model %u%n", vendor, &family, &model, &end) != 3)
		return false;
	if ((*match->has && !has_flag(numbers + end, match->has)) ||
	    (*match->lacks && has_flag(numbers + end, match->lacks)))
		return false;
	return strcmp(vendor, match->vendor) == 0 && (!match->family || family == match->family) &&
	       model >= match->model_first && model <= match->model_last;
}

/* profile/epoch.h makes the text `cpu`. */
static bool
fits(const struct pipeline_match *match, const char *cpu)
{
	const char *arm = strstr(cpu, "ARM implementer ");
	unsigned implementer, part;

	if (*match->text)
		return fnmatch(match->text, cpu, 0) == 0;
	if (match->implementer)
		return arm && sscanf(arm, "ARM implementer %x, part %x", &implementer, &part) == 2 &&
		       implementer == match->implementer && part == match->part;
	return fits_x86(match, cpu);
}

bool
pipeline_is_for(const struct pipeline *pipeline, const char *cpu)
{
	for (unsigned i = 0; i < pipeline->match_count; i++)
		if (fits(&pipeline->matches[i], cpu))
			return true;
	return false;
}

void
pipeline_directory(char *directory, size_t size)
{
	config_model_directory("DCPI_CPUS", "config/cpus", PIPELINE_GENERIC CONFIG_MODEL_SUFFIX, PIPELINE_DIRECTORY,
	                       directory, size);
}

static int
load_named(const char *directory, const char *name, struct pipeline *pipeline, char *note, size_t size)
{
	char path[PATH_MAX];
	int used;

	if (strchr(name, '/'))
		return load(name, pipeline, note, size);
	used = snprintf(path, sizeof(path), "%s/%s" CONFIG_MODEL_SUFFIX, directory, name);
	if (used < 0 || (size_t)used >= sizeof(path) || access(path, F_OK))
		return config_model_refuse("model of a CPU", name, &directory, 1, note, size);
	return load(path, pipeline, note, size);
}

/* Load the first model that is for `cpu`. 1, 0 when none is, or an error. */
static int
load_matching(const char *directory, const char *cpu, struct pipeline *pipeline, char *note, size_t size)
{
	char **names;
	int count = config_model_list(directory, &names);
	int result = 0;

	if (count < 0) {
		snprintf(note, size, "%s: cannot read the models of CPUs: %s", directory, error_text(count));
		return count;
	}
	for (int i = 0; result == 0 && i < count; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s" CONFIG_MODEL_SUFFIX, directory, names[i]);
		result = load(path, pipeline, note, size);
		if (result == 0)
			result = pipeline_is_for(pipeline, cpu);
	}
	config_model_list_free(names, count);
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
