/*
 * jit_code.h - the functions that a process made at run time, from the perf map or jitdump that it wrote
 *
 * The readers add functions in the order of the file. Processes reuse memory: of functions that overlap, the one that
 * was written last is kept, and the others are dropped. An exception is a function that already existed when earlier
 * samples were stored: it is kept, and marked as contested if a function with another name has its memory now. Any
 * program can write anything into these files, so memory is bounded: functions past a limit are left out, and
 * jit_code_is_cut() is then true.
 * Thread rule: one thread until jit_code_finish(); afterwards nothing changes, and any number of threads may read.
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
	uint64_t code_at;  /* offset of its code in the file that names it; JIT_CODE_NOWHERE: the file has no code */
	const char *name;  /* as it was written; owned by the code */
	bool is_contested; /* a function with another name has its memory, or a part of it, since `seen` */
};

struct jit_code *jit_code_new(void);       /* NULL and errno (ENOMEM) */
void jit_code_free(struct jit_code *code); /* NULL is allowed */

/*
 * Add a function. `name` has `name_size` bytes, or ends before them at a NUL. An entry that cannot be a function - of
 * size 0, beyond user memory, without a name - is counted as malformed and left out. 0 or -ENOMEM.
 */
int jit_code_add(struct jit_code *code, uint64_t address, uint64_t size, uint64_t code_at, const char *name,
                 size_t name_size);

/*
 * Add the function that was last added at `from` at `to`, too: its code was moved. If there is none, or `to` is beyond
 * user memory, the move is counted as malformed. 0 or -ENOMEM.
 */
int jit_code_move(struct jit_code *code, uint64_t from, uint64_t to);

/* Set the position in the file of the functions that are added next; initially 0. */
void jit_code_set_position(struct jit_code *code, uint64_t position);

/*
 * Add the functions of a /tmp/perf-PID.map, read from the present offset of `fd`. It is text, one function a line: its
 * address and size, in hexadecimal, and its name, which may contain spaces. Processes append to the file while they
 * run: a last line without a newline is left for the next call. 0, -ENOMEM or the errno of read().
 */
#define PERF_MAP_BYTES_MAX ((uint64_t)256 << 20) /* not read past this, and the code is cut */

int jit_code_read_perf_map(int fd, struct jit_code *code);

/*
 * Add the functions of a jitdump, with the offsets of their code in it; `fd` must be at offset 0. The file is binary
 * (tools/perf/Documentation/jitdump-specification.txt of Linux): a header, and records of code that was made or moved;
 * other records are skipped. Processes append to the file while they run: a record that is not complete ends the
 * reading. Only files of this machine's byte order are read.
 * 0; -DCPI_EDAMAGED when it is no jitdump, or has an impossible record: the functions before that are added; -ENOTSUP
 * for another byte order; -ENOMEM, or the errno of read().
 */
#define JITDUMP_BYTES_MAX ((uint64_t)4 << 30) /* not read past this, and the code is cut */

struct jitdump_header {
	uint16_t machine; /* ELF's e_machine */
	uint32_t pid;     /* in the process's own namespace */
};

int jit_code_read_jitdump(int fd, struct jit_code *code, struct jitdump_header *header);

/*
 * Sort the functions; none may be added afterwards. Functions at positions before `seen` existed when earlier samples
 * were taken; 0: there were no earlier samples.
 */
void jit_code_finish(struct jit_code *code, uint64_t seen);

/* After jit_code_finish(): the functions that were kept, ascending by address and disjoint. */
size_t jit_code_count(const struct jit_code *code);
const struct jit_function *jit_code_at(const struct jit_code *code, size_t index);

/* The function that holds `address`, or NULL. */
const struct jit_function *jit_code_find(const struct jit_code *code, uint64_t address);

uint64_t jit_code_malformed(const struct jit_code *code); /* entries that were not valid */
bool jit_code_is_cut(const struct jit_code *code);        /* something was left out because of a limit */

/* ---- the part that was sampled ---- */

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
	bool is_reused;                /* memory with samples has other code now than the function named here */
	struct captured_layout layout; /* without sections there is no code */
	struct captured_segment segments[2];
	struct captured_block *blocks; /* ascending */
	size_t block_count;
	uint8_t *bytes; /* the bytes that the blocks point to */
};

/*
 * Read all of `fd`, a seekable file of either format. Of a perf map, take the names of functions that touch blocks with
 * samples. Of a jitdump, take their code, too: in whole blocks of offsets (profile/captured.h), which are zero where
 * there is no such function. Offsets are those of process/jit.h. A damaged jitdump is read up to the damage, and one of
 * another byte order not at all; jit_code_malformed() counts either. 0, -ENOMEM, or the errno of read(): after an error
 * jit_capture_fini() is not needed.
 */
int jit_capture_make(int fd, const struct jit_capture_request *request, struct jit_capture *capture);
void jit_capture_fini(struct jit_capture *capture);

#endif
