#include "memory/spe.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/array.h"

/* Headers of one byte; x are bits of the kind's own: the size of the payload, or what the packet is of. */
#define HEADER_PADDING    0x00
#define HEADER_END        0x01
#define HEADER_TIME       0x71
#define HEADER_EVENTS     0x42 /* 01xx0010 */
#define HEADER_SOURCE     0x43 /* 01xx0011 */
#define HEADER_SIZED_MASK 0xcf
#define HEADER_OPERATION  0x48 /* 010010xx */
#define HEADER_CONTEXT    0x64 /* 011001xx */
#define HEADER_EXTENDED   0x20 /* 001000xx: the second byte is one of the two below, or 0 for an alignment */
#define HEADER_FOUR_MASK  0xfc
#define HEADER_ADDRESS    0xb0 /* 10110xxx */
#define HEADER_COUNTER    0x98 /* 10011xxx */
#define HEADER_EIGHT_MASK 0xf8

/* Which address, or counter */
enum address_index {
	ADDRESS_PC = 0,
	ADDRESS_TARGET = 1,
	ADDRESS_VIRTUAL = 2,
	ADDRESS_PHYSICAL = 3,
	ADDRESS_PREVIOUS = 4, /* of the branch before */
};
enum counter_index {
	COUNTER_TOTAL = 0,
	COUNTER_ISSUE = 1,
	COUNTER_TRANSLATION = 2,
};

#define ADDRESS_BITS  56 /* of 64; above are tags, or the level and security of an instruction */
#define ADDRESS_LEVEL 61 /* two bits */

#define OPERATION_STORE       0x01
#define OPERATION_IS_EXTENDED 0xe2 /* these bits are 0x02 of atomics, exclusives, acquires and releases */
#define OPERATION_EXTENDED    0x02
#define OPERATION_ATOMIC      0x04

/* Codes of data sources of Arm's Neoverse N1 and of cores that came later. */
enum common_source {
	SOURCE_L1 = 0x0,
	SOURCE_L2 = 0x8,
	SOURCE_PEER_CORE = 0x9,
	SOURCE_LOCAL_CLUSTER = 0xa,
	SOURCE_SYSTEM_CACHE = 0xb,
	SOURCE_PEER_CLUSTER = 0xc,
	SOURCE_REMOTE = 0xd, /* another chip: a cache, or memory */
	SOURCE_DRAM = 0xe,
};

/* ---- what a record says ---- */

static uint64_t
sign_extended(uint64_t address)
{
	return (uint64_t)((int64_t)(address << (64 - ADDRESS_BITS)) >> (64 - ADDRESS_BITS));
}

bool
spe_is_store(const struct spe_record *record)
{
	return record->class == SPE_CLASS_MEMORY && record->operation & OPERATION_STORE;
}

bool
spe_is_atomic(const struct spe_record *record)
{
	return record->class == SPE_CLASS_MEMORY && (record->operation & OPERATION_IS_EXTENDED) == OPERATION_EXTENDED &&
	       record->operation & OPERATION_ATOMIC;
}

/* Whether the model has Neoverse N1's codes, as its technical reference manual says, or linux of it. */
static bool
has_common_sources(uint64_t midr)
{
	static const uint16_t parts[] = {
		0xd0c,               /* Neoverse N1 */
		0xd40,               /* Neoverse V1 */
		0xd49,               /* Neoverse N2 */
		0xd4f,               /* Neoverse V2 */
		0xd4c, 0xd4e, 0xd85, /* Cortex-X1C, X3, X925 */
		0xd81, 0xd87,        /* Cortex-A720, A725 */
	};

	if ((midr >> 24 & 0xff) != 0x41) /* Arm */
		return false;
	for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
		if ((midr >> 4 & 0xfff) == parts[i])
			return true;
	}
	return false;
}

#define LEVEL(level) (PERF_MEM_S(LVL, level) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, level))

/* Of a load. A core of the system cache or of another cluster is not said to have modified the line, only to have it.
 */
static uint64_t
source_by_code(uint16_t source)
{
	switch (source) {
	case SOURCE_L1:
		return LEVEL(L1) | PERF_MEM_S(SNOOP, NONE);
	case SOURCE_L2:
		return LEVEL(L2) | PERF_MEM_S(SNOOP, NONE);
	case SOURCE_PEER_CORE:
		return LEVEL(L2) | PERF_MEM_S(SNOOPX, PEER);
	case SOURCE_LOCAL_CLUSTER:
	case SOURCE_PEER_CLUSTER:
		return LEVEL(L3) | PERF_MEM_S(SNOOPX, PEER);
	case SOURCE_SYSTEM_CACHE:
		return LEVEL(L3) | PERF_MEM_S(SNOOP, HIT);
	case SOURCE_REMOTE:
		return PERF_MEM_S(LVL, NA) | PERF_MEM_S(LVLNUM, NA) | PERF_MEM_S(REMOTE, REMOTE) |
		       PERF_MEM_S(SNOOPX, PEER);
	case SOURCE_DRAM:
		return PERF_MEM_S(LVL, LOC_RAM) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, RAM) |
		       PERF_MEM_S(SNOOP, NONE);
	default:
		return 0;
	}
}

/*
 * A load that missed the last level of this socket is one of memory. Of another socket's, events do not say whether it
 * was memory or a cache there: it is taken for memory, which is where a remedy would begin.
 */
static uint64_t
source_by_events(uint64_t events, bool is_store)
{
	const uint64_t remote = events & SPE_EVENT_REMOTE ? PERF_MEM_S(REMOTE, REMOTE) : 0;

	if (events & SPE_EVENT_LLC_MISS)
		return PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVL, MISS) | remote | (is_store ? 0 : PERF_MEM_S(LVLNUM, RAM));
	if (events & SPE_EVENT_LLC_ACCESS)
		return LEVEL(L3) | remote;
	if (events & SPE_EVENT_L1_MISS)
		return PERF_MEM_S(LVL, L1) | PERF_MEM_S(LVL, MISS) | remote;
	if (events & SPE_EVENT_L1_ACCESS)
		return LEVEL(L1) | remote;
	return remote;
}

uint64_t
spe_data_source(const struct spe_record *record, uint64_t midr)
{
	const bool is_store = spe_is_store(record);
	uint64_t source;

	if (record->class != SPE_CLASS_MEMORY)
		return 0;
	source = is_store ? PERF_MEM_S(OP, STORE) : PERF_MEM_S(OP, LOAD);
	if (!has_common_sources(midr))
		source |= source_by_events(record->events, is_store);
	else if (is_store) /* the code is of loads */
		source |= PERF_MEM_S(LVL, NA) | PERF_MEM_S(LVLNUM, NA) | PERF_MEM_S(SNOOP, NA);
	else
		source |= source_by_code(record->source);
	if (spe_is_atomic(record))
		source |= PERF_MEM_S(LOCK, LOCKED);
	if (record->events & SPE_EVENT_TLB_WALK)
		source |= PERF_MEM_S(TLB, WK) | PERF_MEM_S(TLB, MISS);
	else if (record->events & SPE_EVENT_TLB_ACCESS)
		source |= PERF_MEM_S(TLB, WK) | PERF_MEM_S(TLB, HIT);
	return source;
}

bool
spe_sample(const struct spe_record *record, uint64_t midr, struct record *sample)
{
	const uint64_t source = spe_data_source(record, midr);

	if (!source)
		return false;
	*sample = (struct record){
		.type = RECORD_SAMPLE,
		.mode = !(record->has & SPE_HAS_PC) ? CPU_MODE_UNKNOWN
	                : record->exception_level   ? CPU_MODE_KERNEL
	                                            : CPU_MODE_USER,
		.pid = UINT32_MAX,
		.tid = UINT32_MAX,
		.sample = {.address = record->pc,
	                   .data_address = record->virtual_address,
	                   .weight = record->total_cycles,
	                   .data_source = source,
	                   .cpu = UINT32_MAX},
	};
	return true;
}

/* ---- packets ---- */

void
spe_decoder_init(struct spe_decoder *decoder, uint64_t offset)
{
	memset(decoder, 0, sizeof(*decoder));
	decoder->offset = offset;
}

void
spe_decoder_put(struct spe_decoder *decoder, const void *bytes, size_t size)
{
	decoder->at = bytes;
	decoder->end = decoder->at + size;
}

size_t
spe_decoder_left(const struct spe_decoder *decoder)
{
	return (size_t)(decoder->end - decoder->at);
}

static void
advance(struct spe_decoder *decoder, size_t size)
{
	decoder->at += size;
	decoder->offset += size;
}

static uint64_t
payload_of(const uint8_t *bytes, size_t size)
{
	uint64_t value = 0;

	for (size_t i = size; i > 0; i--)
		value = value << 8 | bytes[i - 1];
	return value;
}

/*
 * The size of the packet at `at`, with its padding; *header_size bytes of it are its header. 0: more bytes are needed.
 * -1: it is no packet.
 */
static int
packet_size(const struct spe_decoder *decoder, size_t *header_size)
{
	const uint8_t *at = decoder->at;
	uint8_t header = at[0];

	*header_size = 1;
	if (header == HEADER_PADDING || header == HEADER_END)
		return 1;
	if ((header & HEADER_FOUR_MASK) == HEADER_EXTENDED) {
		if (spe_decoder_left(decoder) < 2)
			return 0;
		*header_size = 2;
		if (at[1] == 0) {
			const unsigned alignment = 2U << (header & 3);
			const int padded = (int)(alignment - decoder->offset % alignment);

			return padded > 2 ? padded : 2;
		}
		header = at[1];
	} else if (header == HEADER_TIME || (header & HEADER_SIZED_MASK) == HEADER_EVENTS ||
	           (header & HEADER_SIZED_MASK) == HEADER_SOURCE || (header & HEADER_FOUR_MASK) == HEADER_OPERATION ||
	           (header & HEADER_FOUR_MASK) == HEADER_CONTEXT) {
		return 1 + (1 << (header >> 4 & 3));
	}
	if ((header & HEADER_EIGHT_MASK) != HEADER_ADDRESS && (header & HEADER_EIGHT_MASK) != HEADER_COUNTER)
		return -1;
	return (int)*header_size + (1 << (header >> 4 & 3));
}

static void
take_address(struct spe_record *record, unsigned index, uint64_t payload)
{
	switch (index) {
	case ADDRESS_PC:
		record->pc = sign_extended(payload);
		record->exception_level = payload >> ADDRESS_LEVEL & 3;
		record->has |= SPE_HAS_PC;
		break;
	case ADDRESS_TARGET:
		record->target = sign_extended(payload);
		record->has |= SPE_HAS_TARGET;
		break;
	case ADDRESS_VIRTUAL:
		record->virtual_address = sign_extended(payload);
		record->has |= SPE_HAS_VIRTUAL;
		break;
	case ADDRESS_PHYSICAL:
		record->physical_address = payload & ((UINT64_C(1) << ADDRESS_BITS) - 1);
		record->has |= SPE_HAS_PHYSICAL;
		break;
	case ADDRESS_PREVIOUS:
		record->previous_target = sign_extended(payload);
		record->has |= SPE_HAS_PREVIOUS;
		break;
	default: /* of a later manual */
		break;
	}
}

static void
take_counter(struct spe_record *record, unsigned index, uint16_t cycles)
{
	switch (index) {
	case COUNTER_TOTAL:
		record->total_cycles = cycles;
		record->has |= SPE_HAS_TOTAL;
		break;
	case COUNTER_ISSUE:
		record->issue_cycles = cycles;
		record->has |= SPE_HAS_ISSUE;
		break;
	case COUNTER_TRANSLATION:
		record->translation_cycles = cycles;
		record->has |= SPE_HAS_TRANSLATION;
		break;
	default: /* the model's own */
		break;
	}
}

/* A packet that is neither padding nor an end. */
static void
take_packet(struct spe_record *record, const uint8_t *at, size_t header_size, size_t size)
{
	const uint64_t payload = payload_of(at + header_size, size - header_size);
	const uint8_t header = at[header_size - 1];
	const unsigned index = (header_size == 2 ? (at[0] & 3U) << 3 : 0) | (header & 7U);

	if ((header & HEADER_EIGHT_MASK) == HEADER_ADDRESS) {
		take_address(record, index, payload);
	} else if ((header & HEADER_EIGHT_MASK) == HEADER_COUNTER) {
		take_counter(record, index, (uint16_t)payload);
	} else if (header == HEADER_TIME) {
		record->time = payload;
		record->has |= SPE_HAS_TIME;
	} else if ((header & HEADER_SIZED_MASK) == HEADER_EVENTS) {
		record->events = payload;
		record->has |= SPE_HAS_EVENTS;
	} else if ((header & HEADER_SIZED_MASK) == HEADER_SOURCE) {
		record->source = (uint16_t)payload;
		record->has |= SPE_HAS_SOURCE;
	} else if ((header & HEADER_FOUR_MASK) == HEADER_OPERATION) {
		record->class = (enum spe_class)(header & 3);
		record->operation = (uint8_t)payload;
		record->has |= SPE_HAS_OPERATION;
	} else {
		record->context = (uint32_t)payload;
		record->has |= SPE_HAS_CONTEXT;
	}
}

/* Whether the record that ends here is whole. */
static bool
close_record(struct spe_decoder *decoder, struct spe_record *record)
{
	const bool is_whole = !decoder->is_damaged;

	if (is_whole)
		*record = decoder->record;
	decoder->records += is_whole;
	decoder->damaged += !is_whole;
	decoder->is_open = decoder->is_damaged = false;
	memset(&decoder->record, 0, sizeof(decoder->record));
	return is_whole;
}

int
spe_decoder_next(struct spe_decoder *decoder, struct spe_record *record)
{
	while (decoder->at < decoder->end) {
		const uint8_t *at = decoder->at;
		size_t header_size;
		const int size = packet_size(decoder, &header_size);
		bool is_end;

		if (size == 0 || (size > 0 && (size_t)size > spe_decoder_left(decoder)))
			return 0;
		if (size < 0) {
			decoder->is_damaged = true;
			decoder->skipped++;
			advance(decoder, 1);
			continue;
		}
		advance(decoder, (size_t)size);
		if (at[0] == HEADER_PADDING || (header_size == 2 && at[1] == 0))
			continue;
		is_end = at[0] == HEADER_END;
		if (!is_end) {
			take_packet(&decoder->record, at, header_size, (size_t)size);
			decoder->is_open = true;
			is_end = at[0] == HEADER_TIME;
		}
		/* an end alone ends nothing */
		if (is_end && (decoder->is_open || decoder->is_damaged) && close_record(decoder, record))
			return 1;
	}
	return 0;
}

void
spe_decoder_end(struct spe_decoder *decoder)
{
	const size_t left = spe_decoder_left(decoder);

	decoder->skipped += left;
	decoder->damaged += decoder->is_open || decoder->is_damaged || left > 0;
	advance(decoder, left);
	decoder->is_open = decoder->is_damaged = false;
	memset(&decoder->record, 0, sizeof(decoder->record));
}
