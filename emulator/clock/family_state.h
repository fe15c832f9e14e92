/*
 * family_state.h - the file of family.h
 *
 * Thread rule: any thread of any process; of a pipe, what is not atomic under its lock.
 */
#ifndef DCPI_EMULATOR_FAMILY_STATE_H
#define DCPI_EMULATOR_FAMILY_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emulator/clock/family.h"

#define FAMILY_PROBES      16 /* places that are tried for a process or a pipe */
#define FAMILY_PIPE_WRITES 32 /* that are remembered */

struct family_process {
	atomic_int number;
	atomic_uint_fast64_t cycles;
	atomic_uint_fast64_t busy, called;
	atomic_bool is_pinned;
	uint8_t affinity[FAMILY_AFFINITY_SIZE];
};

struct pipe_write {
	uint64_t end; /* bytes, with it and all before */
	uint64_t cycles;
};

struct family_pipe {
	atomic_uint_fast64_t key; /* 0: free */
	atomic_bool is_locked;
	uint64_t written, read; /* bytes */
	uint64_t began;         /* the last write */
	uint64_t room;          /* when it was last read from */
	uint64_t writes_begun;
	struct pipe_write writes[FAMILY_PIPE_WRITES];
};

struct family_shared {
	struct family_process processes[FAMILY_PROCESSES];
	struct family_pipe pipes[FAMILY_PIPES];
	atomic_uint_fast64_t dilation; /* a double's bits; 0: not known */
	atomic_int_fast64_t origin_ns;
};

struct family {
	struct family_shared *shared;
};

#endif
