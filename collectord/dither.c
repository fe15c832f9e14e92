#include "collectord/dither.h"

#define GOLDEN_RATIO UINT32_C(0x9e3779b9) /* of 2^32 */
#define CPU_STRIDE   UINT32_C(0x6a09e667) /* the square root's: CPUs do not repeat each other's steps */

uint64_t
dither_period(uint64_t period, uint32_t cpu, uint32_t step)
{
	const uint64_t reach = period / 1000 * DITHER_THOUSANDTHS + period % 1000 * DITHER_THOUSANDTHS / 1000;
	const uint32_t place = step * GOLDEN_RATIO + cpu * CPU_STRIDE; /* of 2^32, modulo it */

	if (period < DITHER_PERIOD_MIN)
		return period;
	return period - reach + (uint64_t)((double)place / 4294967296.0 * (double)(2 * reach + 1));
}
