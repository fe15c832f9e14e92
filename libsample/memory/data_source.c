#include "memory/data_source.h"

#include <linux/perf_event.h>

#include "base/array.h"

#define BIT(number) (UINT64_C(1) << (number))

#define LEVEL_NUMBER_UNCACHED 0x08 /* PERF_MEM_LVLNUM_UNC, of later kernels than Debian 12's */

#define LEVELS_OF_REMOTE_CACHE (PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2)
#define LEVELS_OF_REMOTE_RAM   (PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2)

static union perf_mem_data_src
decode(uint64_t source)
{
	return (union perf_mem_data_src){.val = source};
}

/* ---- one access ---- */

const char *
data_level_text(enum data_level level)
{
	static const char *const texts[DATA_LEVELS] = {
		[DATA_LEVEL_L1] = "L1",
		[DATA_LEVEL_FILL_BUFFER] = "fill buffer",
		[DATA_LEVEL_L2] = "L2",
		[DATA_LEVEL_L3] = "L3",
		[DATA_LEVEL_REMOTE_CACHE] = "remote cache",
		[DATA_LEVEL_LOCAL_DRAM] = "local memory",
		[DATA_LEVEL_REMOTE_DRAM] = "remote memory",
		[DATA_LEVEL_OTHER] = "not cached",
		[DATA_LEVEL_UNKNOWN] = "not known",
	};

	return (unsigned)level < DATA_LEVELS ? texts[level] : "?";
}

/* By the older bits, of which a PMU sets one; where several are set, the one that is farthest. */
static enum data_level
level_of_bits(uint64_t levels)
{
	static const struct {
		uint64_t bits;
		enum data_level level;
	} farthest_first[] = {
		{PERF_MEM_LVL_IO | PERF_MEM_LVL_UNC, DATA_LEVEL_OTHER},
		{LEVELS_OF_REMOTE_RAM, DATA_LEVEL_REMOTE_DRAM},
		{PERF_MEM_LVL_LOC_RAM, DATA_LEVEL_LOCAL_DRAM},
		{LEVELS_OF_REMOTE_CACHE, DATA_LEVEL_REMOTE_CACHE},
		{PERF_MEM_LVL_L3, DATA_LEVEL_L3},
		{PERF_MEM_LVL_L2, DATA_LEVEL_L2},
		{PERF_MEM_LVL_LFB, DATA_LEVEL_FILL_BUFFER},
		{PERF_MEM_LVL_L1, DATA_LEVEL_L1},
	};

	for (size_t i = 0; i < ARRAY_COUNT(farthest_first); i++) {
		if (levels & farthest_first[i].bits)
			return farthest_first[i].level;
	}
	return DATA_LEVEL_UNKNOWN;
}

enum data_level
data_source_level(uint64_t source)
{
	const union perf_mem_data_src data = decode(source);

	switch (data.mem_lvl_num) {
	case PERF_MEM_LVLNUM_L1:
		return DATA_LEVEL_L1;
	case PERF_MEM_LVLNUM_L2:
		return DATA_LEVEL_L2;
	case PERF_MEM_LVLNUM_L3:
	case PERF_MEM_LVLNUM_L4:
	case PERF_MEM_LVLNUM_ANY_CACHE:
		/* Power sets `remote` for a core of the same node, too, and says by hops how far it is */
		return (data.mem_remote && data.mem_hops != PERF_MEM_HOPS_0) || data.mem_lvl & LEVELS_OF_REMOTE_CACHE
		               ? DATA_LEVEL_REMOTE_CACHE
		               : DATA_LEVEL_L3;
	case PERF_MEM_LVLNUM_LFB:
		return DATA_LEVEL_FILL_BUFFER;
	case PERF_MEM_LVLNUM_RAM:
	case PERF_MEM_LVLNUM_PMEM:
	case PERF_MEM_LVLNUM_CXL:
		return data.mem_remote || data.mem_lvl & LEVELS_OF_REMOTE_RAM ? DATA_LEVEL_REMOTE_DRAM
		                                                              : DATA_LEVEL_LOCAL_DRAM;
	case LEVEL_NUMBER_UNCACHED:
	case PERF_MEM_LVLNUM_IO:
		return DATA_LEVEL_OTHER;
	default:
		break;
	}
	/* Skylake's "remote cache, level not known" */
	if (data.mem_remote && level_of_bits(data.mem_lvl) == DATA_LEVEL_UNKNOWN)
		return DATA_LEVEL_REMOTE_CACHE;
	return level_of_bits(data.mem_lvl);
}

bool
data_source_access(uint64_t source, struct data_source_access *access)
{
	const union perf_mem_data_src data = decode(source);
	const bool is_store = data.mem_op & PERF_MEM_OP_STORE;
	const bool is_transfer = data.mem_snoop & PERF_MEM_SNOOP_HITM || data.mem_snoopx & PERF_MEM_SNOOPX_PEER;
	const enum data_level level = data_source_level(source);
	/* a store that misses level 1 has the bit of the level that it missed */
	const bool is_missed = level == DATA_LEVEL_L1 && data.mem_lvl & PERF_MEM_LVL_MISS;

	*access = (struct data_source_access){.level = MEMORY_OWN};
	if (!is_store && !(data.mem_op & PERF_MEM_OP_LOAD))
		return false;
	if (level == DATA_LEVEL_LOCAL_DRAM || level == DATA_LEVEL_REMOTE_DRAM)
		access->level = MEMORY_DRAM;
	else if (level == DATA_LEVEL_L3 || level == DATA_LEVEL_REMOTE_CACHE || is_transfer)
		access->level = MEMORY_CACHE;
	else if (!is_store && (level == DATA_LEVEL_UNKNOWN || level == DATA_LEVEL_OTHER || is_missed))
		return false;
	access->is_remote = level == DATA_LEVEL_REMOTE_DRAM || level == DATA_LEVEL_REMOTE_CACHE ||
	                    (is_transfer && data.mem_remote && data.mem_hops != PERF_MEM_HOPS_0);
	access->flags = (uint8_t)((is_store ? MEMORY_STORE : 0) | (is_transfer ? MEMORY_TRANSFER : 0) |
	                          (is_transfer && access->is_remote ? MEMORY_FAR : 0));
	/* an atomic access of x86 is sampled as its load */
	if (data.mem_lock & PERF_MEM_LOCK_LOCKED)
		access->flags |= MEMORY_ATOMIC | MEMORY_STORE;
	return true;
}

/* ---- counts ---- */

const char *
data_count_key(enum data_count count)
{
	static const char *const keys[DATA_COUNTS] = {
		[DATA_SAMPLES] = "samples",
		[DATA_LOCKED] = "locked",
		[DATA_BLOCKED_DATA] = "blocked_by_data",
		[DATA_BLOCKED_ADDRESS] = "blocked_by_address",
		[DATA_LOADS] = "loads",
		[DATA_LOAD_NO_ADDRESS] = "load_no_address",
		[DATA_LOAD_UNCACHEABLE] = "load_uncacheable",
		[DATA_LOAD_IO] = "load_io",
		[DATA_LOAD_MISS] = "load_miss",
		[DATA_LOAD_FILL_BUFFER] = "load_fill_buffer",
		[DATA_LOAD_L1] = "load_l1",
		[DATA_LOAD_L2] = "load_l2",
		[DATA_LOAD_LLC] = "load_llc",
		[DATA_LOAD_LOCAL_HITM] = "load_local_hitm",
		[DATA_LOAD_REMOTE_HITM] = "load_remote_hitm",
		[DATA_LOAD_REMOTE_HIT] = "load_remote_hit",
		[DATA_LOAD_LOCAL_DRAM] = "load_local_dram",
		[DATA_LOAD_REMOTE_DRAM] = "load_remote_dram",
		[DATA_LOAD_EXCLUSIVE] = "load_exclusive",
		[DATA_LOAD_SHARED] = "load_shared",
		[DATA_LOAD_LOCAL_PEER] = "load_local_peer",
		[DATA_LOAD_REMOTE_PEER] = "load_remote_peer",
		[DATA_STORES] = "stores",
		[DATA_STORE_NO_ADDRESS] = "store_no_address",
		[DATA_STORE_UNCACHEABLE] = "store_uncacheable",
		[DATA_STORE_L1_HIT] = "store_l1_hit",
		[DATA_STORE_L1_MISS] = "store_l1_miss",
		[DATA_STORE_NO_LEVEL] = "store_no_level",
		[DATA_NOT_PARSED] = "not_parsed",
		[DATA_NO_MAPPING] = "no_mapping",
	};

	return (unsigned)count < DATA_COUNTS ? keys[count] : "?";
}

/* One bit for each count, of those that a load adds to. */
static uint64_t
counts_of_load(union perf_mem_data_src data)
{
	const bool is_hitm = data.mem_snoop & PERF_MEM_SNOOP_HITM, is_snooped = data.mem_snoop & PERF_MEM_SNOOP_HIT;
	const bool is_peer = data.mem_snoopx & PERF_MEM_SNOOPX_PEER;
	/* Skylake knows no more of an access than this; with hops it may be a core of the same node (Power) */
	const bool is_remote = data.mem_remote && !data.mem_hops;
	const uint64_t of_memory = BIT(is_snooped ? DATA_LOAD_SHARED : DATA_LOAD_EXCLUSIVE);
	const uint64_t levels = data.mem_lvl;
	uint64_t counts = levels & PERF_MEM_LVL_MISS ? BIT(DATA_LOAD_MISS) : 0;

	if (levels & PERF_MEM_LVL_HIT) {
		counts |= levels & PERF_MEM_LVL_UNC ? BIT(DATA_LOAD_UNCACHEABLE) : 0;
		counts |= levels & PERF_MEM_LVL_IO ? BIT(DATA_LOAD_IO) : 0;
		counts |= levels & PERF_MEM_LVL_LFB ? BIT(DATA_LOAD_FILL_BUFFER) : 0;
		counts |= levels & PERF_MEM_LVL_L1 ? BIT(DATA_LOAD_L1) : 0;
		counts |= levels & PERF_MEM_LVL_L2 ? BIT(DATA_LOAD_L2) : 0;
		if (levels & PERF_MEM_LVL_L3)
			counts |= BIT(DATA_LOAD_LLC) | (is_hitm ? BIT(DATA_LOAD_LOCAL_HITM) : 0);
		if (is_peer && levels & (PERF_MEM_LVL_L2 | PERF_MEM_LVL_L3))
			counts |= BIT(DATA_LOAD_LOCAL_PEER);
		if (levels & PERF_MEM_LVL_LOC_RAM)
			counts |= BIT(DATA_LOAD_LOCAL_DRAM) | of_memory;
		if (levels & LEVELS_OF_REMOTE_RAM || is_remote)
			counts |= BIT(DATA_LOAD_REMOTE_DRAM) | of_memory;
	}
	if (levels & LEVELS_OF_REMOTE_CACHE || is_remote) {
		if (is_snooped)
			counts |= BIT(DATA_LOAD_REMOTE_HIT);
		else if (is_hitm)
			counts |= BIT(DATA_LOAD_REMOTE_HITM);
		else if (is_peer)
			counts |= BIT(DATA_LOAD_REMOTE_HIT) | BIT(DATA_LOAD_REMOTE_PEER);
	}
	return counts;
}

static uint64_t
counts_of_store(union perf_mem_data_src data)
{
	const uint64_t levels = data.mem_lvl;
	uint64_t counts = levels & PERF_MEM_LVL_NA ? BIT(DATA_STORE_NO_LEVEL) : 0;

	if (levels & PERF_MEM_LVL_HIT) {
		counts |= levels & PERF_MEM_LVL_UNC ? BIT(DATA_STORE_UNCACHEABLE) : 0;
		counts |= levels & PERF_MEM_LVL_L1 ? BIT(DATA_STORE_L1_HIT) : 0;
	}
	if (levels & PERF_MEM_LVL_MISS && levels & PERF_MEM_LVL_L1)
		counts |= BIT(DATA_STORE_L1_MISS);
	return counts;
}

/* All that an access counts for. Without an address nothing is known but that there was one. */
static uint64_t
counts_of(union perf_mem_data_src data, bool has_address, bool is_mapped)
{
	uint64_t counts = BIT(DATA_SAMPLES);

	counts |= data.mem_lock & PERF_MEM_LOCK_LOCKED ? BIT(DATA_LOCKED) : 0;
	counts |= data.mem_blk & PERF_MEM_BLK_DATA ? BIT(DATA_BLOCKED_DATA) : 0;
	counts |= data.mem_blk & PERF_MEM_BLK_ADDR ? BIT(DATA_BLOCKED_ADDRESS) : 0;
	if (data.mem_op & PERF_MEM_OP_LOAD)
		counts |= BIT(DATA_LOADS) | (has_address ? counts_of_load(data) : BIT(DATA_LOAD_NO_ADDRESS));
	else if (data.mem_op & PERF_MEM_OP_STORE)
		counts |= BIT(DATA_STORES) | (has_address ? counts_of_store(data) : BIT(DATA_STORE_NO_ADDRESS));
	else
		return counts | BIT(DATA_NOT_PARSED);
	return has_address && !is_mapped ? counts | BIT(DATA_NO_MAPPING) : counts;
}

/* Weights of a damaged recording may be anything. */
static void
add_weight(struct data_level_count *count, uint64_t weight)
{
	count->samples++;
	count->weight = weight <= UINT64_MAX - count->weight ? count->weight + weight : UINT64_MAX;
}

void
data_source_count(struct data_source_counts *counts, uint64_t source, uint64_t address, uint64_t weight, bool is_mapped)
{
	const uint64_t bits = counts_of(decode(source), address, is_mapped);

	for (unsigned i = 0; i < DATA_COUNTS; i++)
		counts->counts[i] += bits >> i & 1;
	/* of both memories it counts twice, so that all of them are exclusive or shared */
	if (bits & BIT(DATA_LOAD_LOCAL_DRAM) && bits & BIT(DATA_LOAD_REMOTE_DRAM))
		counts->counts[bits & BIT(DATA_LOAD_SHARED) ? DATA_LOAD_SHARED : DATA_LOAD_EXCLUSIVE]++;
	add_weight(&counts->levels[data_source_level(source)], weight ? weight : 1);
	add_weight(&counts->all, weight ? weight : 1);
}
