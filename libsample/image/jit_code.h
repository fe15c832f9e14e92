/*
 * jit_code.h - the functions that a process made at run time, as it wrote them into a perf map or a jitdump
 *
 * The readers add functions in the order of the file. Processes use memory again: of functions that overlap, the one
 * that was written last counts, and the others are dropped. An exception is a function that was there when samples were
 * stored before: it stays, and is marked as contested when another name has its memory now. Anybody can write anything
 * into these files, so that what is added is bounded: past a limit functions are left out, and jit_code_is_cut() says
 * so.
 * Thread rule: one thread while it is made, plain data afterwards.
 */
#ifndef DCPI_IMAGE_JIT_CODE_H
#define DCPI_IMAGE_JIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/captured.h"

#define JIT_CODE_FUNCTIONS_MAX ((size_t)1 << 20)
#define JIT_CODE_NAMES_MAX     ((size_t)64 << 20)  /* bytes of all names */
#define JIT_CODE_NAME_MAX      1023                /* bytes of one; a longer name is cut */
#define JIT_CODE_ADDRESS_END   (UINT64_C(1) << 57) /* of user memory, on any machine */
#define JIT_CODE_NOWHERE       UINT64_MAX
#define JIT_CODE_SIZE_MAX      ((uint64_t)1 << 30) /* bytes of one function */

struct jit_code;

struct jit_function {
	uint64_t address;  /* in the process */
	uint64_t size;     /* bytes, at least 1 */
	uint64_t code_at;  /* where its code is in the file that names it; JIT_CODE_NOWHERE: the file has none */
	const char *name;  /* as it was written; owned by the code */
	bool is_contested; /* a function with another name has its memory, or a part of it, since `seen` */
};

struct jit_code *jit_code_new(void);       /* NULL and errno (ENOMEM) */
void jit_code_free(struct jit_code *code); /* NULL is allowed */

/*
 * Add one. `name` has `name_size` bytes and ends earlier at a NUL. What cannot be a function - of no size, beyond user
 * memory, without a name - is counted as malformed and left out. 0 or -ENOMEM.
 */
int jit_code_add(struct jit_code *code, uint64_t address, uint64_t size, uint64_t code_at, const char *name,
                 size_t name_size);

/* The function last added at `from` is at `to` from now on. One that is not known is left out. 0 or -ENOMEM. */
int jit_code_move(struct jit_code *code, uint64_t from, uint64_t to);

/* Functions that are added from now on stand at this position of the file; at first, 0. */
void jit_code_set_position(struct jit_code *code, uint64_t position);

/*
 * Add the functions of a /tmp/perf-PID.map, read from where `fd` stands. It is text, one function a line: its address
 * and size, in hexadecimal, and its name, which may contain spaces. Processes append to it while they run: a last line
 * without its end is left for the next time. 0, -ENOMEM or the errno of read().
 */
#define PERF_MAP_BYTES_MAX ((uint64_t)256 << 20) /* not read past this, and the code is cut */

int jit_code_read_perf_map(int fd, struct jit_code *code);

/*
 * Add the functions of a jitdump, with where their code is in it; `fd` stands at its beginning. It is binary, as
 * tools/perf/Documentation/jitdump-specification.txt of Linux says: a header, and records of code that was made or
 * moved; other records are skipped. Processes append to it while they run: a record that is not complete ends the
 * reading. Only files of this machine's byte order are read.
 * 0; -DCPI_EDAMAGED for what is no jitdump file, or one with a record that cannot be: the functions before it are
 * added; -ENOTSUP for another byte order; -ENOMEM, or the errno of read().
 */
#define JITDUMP_BYTES_MAX ((uint64_t)4 << 30) /* not read past this, and the code is cut */

struct jitdump_header {
	uint16_t machine; /* ELF's e_machine */
	uint32_t pid;     /* in the process's own namespace */
};

int jit_code_read_jitdump(int fd, struct jit_code *code, struct jitdump_header *header);

/*
 * Put in order; nothing may be added any more. Functions at positions before `seen` were there when the samples before
 * were taken; 0: no samples were taken before.
 */
void jit_code_finish(struct jit_code *code, uint64_t seen);

/* After jit_code_finish(): the functions that count, ascending, none overlapping another. */
size_t jit_code_count(const struct jit_code *code);
const struct jit_function *jit_code_at(const struct jit_code *code, size_t index);

/* The function that holds `address`, or NULL. */
const struct jit_function *jit_code_find(const struct jit_code *code, uint64_t address);

uint64_t jit_code_malformed(const struct jit_code *code); /* entries that could not be understood */
bool jit_code_is_cut(const struct jit_code *code);        /* something was left out because there was too much */

/* ---- cut down to what was sampled ---- */

#define JIT_CAPTURE_BLOCKS_MAX 1024 /* of code: 4 MiB; functions that do not fit have names only */

struct jit_capture_request {
	uint64_t base;          /* address of offset 0 */
	const uint32_t *blocks; /* that have samples, ascending */
	size_t block_count;
	uint64_t seen; /* as for jit_code_finish() */
};

struct jit_capture {
	struct jit_code *code; /* of the whole file; owns the names */
	struct profile_symbol *symbols;
	size_t symbol_count;
	bool is_reused;                /* memory with samples has other code now than what is named here */
	struct captured_layout layout; /* without sections there is no code */
	struct captured_segment segments[2];
	struct captured_block *blocks; /* ascending */
	size_t block_count;
	uint8_t *bytes; /* what the blocks point into */
};

/*
 * Read all of `fd`, a file that can be sought in, of either format. From a perf map: the names of functions that touch
 * blocks with samples. From a jitdump: also their code, in whole blocks of offsets (profile/captured.h) that are zero
 * where no such function is. Offsets are those of process/jit.h. A damaged jitdump is read up to the damage, and
 * one of another byte order not at all; either is counted in jit_code_malformed(). 0, -ENOMEM, or the errno of read():
 * then there is nothing to be finished.
 */
int jit_capture_make(int fd, const struct jit_capture_request *request, struct jit_capture *capture);
void jit_capture_fini(struct jit_capture *capture);

#endif
