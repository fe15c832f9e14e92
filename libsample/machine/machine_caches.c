#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "machine/machine_parts.h"

#define CACHE(field) offsetof(struct machine_cache, field)
#define TLB(field)   offsetof(struct machine_tlb, field)

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
	int err = config_fields_known(source, group, cache_fields, ARRAY_COUNT(cache_fields), cache_names,
	                              ARRAY_COUNT(cache_names));

	cache->cores = 1;
	if (!err)
		err = config_fields_read(source, group, cache_fields, ARRAY_COUNT(cache_fields), cache);
	if (!err)
		err = machine_read_word(source, group, "replacement", replacement_words, ARRAY_COUNT(replacement_words),
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

int
machine_read_caches(const struct config_source *source, const config_setting_t *root, struct machine *machine)
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
	int err = machine_read_group(source, group, tlb_fields, ARRAY_COUNT(tlb_fields), tlb);
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

int
machine_read_tlbs(const struct config_source *source, const config_setting_t *root, struct machine *machine)
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
