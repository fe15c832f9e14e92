#include "machine/machine.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/config.h"
#include "base/error.h"

#define FIELD(field)      offsetof(struct machine, field)
#define CACHE(field)      offsetof(struct machine_cache, field)
#define TLB(field)        offsetof(struct machine_tlb, field)
#define LOAD(field)       offsetof(struct machine_load, field)
#define PREFETCHER(field) offsetof(struct machine_prefetcher, field)

/*
 * Functions that read a group of the file into the machine refuse what contradicts itself, or what was read before.
 * 0 or -DCPI_ECONFIG.
 */

/* ---- words, numbers and powers of two ---- */

/* A group of the numbers `fields`, and of members `names` that are read elsewhere. */
static int
read_group(const struct config_source *source, const config_setting_t *group, const struct config_field *fields,
           size_t count, const char *const *names, size_t name_count, void *into)
{
	int err = config_fields_known(source, group, fields, count, names, name_count);

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

/* The member `name` of `group`, one of `words`: its number into *value, which stays when the member is not there. */
static int
read_word(const struct config_source *source, const config_setting_t *group, const char *name, const char *const *words,
          unsigned count, unsigned *value)
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

/* Refuse the member `name` of `group` when its value is no power of two. */
static int
check_power(const struct config_source *source, const config_setting_t *group, const char *name, uint64_t value)
{
	const config_setting_t *setting = config_setting_get_member(group, name);

	if (value != 0 && (value & (value - 1)) == 0)
		return 0;
	return config_refuse(source, setting ? setting : group, "%s is %llu; it must be a power of two", name,
	                     (unsigned long long)value);
}

/* ---- the machine as a whole ---- */

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

/* Machine names become parts of labels and file names, and are shown without escaping. */
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

	if (err)
		return err;
	if (!is_plain_name(machine->name))
		return config_refuse(source, config_setting_get_member(root, "name"),
		                     "name must be letters, digits and signs, without a space or a slash");
	err = read_text(source, root, "title", machine->title, sizeof(machine->title));
	if (err)
		return err;
	return read_text(source, root, "pipeline", machine->pipeline_name, sizeof(machine->pipeline_name));
}

static int
read_core(const struct config_source *source, const config_setting_t *root, struct machine *machine)
{
	int err = config_fields_read(source, root, core_fields, ARRAY_COUNT(core_fields), machine);

	if (err)
		return err;
	err = check_power(source, root, "line_bytes", machine->line_bytes);
	if (err)
		return err;
	err = check_power(source, root, "page_bytes", machine->page_bytes);
	if (err)
		return err;
	if (machine->cores % machine->nodes != 0)
		return config_refuse(source, config_setting_get_member(root, "cores"),
		                     "cores is %u; %u nodes must have equally many", machine->cores, machine->nodes);
	return 0;
}

/* ---- caches and TLBs ---- */

static const struct config_field cache_fields[] = {
	{"bytes", CACHE(bytes), 512, UINT64_C(1) << 34, true, CONFIG_FIELD_LONG, "bytes"},
	{"ways", CACHE(ways), 1, 32, true},
	{"latency_cycles", CACHE(latency_cycles), 1, 10000, true, .unit = "cycles"},
	{"cores", CACHE(cores), 1, MACHINE_CORES_MAX, false},
};

static const char *const cache_names[] = {"replacement"};
static const char *const cache_groups[] = {"code", "level1", "level2", "level3", "level4"};
static const char *const replacement_words[] = {"lru", "fifo", "random"};

static const struct config_field tlb_fields[] = {
	{"entries", TLB(entries), 1, 65536, true},
	{"ways", TLB(ways), 1, 65536, true},
	{"miss_cycles", TLB(miss_cycles), 0, 10000, true, .unit = "cycles"},
};

static const char *const tlb_groups[] = {"code", "data", "shared"};

static int
check_cache(const struct config_source *source, const config_setting_t *group, const struct machine *machine,
            const struct machine_cache *cache)
{
	const uint64_t set_bytes = (uint64_t)machine->line_bytes * cache->ways;
	const unsigned node_cores = machine->cores / machine->nodes;

	if (cache->bytes % set_bytes)
		return config_refuse(source, config_setting_get_member(group, "bytes"),
		                     "bytes is %" PRIu64 "; with %u ways of %u bytes it must be a multiple of %" PRIu64,
		                     cache->bytes, cache->ways, machine->line_bytes, set_bytes);
	if (node_cores % cache->cores)
		return config_refuse(source, config_setting_get_member(group, "cores"),
		                     "cores is %u, which share it; it must divide the %u cores of a node", cache->cores,
		                     node_cores);
	return 0;
}

/* A cache of level 1 is one core's, and bits of the address say which set. */
static int
check_first_level(const struct config_source *source, const config_setting_t *group, const struct machine *machine,
                  const struct machine_cache *cache)
{
	const uint64_t set_bytes = (uint64_t)machine->line_bytes * cache->ways;
	const uint64_t sets = cache->bytes / set_bytes;

	if (cache->cores != 1)
		return config_refuse(source, config_setting_get_member(group, "cores"),
		                     "cores is %u; a cache of level 1 is one core's", cache->cores);
	if (sets & (sets - 1))
		return config_refuse(source, config_setting_get_member(group, "bytes"),
		                     "bytes is %" PRIu64 "; with %u ways of %u bytes it must be %" PRIu64
		                     " times a power of two",
		                     cache->bytes, cache->ways, machine->line_bytes, set_bytes);
	return 0;
}

static int
read_cache(const struct config_source *source, const config_setting_t *group, const struct machine *machine,
           struct machine_cache *cache)
{
	unsigned replacement = REPLACEMENT_LRU;
	int err;

	cache->cores = 1;
	err = read_group(source, group, cache_fields, ARRAY_COUNT(cache_fields), cache_names, ARRAY_COUNT(cache_names),
	                 cache);
	if (!err)
		err = read_word(source, group, "replacement", replacement_words, ARRAY_COUNT(replacement_words),
		                &replacement);
	cache->replacement = (enum machine_replacement)replacement;
	return err ? err : check_cache(source, group, machine, cache);
}

/* Each level is larger and slower than the one before it, and shared by no fewer. */
static int
check_order(const struct config_source *source, const config_setting_t *group, const struct machine_cache *before,
            const struct machine_cache *cache)
{
	if (cache->latency_cycles <= before->latency_cycles)
		return config_refuse(source, config_setting_get_member(group, "latency_cycles"),
		                     "latency_cycles is %u; the level before it has %u", cache->latency_cycles,
		                     before->latency_cycles);
	if (cache->bytes < before->bytes)
		return config_refuse(source, config_setting_get_member(group, "bytes"),
		                     "bytes is %" PRIu64 "; the level before it has %" PRIu64, cache->bytes,
		                     before->bytes);
	if (cache->cores % before->cores)
		return config_refuse(source, group, "cores is %u; it must be a multiple of the level's before it, %u",
		                     cache->cores, before->cores);
	return 0;
}

static int
read_level(const struct config_source *source, const config_setting_t *group, struct machine *machine)
{
	struct machine_cache *cache = &machine->levels[machine->level_count];
	int err = read_cache(source, group, machine, cache);

	if (!err && machine->level_count == 0)
		err = check_first_level(source, group, machine, cache);
	else if (!err)
		err = check_order(source, group, cache - 1, cache);
	machine->level_count++;
	return err;
}

static int
read_code_cache(const struct config_source *source, const config_setting_t *group, struct machine *machine)
{
	int err = read_cache(source, group, machine, &machine->code);

	return err ? err : check_first_level(source, group, machine, &machine->code);
}

static int
read_caches(const struct config_source *source, const config_setting_t *root, struct machine *machine)
{
	int err = 0;
	const config_setting_t *caches =
		config_member(source, root, "caches", CONFIG_TYPE_GROUP, "a group, { ... }", true, &err);

	if (err)
		return err;
	err = config_known_names(source, caches, cache_groups, ARRAY_COUNT(cache_groups));
	for (unsigned i = 0; !err && i <= MACHINE_LEVELS_MAX; i++) {
		const config_setting_t *group = config_member(source, caches, cache_groups[i], CONFIG_TYPE_GROUP,
		                                              "a group, { ... }", i < 2, &err);

		if (err || !group)
			continue;
		if (i > machine->level_count + 1)
			return config_refuse(source, group, "there is a %s, but no level%u", cache_groups[i],
			                     machine->level_count + 1);
		err = i ? read_level(source, group, machine) : read_code_cache(source, group, machine);
	}
	return err;
}

static int
read_tlb(const struct config_source *source, const config_setting_t *group, struct machine_tlb *tlb)
{
	int err = read_group(source, group, tlb_fields, ARRAY_COUNT(tlb_fields), NULL, 0, tlb);
	unsigned sets;

	if (err)
		return err;
	sets = tlb->entries / tlb->ways;
	if (tlb->entries % tlb->ways || sets == 0 || (sets & (sets - 1)))
		return config_refuse(source, config_setting_get_member(group, "entries"),
		                     "entries is %u; it must be ways, %u, times a power of two", tlb->entries,
		                     tlb->ways);
	return 0;
}

static int
read_tlbs(const struct config_source *source, const config_setting_t *root, struct machine *machine)
{
	struct machine_tlb *const into[] = {&machine->code_tlb, &machine->data_tlb, &machine->shared_tlb};
	int err = 0;
	const config_setting_t *tlbs =
		config_member(source, root, "tlbs", CONFIG_TYPE_GROUP, "a group, { ... }", false, &err);

	if (!tlbs)
		return err;
	err = config_known_names(source, tlbs, tlb_groups, ARRAY_COUNT(tlb_groups));
	for (unsigned i = 0; !err && i < ARRAY_COUNT(into); i++) {
		const config_setting_t *group =
			config_member(source, tlbs, tlb_groups[i], CONFIG_TYPE_GROUP, "a group, { ... }", i < 2, &err);

		if (group)
			err = read_tlb(source, group, into[i]);
	}
	return err;
}

/* ---- prefetchers, branches, memory ---- */

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
	{"transfer_ns", FIELD(transfer_ns), 0, 10000, false, CONFIG_FIELD_DOUBLE, "ns"},
	{"remote_transfer_ns", FIELD(remote_transfer_ns), 0, 10000, false, CONFIG_FIELD_DOUBLE, "ns"},
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
	err = read_group(source, group, prefetcher_fields, ARRAY_COUNT(prefetcher_fields), prefetcher_names,
	                 ARRAY_COUNT(prefetcher_names), prefetcher);
	if (!err)
		err = read_word(source, group, "kind", prefetch_words, ARRAY_COUNT(prefetch_words), &kind);
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

static int
read_prefetchers(const struct config_source *source, const config_setting_t *root, struct machine *machine)
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
		err = check_power(source, group, "entries", machine->predictor_entries);
	if (!err && machine->target_entries)
		err = check_power(source, group, "targets", machine->target_entries);
	if (err || machine->predictor != PREDICTOR_GSHARE)
		return err;
	if (machine->predictor_entries >> machine->history_bits == 0)
		return config_refuse(source, config_setting_get_member(group, "history_bits"),
		                     "history_bits is %u; %u entries have fewer", machine->history_bits,
		                     machine->predictor_entries);
	return 0;
}

static int
read_branches(const struct config_source *source, const config_setting_t *root, struct machine *machine)
{
	unsigned predictor = PREDICTOR_STATIC;
	int err = 0;
	const config_setting_t *group =
		config_member(source, root, "branches", CONFIG_TYPE_GROUP, "a group, { ... }", true, &err);

	if (err)
		return err;
	err = read_group(source, group, branch_fields, ARRAY_COUNT(branch_fields), branch_names,
	                 ARRAY_COUNT(branch_names), machine);
	if (!err && !config_setting_get_member(group, "predictor"))
		err = config_refuse(source, group, "predictor is missing");
	if (!err)
		err = read_word(source, group, "predictor", predictor_words, ARRAY_COUNT(predictor_words), &predictor);
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
		err = read_group(source, point, load_fields, ARRAY_COUNT(load_fields), NULL, 0, load);
		if (!err)
			err = check_load(source, point, machine, load);
		if (err)
			return err;
	}
	if (machine->loads[count - 1].bandwidth_gb_s <= 0)
		return config_refuse(source, curve, "the last point of curve is the limit; its gb_s must be above 0");
	return 0;
}

static int
read_memory(const struct config_source *source, const config_setting_t *root, struct machine *machine)
{
	unsigned placement = PLACEMENT_FIRST_TOUCH;
	int err = 0;
	const config_setting_t *memory =
		config_member(source, root, "memory", CONFIG_TYPE_GROUP, "a group, { ... }", true, &err);

	if (err)
		return err;
	err = read_group(source, memory, memory_fields, ARRAY_COUNT(memory_fields), memory_names,
	                 ARRAY_COUNT(memory_names), machine);
	if (!err)
		err = read_word(source, memory, "placement", placement_words, ARRAY_COUNT(placement_words), &placement);
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

/* ---- the file ---- */

static int
read_machine(const struct config_source *source, const config_setting_t *root, void *into)
{
	static int (*const parts[])(const struct config_source *, const config_setting_t *, struct machine *) = {
		read_texts, read_core, read_caches, read_tlbs, read_prefetchers, read_branches, read_memory,
	};
	int err = config_fields_known(source, root, core_fields, ARRAY_COUNT(core_fields), top_names,
	                              ARRAY_COUNT(top_names));

	for (size_t i = 0; !err && i < ARRAY_COUNT(parts); i++)
		err = parts[i](source, root, into);
	return err;
}

int
machine_parse(const char *file, const char *text, struct machine *machine, char *why, size_t size)
{
	memset(machine, 0, sizeof(*machine));
	return config_read_text(file, text, read_machine, machine, why, size);
}

int
machine_load(const char *path, struct machine *machine, char *why, size_t size)
{
	char *text;
	int err = config_model_read(path, "the description of a machine", &text, why, size);

	if (err)
		return err;
	err = machine_parse(path, text, machine, why, size);
	free(text);
	return err;
}

unsigned
machine_used_core(const struct machine *machine, unsigned used, unsigned core)
{
	const unsigned node = core * machine->nodes / used;
	const unsigned first = (node * used + machine->nodes - 1) / machine->nodes; /* that the program sees of it */

	return node * (machine->cores / machine->nodes) + core - first;
}

void
machine_directory(char *directory, size_t size)
{
	config_model_directory("DCPI_MACHINES", "config/machines", "in-order-2" CONFIG_MODEL_SUFFIX, MACHINE_DIRECTORY,
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
		int used = snprintf(path, path_size, "%s/%s" CONFIG_MODEL_SUFFIX, directories[i], name);

		if (used > 0 && (size_t)used < path_size && access(path, F_OK) == 0)
			return 0;
	}
	return config_model_refuse("machine", name, directories, count, why, size);
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
