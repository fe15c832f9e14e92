/*
 * spe.h - what Arm's Statistical Profiling Extension writes into memory: sampled operations, as packets
 *
 * Formats: Arm Architecture Reference Manual, chapter "Statistical Profiling Extension Sample Record Specification". A
 * record is some packets, each a header of one or two bytes and a payload of 1, 2, 4 or 8 bytes, least significant byte
 * first; the last packet is a timestamp, or an end where timestamps are off. Nothing in the bytes is trusted. After
 * bytes that are no packet, decoding goes on byte by byte; the record in which they are is dropped and counted.
 *
 * Which level served a load is said in codes of the processor's model, and in events that all models have:
 * spe_data_source() makes perf's form of either. Fuzzed by tests/fuzz/spe_fuzz.c.
 *
 * Thread rule: one thread for each decoder.
 */
#ifndef DCPI_MEMORY_SPE_H
#define DCPI_MEMORY_SPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/record.h"

/* ---- records ---- */

/* Bits of spe_record.has: which packets there were. */
#define SPE_HAS_TIME        0x001U
#define SPE_HAS_EVENTS      0x002U
#define SPE_HAS_SOURCE      0x004U
#define SPE_HAS_OPERATION   0x008U
#define SPE_HAS_PC          0x010U
#define SPE_HAS_TARGET      0x020U
#define SPE_HAS_VIRTUAL     0x040U
#define SPE_HAS_PHYSICAL    0x080U
#define SPE_HAS_PREVIOUS    0x100U
#define SPE_HAS_TOTAL       0x200U
#define SPE_HAS_ISSUE       0x400U
#define SPE_HAS_TRANSLATION 0x800U
#define SPE_HAS_CONTEXT     0x1000U

/* Bits of spe_record.events that are read here. */
#define SPE_EVENT_RETIRED    (UINT64_C(1) << 1)
#define SPE_EVENT_L1_ACCESS  (UINT64_C(1) << 2)
#define SPE_EVENT_L1_MISS    (UINT64_C(1) << 3)
#define SPE_EVENT_TLB_ACCESS (UINT64_C(1) << 4)
#define SPE_EVENT_TLB_WALK   (UINT64_C(1) << 5)
#define SPE_EVENT_LLC_ACCESS (UINT64_C(1) << 8)
#define SPE_EVENT_LLC_MISS   (UINT64_C(1) << 9)
#define SPE_EVENT_REMOTE     (UINT64_C(1) << 10) /* of another socket */

enum spe_class {
	SPE_CLASS_OTHER = 0,
	SPE_CLASS_MEMORY = 1, /* loads, stores, atomics */
	SPE_CLASS_BRANCH = 2,
	SPE_CLASS_RESERVED = 3,
};

/* A sampled operation. What `has` does not have is 0. */
struct spe_record {
	uint64_t time; /* ticks of the system counter (CNTVCT) */
	uint64_t events;
	uint64_t pc, target, previous_target; /* 64 bits wide, without tags */
	uint64_t virtual_address;             /* of the data */
	uint64_t physical_address;
	uint32_t context; /* CONTEXTIDR: Linux's thread, with CONFIG_PID_IN_CONTEXTIDR */
	uint32_t has;
	uint16_t source;                                         /* in the codes of the processor's model */
	uint16_t total_cycles, issue_cycles, translation_cycles; /* from dispatch; until issue; of the address */
	uint8_t exception_level;                                 /* of pc: 0 is a program */
	uint8_t operation;                                       /* subclass, as the packet has it */
	enum spe_class class;
};

bool spe_is_store(const struct spe_record *record);  /* of class SPE_CLASS_MEMORY; else it is a load */
bool spe_is_atomic(const struct spe_record *record); /* reads and writes, as LDADD, SWP and CAS do */

/*
 * What served a load or store, as union perf_mem_data_src; 0: it is neither. `midr` names the processor's model, 0: not
 * known. Models that have the codes of Arm's Neoverse N1 say so by these, of loads alone; of others, the events say
 * which caches missed. As perf 6.1 has both (tools/perf/util/arm-spe.c of linux), with two things more: atomics are
 * marked as locked, and events give the newer number of the level (mem_lvl_num), too, which of a load that missed the
 * last level is memory.
 */
uint64_t spe_data_source(const struct spe_record *record, uint64_t midr);

/*
 * The sample of a load or store, as one of perf's: its mode, address, data_address, weight (total_cycles) and
 * data_source. The caller adds time, process, thread and CPU. False: it is neither.
 */
bool spe_sample(const struct spe_record *record, uint64_t midr, struct record *sample);

/* ---- decoding ---- */

#define SPE_PACKET_MAX 17 /* bytes: a header with the padding up to the next multiple of 16 */

struct spe_decoder {
	const uint8_t *at, *end;
	uint64_t offset;          /* of `at`, in the buffer in which the hardware wrote */
	struct spe_record record; /* as far as it came */
	bool is_open;             /* it has packets */
	bool is_damaged;
	uint64_t records; /* that spe_decoder_next() gave */
	uint64_t damaged; /* records that were dropped: with bytes that are no packet, or without an end */
	uint64_t skipped; /* bytes that are no packet */
};

/* Begin where the buffer has `offset` bytes before. */
void spe_decoder_init(struct spe_decoder *decoder, uint64_t offset);

/*
 * Go on with these bytes, which must stay valid. They begin with those that spe_decoder_left() counts, of the bytes
 * before; what follows these may be in the next ones.
 */
void spe_decoder_put(struct spe_decoder *decoder, const void *bytes, size_t size);

/* The next whole record: 1, or 0 at the end of the bytes. */
int spe_decoder_next(struct spe_decoder *decoder, struct spe_record *record);

/* Bytes of a packet that goes on behind the end: fewer than SPE_PACKET_MAX. */
size_t spe_decoder_left(const struct spe_decoder *decoder);

/* Nothing follows: what is left is skipped, and a record without an end dropped. */
void spe_decoder_end(struct spe_decoder *decoder);

#endif
