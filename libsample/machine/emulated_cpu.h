/*
 * emulated_cpu.h - the CPU's text in an emulated epoch, from which an analysis knows the CPU without the machine's file
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_MACHINE_EMULATED_CPU_H
#define DCPI_MACHINE_EMULATED_CPU_H

#include "machine/machine.h"

/*
 * The text that epoch.cpu has: "emulated in-order-2: pipeline in-order-2, line 64, code 32768/15/0/400, ...". A cache
 * is its bytes, and the most cycles that an access to the second level, the third level and memory takes; a third level
 * of 0 is none. A TLB is its entries, and the cycles of a miss that hits the second level, and of one that does not.
 */
void emulated_cpu_describe(const struct machine *machine, char *text, size_t size);

/* Whether `text` is of emulated_cpu_describe(); finds the names of the machine and of its pipeline. */
bool emulated_cpu_names(const char *text, char machine[MACHINE_NAME_SIZE], char pipeline[PIPELINE_NAME_SIZE]);

/*
 * Give `pipeline` the caches, TLBs, page size and write buffer of the text, and a skid of 0: emulated samples need not
 * be moved back. 0 or -EINVAL.
 */
int emulated_cpu_apply(const char *text, struct pipeline *pipeline);

#endif
