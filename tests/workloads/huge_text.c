/* huge_text.c - a page of 2 MiB in the middle of the text, with the function huge_spin() at its beginning */
#include "burn.h"

#define HUGE_PAGE_SIZE (2U << 20)

uint64_t huge_spin(uint64_t value, uint64_t steps);
uint64_t huge_text_end(uint64_t value);

__attribute__((noinline, section("huge_text"), aligned(HUGE_PAGE_SIZE))) uint64_t
huge_spin(uint64_t value, uint64_t steps)
{
	return burn_steps(value, steps);
}

/* On the next page, so that the first belongs to the function alone. */
__attribute__((noinline, section("huge_text"), aligned(HUGE_PAGE_SIZE))) uint64_t
huge_text_end(uint64_t value)
{
	return value + 1;
}
