/*
 * callback_data.h - what the callback of an access is given: one word
 *
 * It is where its struct access is, in the lower 48 bits, and which bytes are touched, from the access's address on.
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_EMULATOR_TIMING_CALLBACK_DATA_H
#define DCPI_EMULATOR_TIMING_CALLBACK_DATA_H

#include <stdint.h>

#include "emulator/timing/code.h"

#define CALLBACK_DATA_ADDRESS UINT64_C(0xffffffffffff)

/* `first`, `last`: -128 to 127. */
static inline void *
callback_data(const struct access *access, int first, int last)
{
	return (void *)(uintptr_t)(((uint64_t)(uintptr_t)access & CALLBACK_DATA_ADDRESS) |
	                           (uint64_t)(uint8_t)first << 48 | (uint64_t)(uint8_t)last << 56);
}

static inline const struct access *
callback_access(const void *data)
{
	return (const struct access *)(uintptr_t)((uint64_t)(uintptr_t)data & CALLBACK_DATA_ADDRESS);
}

static inline int
callback_first(const void *data)
{
	return (int8_t)((uint64_t)(uintptr_t)data >> 48);
}

static inline int
callback_last(const void *data)
{
	return (int)((int64_t)(uintptr_t)data >> 56);
}

/* The first and the last byte that are touched. */
static inline uint64_t
callback_first_byte(uint64_t address, const void *data)
{
	return address + (uint64_t)(int64_t)callback_first(data);
}

static inline uint64_t
callback_last_byte(uint64_t address, const void *data)
{
	return address + (uint64_t)(int64_t)callback_last(data);
}

#endif
