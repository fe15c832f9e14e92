/*
 * record.h - decoded records of a perf ring or file
 *
 * record_decode() reads one record in this machine's byte order and checks every length against the record's size;
 * strings stay where they are in the buffer, NUL-terminated inside it. Fuzzed by tests/fuzz/record_fuzz.c.
 * Thread rule: stateless.
 */
#ifndef DCPI_STREAM_RECORD_H
#define DCPI_STREAM_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BUILD_ID_SIZE_MAX 20
#define RECORD_SIZE_MAX   65535 /* perf_event_header.size is 16 bits wide */

/* The mode a sample was taken in: perf's PERF_RECORD_MISC_CPUMODE values. */
enum cpu_mode {
	CPU_MODE_UNKNOWN = 0,
	CPU_MODE_KERNEL = 1,
	CPU_MODE_USER = 2,
	CPU_MODE_HYPERVISOR = 3,
	CPU_MODE_GUEST_KERNEL = 4,
	CPU_MODE_GUEST_USER = 5,
};

enum record_type {
	RECORD_OTHER, /* whole, but of a type that is not needed; `other` holds perf's type */
	RECORD_SAMPLE,
	RECORD_MMAP,
	RECORD_COMM,
	RECORD_FORK,
	RECORD_EXIT,
	RECORD_LOST, /* counts records for which the ring had no room */
	RECORD_THROTTLE,
	RECORD_UNTHROTTLE,
	RECORD_KSYMBOL,
	RECORD_CGROUP,
	RECORD_AUX,      /* what an event wrote into its auxiliary area */
	RECORD_RUNNING,  /* from here on, this thread runs on the CPU: a switch, or the begin of its tracing */
	RECORD_AUX_DATA, /* perf's own, in files: a piece of an auxiliary area follows the record */
};

#define RECORD_NO_CPU UINT32_MAX

struct record_mmap {
	uint64_t start;       /* first address */
	uint64_t length;      /* bytes */
	uint64_t file_offset; /* where in the file `start` lies */
	uint32_t protection;  /* PROT_... */
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t build_id_size; /* 0: none; then the four fields below identify the file */
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
	bool is_data;     /* not executable */
	const char *path; /* as the kernel's d_path saw it */
};

struct record {
	enum record_type type;
	enum cpu_mode mode;
	uint32_t pid, tid; /* (uint32_t)-1: none in this pid namespace */
	uint64_t time;     /* ns, of the clock the attribute named; 0 when the record has none */
	uint64_t id;       /* of the event; 0 when the record has none */
	union {
		struct {
			uint64_t address;
			uint64_t cgroup;         /* 0: not recorded */
			uint64_t period;         /* of the event, as the kernel gives it; 0: not recorded */
			uint64_t count;          /* of the event's counter at the sample; 0: not recorded */
			const uint8_t *branches; /* struct perf_branch_entry, the latest first */
			uint32_t branch_count;   /* 0: none, or not recorded */
			/* Addresses and PERF_CONTEXT_ marks, the innermost first; NULL: not recorded */
			const uint8_t *call_chain;
			uint32_t call_chain_count;
			/*
			 * Of user mode, with layout->sample_regs_user: the registers, eight bytes each, and what lies
			 * in memory from the stack pointer on.
			 */
			const uint8_t *registers; /* NULL: there was no user mode, as in kernel threads */
			bool is_32_bit;       /* the registers are those of a program of 32 bits on a kernel of 64 */
			const uint8_t *stack; /* NULL: not recorded */
			uint32_t register_count, stack_size;
			/* Set where the event samples addresses of data, and never by record_decode_default() */
			uint64_t data_address; /* 0: not recorded, or not known */
			uint64_t weight;       /* of a load: the cycles that it took; 0: not recorded */
			uint64_t data_source;  /* union perf_mem_data_src; 0: not recorded */
			uint32_t cpu;          /* 0: also when it was not recorded */
		} sample;
		struct record_mmap mmap;
		struct {
			const char *name;
			bool is_exec;
		} comm;
		struct {
			uint32_t parent_pid;
		} task; /* fork and exit */
		struct {
			uint64_t count;
		} lost;
		struct {
			uint64_t address;
			uint32_t length;
			bool is_unregister;
			const char *name;
		} ksymbol;
		struct {
			uint64_t id;
			const char *path;
		} cgroup;
		struct {
			uint64_t offset, size; /* bytes, since the area was made */
			uint64_t flags;        /* PERF_AUX_FLAG_... */
			uint32_t cpu;          /* RECORD_NO_CPU: not recorded */
		} aux;
		struct {
			uint32_t cpu; /* RECORD_NO_CPU: not recorded. `tid` (uint32_t)-1: none that is recorded */
		} running;
		struct {
			uint64_t file_offset;  /* of the bytes */
			uint64_t offset, size; /* as in `aux` */
			uint32_t index;        /* of the area: pieces of one have the same */
			uint32_t cpu;          /* RECORD_NO_CPU: the area is of a thread alone */
		} aux_data;
		uint32_t other;
	};
};

/*
 * Which optional fields the records of a stream have: from perf_event_attr. Any sample can be decoded. Without
 * sample_regs_user, the registers, the copy of the stack and what lies behind them are skipped, including the cgroup.
 */
struct record_layout {
	uint64_t sample_type;        /* PERF_SAMPLE_... */
	bool sample_id_all;          /* records that are no samples also end with the id fields */
	uint64_t read_format;        /* PERF_FORMAT_..., of samples with READ */
	uint64_t branch_sample_type; /* PERF_SAMPLE_BRANCH_..., of samples with BRANCH_STACK */
	uint64_t sample_regs_user;   /* which registers samples with REGS_USER have */
	/*
	 * The stream did not request build-ids. Linux marks a mapping as one with a build-id as soon as any other
	 * listener, such as a dcpid, requested them (seen in 6.18). With this flag, the device and inode that such a
	 * record has are not taken for a build-id.
	 */
	bool no_build_ids;
};

/*
 * The fields that dcpid requests unless an event has a rate: such a sample is its header and fields of eight bytes, in
 * this order.
 */
#define RECORD_DEFAULT_FIELDS                                                                                          \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CGROUP)
#define RECORD_DEFAULT_SIZE 48 /* bytes */

/*
 * Decode a sample of RECORD_DEFAULT_FIELDS, if the 48 bytes at `data` begin with one. Inline, because nearly all
 * records are such samples.
 */
static inline bool
record_decode_default(const struct record_layout *layout, const uint8_t *data, struct record *record)
{
	const uint8_t *fields = data + sizeof(struct perf_event_header);
	struct perf_event_header header;

	memcpy(&header, data, sizeof(header));
	if (header.type != PERF_RECORD_SAMPLE || layout->sample_type != RECORD_DEFAULT_FIELDS ||
	    header.size != RECORD_DEFAULT_SIZE)
		return false;
	record->type = RECORD_SAMPLE;
	record->mode = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) <= CPU_MODE_GUEST_USER
	                       ? (enum cpu_mode)(header.misc & PERF_RECORD_MISC_CPUMODE_MASK)
	                       : CPU_MODE_UNKNOWN;
	memcpy(&record->id, fields, sizeof(record->id));
	memcpy(&record->sample.address, fields + 8, sizeof(record->sample.address));
	memcpy(&record->pid, fields + 16, sizeof(record->pid));
	memcpy(&record->tid, fields + 20, sizeof(record->tid));
	memcpy(&record->time, fields + 24, sizeof(record->time));
	memcpy(&record->sample.cgroup, fields + 32, sizeof(record->sample.cgroup));
	record->sample.period = record->sample.count = 0;
	record->sample.branch_count = 0;
	record->sample.call_chain = record->sample.registers = record->sample.stack = NULL;
	record->sample.call_chain_count = 0;
	return true;
}

/*
 * Decode the record that starts at `data`, of which `size` bytes are there. Returns the record's own size (8 to
 * RECORD_SIZE_MAX, at most `size`), with *record filled; -EAGAIN when a part of it is missing; -DCPI_EDAMAGED when its
 * header or a field contradicts its size: `*consumed` is then the number of bytes to skip (0: the rest of the stream
 * cannot be decoded).
 */
int record_decode(const struct record_layout *layout, const void *data, size_t size, struct record *record,
                  size_t *consumed);

/*
 * Swap the bytes of a record that a machine of the other byte order wrote: first its header, then the record at `data`,
 * of header->size bytes, as far as record_decode() reads it. Branch flags, registers and raw bytes are not usable
 * afterwards.
 */
void record_swap_header(struct perf_event_header *header);
void record_swap(const struct record_layout *layout, const struct perf_event_header *header, uint8_t *data);

/* Swap the bytes of `attr`; fields beyond the size that was written are 0. */
void record_swap_attr(struct perf_event_attr *attr);

#endif
