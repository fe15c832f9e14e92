/*
 * dither.h - periods that are not quite the same, so that sampling does not keep step with loops
 *
 * Who samples every n events and meets a loop of n, 2n or n/2 events sees one place of it only. DCPI drew each period
 * from 60K to 64K for that (TOCS 15(4), 4.1.1); here each CPU's period changes with each drain of its ring, by up to
 * 3 % to either side. In between, the samples of a commensurable loop walk through all of it, the sooner the more the
 * period differs; over a minute the mean period is the one that was asked for.
 * Thread rule: stateless.
 */
#ifndef DCPI_COLLECTORD_DITHER_H
#define DCPI_COLLECTORD_DITHER_H

#include <stdint.h>

#define DITHER_THOUSANDTHS 30 /* to either side */
#define DITHER_PERIOD_MIN  64 /* shorter ones are left alone: 3 % of them is next to nothing */

/*
 * The `step`th period of CPU `cpu`, in [period - 3 %, period + 3 %]. The steps of a CPU are spread evenly (multiples of
 * the golden ratio), each CPU's begin elsewhere, so that few steps have the mean already.
 */
uint64_t dither_period(uint64_t period, uint32_t cpu, uint32_t step);

#endif
