#include <stdio.h>

#include "base/array.h"
#include "machine/machine_parts.h"

#define FIELD(field)      offsetof(struct machine, field)
#define LOAD(field)       offsetof(struct machine_load, field)
#define PREFETCHER(field) offsetof(struct machine_prefetcher, field)

static const struct config_field prefetcher_fields[] = {
	{"level", PREFETCHER(level), 1, MACHINE_LEVELS_MAX, true},
	{"entries", PREFETCHER(entries), 1, 1024, true},
	{"degree", PREFETCHER(degree), 1, 16, true, .unit = "lines"},
	{"distance", PREFETCHER(distance), 1, 256, true, .unit = "lines"},
	{"accuracy", PREFETCHER(accuracy), 0, 1, true, CONFIG_FIELD_DOUBLE},
};

static const char *const prefetcher_names[] = {"kind"};
static const char *const prefetch_words[] = {"next-line", "stream", "stride"};

static const struct config_field branch_fields[] = {
	{"entries", FIELD(predictor_entries), 1, 1 << 20, false},
	{"history_bits", FIELD(history_bits), 0, 20, false, .unit = "bits"},
	{"return_stack", FIELD(return_stack), 0, 1024, false},
	{"targets", FIELD(target_entries), 0, 1 << 20, false},
};

static const char *const branch_names[] = {"predictor"};
static const char *const predictor_words[] = {"static", "bimodal", "gshare"};

static const struct config_field memory_fields[] = {
	{"controllers", FIELD(controllers), 1, 64, true},
	{"remote_latency_ns", FIELD(remote_latency_ns), 0, 10000, false, CONFIG_FIELD_DOUBLE, "ns"},
	{"remote_bandwidth_gb_s", FIELD(remote_bandwidth_gb_s), 0, 10000, false, CONFIG_FIELD_DOUBLE, "GB/s"},
	{"placement_node", FIELD(placement_node), 0, MACHINE_NODES_MAX - 1, false},
};

static const char *const memory_names[] = {"placement", "curve"};
static const char *const placement_words[] = {"first-touch", "interleave", "node"};

static const struct config_field load_fields[] = {
	{"gb_s", LOAD(bandwidth_gb_s), 0, 10000, true, CONFIG_FIELD_DOUBLE, "GB/s"},
	{"latency_ns", LOAD(latency_ns), 0.1, 100000, true, CONFIG_FIELD_DOUBLE, "ns"},
};

static int
read_prefetcher(const struct config_source *source, const config_setting_t *group, const struct machine *machine,
                struct machine_prefetcher *prefetcher)
{
	unsigned kind = ARRAY_COUNT(prefetch_words);
	int err;

	if (!config_setting_is_group(group))
		return config_refuse(source, group, "prefetchers must be a list of groups, ( { ... }, ... )");
	err = config_fields_known(source, group, prefetcher_fields, ARRAY_COUNT(prefetcher_fields), prefetcher_names,
	                          ARRAY_COUNT(prefetcher_names));
	if (!err)
		err = config_fields_read(source, group, prefetcher_fields, ARRAY_COUNT(prefetcher_fields), prefetcher);
	if (!err)
		err = machine_read_word(source, group, "kind", prefetch_words, ARRAY_COUNT(prefetch_words), &kind);
	if (err)
		return err;
	if (kind == ARRAY_COUNT(prefetch_words))
		return config_refuse(source, group, "kind is missing");
	prefetcher->kind = (enum machine_prefetch)kind;
	if (prefetcher->level > machine->level_count)
		return config_refuse(source, config_setting_get_member(group, "level"),
		                     "level is %u; there are %u of caches", prefetcher->level, machine->level_count);
	if (prefetcher->degree > prefetcher->distance)
		return config_refuse(source, config_setting_get_member(group, "degree"),
		                     "degree is %u; it must be at most distance, %u", prefetcher->degree,
		                     prefetcher->distance);
	return 0;
}

int
machine_read_prefetchers(const struct config_source *source, const config_setting_t *root, struct machine *machine)
{
	int err = 0;
	const config_setting_t *list = config_member(source, root, "prefetchers", CONFIG_TYPE_LIST,
	                                             "a list of groups, ( { ... }, ... )", false, &err);
	const int count = list ? config_setting_length(list) : 0;

	if (err)
		return err;
	if (count > MACHINE_PREFETCHERS_MAX)
		return config_refuse(source, list, "there are %d prefetchers; at most %d are accepted", count,
		                     MACHINE_PREFETCHERS_MAX);
	for (int i = 0; !err && i < count; i++)
		err = read_prefetcher(source, config_setting_get_elem(list, (unsigned)i), machine,
		                      &machine->prefetchers[machine->prefetcher_count++]);
	return err;
}

static int
check_branches(const struct config_source *source, const config_setting_t *group, const struct machine *machine)
{
	int err = 0;

	if (machine->predictor != PREDICTOR_STATIC)
		err = machine_check_power(source, group, "entries", machine->predictor_entries);
	if (!err && machine->target_entries)
		err = machine_check_power(source, group, "targets", machine->target_entries);
	if (err || machine->predictor != PREDICTOR_GSHARE)
		return err;
	if (machine->predictor_entries >> machine->history_bits == 0)
		return config_refuse(source, config_setting_get_member(group, "history_bits"),
		                     "history_bits is %u; %u entries have fewer", machine->history_bits,
		                     machine->predictor_entries);
	return 0;
}

int
machine_read_branches(const struct config_source *source, const config_setting_t *root, struct machine *machine)
{
	unsigned predictor = PREDICTOR_STATIC;
	int err = 0;
	const config_setting_t *group =
		config_member(source, root, "branches", CONFIG_TYPE_GROUP, "a group, { ... }", true, &err);

	if (err)
		return err;
	err = config_fields_known(source, group, branch_fields, ARRAY_COUNT(branch_fields), branch_names,
	                          ARRAY_COUNT(branch_names));
	if (!err)
		err = config_fields_read(source, group, branch_fields, ARRAY_COUNT(branch_fields), machine);
	if (!err && !config_setting_get_member(group, "predictor"))
		err = config_refuse(source, group, "predictor is missing");
	if (!err)
		err = machine_read_word(source, group, "predictor", predictor_words, ARRAY_COUNT(predictor_words),
		                        &predictor);
	machine->predictor = (enum machine_predictor)predictor;
	return err ? err : check_branches(source, group, machine);
}

/* More is moved only at the price of a longer way; and the way to memory is longer than that to any cache. */
static int
check_load(const struct config_source *source, const config_setting_t *group, const struct machine *machine,
           const struct machine_load *load)
{
	const double cache_ns = machine->levels[machine->level_count - 1].latency_cycles * 1000.0 / machine->clock_mhz;

	if (load == machine->loads && load->latency_ns <= cache_ns)
		return config_refuse(source, config_setting_get_member(group, "latency_ns"),
		                     "latency_ns is %g; the last cache has %g", load->latency_ns, cache_ns);
	if (load == machine->loads)
		return 0;
	if (load->bandwidth_gb_s <= load[-1].bandwidth_gb_s)
		return config_refuse(source, config_setting_get_member(group, "gb_s"),
		                     "gb_s is %g; it must be more than %g before it", load->bandwidth_gb_s,
		                     load[-1].bandwidth_gb_s);
	if (load->latency_ns < load[-1].latency_ns)
		return config_refuse(source, config_setting_get_member(group, "latency_ns"),
		                     "latency_ns is %g; it must be no less than %g before it", load->latency_ns,
		                     load[-1].latency_ns);
	return 0;
}

static int
read_curve(const struct config_source *source, const config_setting_t *memory, struct machine *machine)
{
	int err = 0;
	const config_setting_t *curve = config_member(source, memory, "curve", CONFIG_TYPE_LIST,
	                                              "a list of groups, ( { ... }, ... )", true, &err);
	const int count = curve ? config_setting_length(curve) : 0;

	if (err)
		return err;
	if (count < 1 || count > MACHINE_CURVE_MAX)
		return config_refuse(source, curve, "curve has %d points; it must have from 1 to %d", count,
		                     MACHINE_CURVE_MAX);
	for (int i = 0; i < count; i++) {
		const config_setting_t *point = config_setting_get_elem(curve, (unsigned)i);
		struct machine_load *load = &machine->loads[machine->load_count++];

		if (!config_setting_is_group(point))
			return config_refuse(source, point, "curve must be a list of groups, ( { ... }, ... )");
		err = machine_read_group(source, point, load_fields, ARRAY_COUNT(load_fields), load);
		if (!err)
			err = check_load(source, point, machine, load);
		if (err)
			return err;
	}
	if (machine->loads[count - 1].bandwidth_gb_s <= 0)
		return config_refuse(source, curve, "the last point of curve is the limit; its gb_s must be above 0");
	return 0;
}

int
machine_read_memory(const struct config_source *source, const config_setting_t *root, struct machine *machine)
{
	unsigned placement = PLACEMENT_FIRST_TOUCH;
	int err = 0;
	const config_setting_t *memory =
		config_member(source, root, "memory", CONFIG_TYPE_GROUP, "a group, { ... }", true, &err);

	if (err)
		return err;
	err = config_fields_known(source, memory, memory_fields, ARRAY_COUNT(memory_fields), memory_names,
	                          ARRAY_COUNT(memory_names));
	if (!err)
		err = config_fields_read(source, memory, memory_fields, ARRAY_COUNT(memory_fields), machine);
	if (!err)
		err = machine_read_word(source, memory, "placement", placement_words, ARRAY_COUNT(placement_words),
		                        &placement);
	machine->placement = (enum machine_placement)placement;
	if (err)
		return err;
	if (machine->nodes > 1 && !config_setting_get_member(memory, "remote_latency_ns"))
		return config_refuse(source, memory, "remote_latency_ns is missing: there are %u nodes",
		                     machine->nodes);
	if (machine->placement_node >= machine->nodes)
		return config_refuse(source, config_setting_get_member(memory, "placement_node"),
		                     "placement_node is %u; nodes are counted from 0 to %u", machine->placement_node,
		                     machine->nodes - 1);
	return read_curve(source, memory, machine);
}
