/*
 * run_time_code.h - the functions that a process made at run time, as it told them itself
 *
 * Readers of what a process wrote (perf_map.h, jitdump.h) add functions in the order of its telling. Memory is used
 * again: of functions that overlap, the one that was told last is there, and the others are gone - but when somebody
 * has looked before, what was there then stays, and is contested. What is added is
 * bounded, for anybody can write anything: past a limit functions are left out, and run_time_code_is_cut() says so.
 * Thread rule: one thread while it is made, plain data afterwards.
 */
#ifndef DCPI_IMAGE_RUN_TIME_CODE_H
#define DCPI_IMAGE_RUN_TIME_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_TIME_FUNCTIONS_MAX  ((size_t)1 << 20)
#define RUN_TIME_NAMES_MAX      ((size_t)64 << 20)  /* bytes of all names */
#define RUN_TIME_NAME_MAX       1023                /* bytes of one; what is longer is cut */
#define RUN_TIME_ADDRESS_END    (UINT64_C(1) << 57) /* of user memory, on any machine */
#define RUN_TIME_NO_CODE        UINT64_MAX
#define RUN_TIME_CODE_BYTES_MAX ((uint64_t)1 << 30) /* of one function */

struct run_time_code;

struct run_time_function {
	uint64_t address;  /* in the process */
	uint64_t size;     /* bytes, at least 1 */
	uint64_t code_at;  /* where its code is in the file that told of it; RUN_TIME_NO_CODE: nowhere */
	const char *name;  /* as it was told; owned by the code */
	bool is_contested; /* another has its memory, or a part of it, since somebody looked */
};

struct run_time_code *run_time_code_new(void);       /* NULL and errno (ENOMEM) */
void run_time_code_free(struct run_time_code *code); /* NULL is allowed */

/*
 * Add one. `name` has `name_size` bytes and ends earlier at a NUL. What cannot be a function - of no size, beyond user
 * memory, without a name - is counted and left out. 0 or -ENOMEM.
 */
int run_time_code_add(struct run_time_code *code, uint64_t address, uint64_t size, uint64_t code_at, const char *name,
                      size_t name_size);

/* The function last told to be at `from` is at `to` from now on. One that is not known is left out. 0 or -ENOMEM. */
int run_time_code_move(struct run_time_code *code, uint64_t from, uint64_t to);

/* What is added from now on was told at this position of the file; at first, 0. */
void run_time_code_told_at(struct run_time_code *code, uint64_t position);

/* Something was told that could not be understood. */
void run_time_code_complain(struct run_time_code *code);

/* Something was left out because there is too much. */
void run_time_code_cut(struct run_time_code *code);

/*
 * Put in order; nothing may be added any more. What was told before `seen` was there when somebody last looked; 0:
 * nobody has.
 */
void run_time_code_finish(struct run_time_code *code, uint64_t seen);

/* After it: the functions that are there, ascending, none overlapping another. */
size_t run_time_code_count(const struct run_time_code *code);
const struct run_time_function *run_time_code_at(const struct run_time_code *code, size_t index);

/* The first that ends behind `address`: its index, or the count. */
size_t run_time_code_first(const struct run_time_code *code, uint64_t address);

/* The function that holds `address`, or NULL. */
const struct run_time_function *run_time_code_find(const struct run_time_code *code, uint64_t address);

uint64_t run_time_code_complaints(const struct run_time_code *code);
bool run_time_code_is_cut(const struct run_time_code *code);

#endif
