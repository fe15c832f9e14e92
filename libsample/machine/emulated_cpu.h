/*
 * emulated_cpu.h - what an epoch that was emulated says of its CPU, so that an analysis knows it without the machine's
 * file
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_MACHINE_EMULATED_CPU_H
#define DCPI_MACHINE_EMULATED_CPU_H

#include "machine/machine.h"

/*
 * The text that epoch.cpu has: "emulated in-order-2: pipeline in-order-2, line 64, code 32768/15/0/400, ...". Caches
 * are bytes, and cycles at most of the second and third level and of memory; a third of 0 is none. TLBs are entries,
 * and cycles of a miss that the second level has, and of one that it has not.
 */
void emulated_cpu_describe(const struct machine *machine, char *text, size_t size);

/* Is it such a text? The machine's name, and that of its pipeline. */
bool emulated_cpu_names(const char *text, char machine[MACHINE_NAME_SIZE], char pipeline[PIPELINE_NAME_SIZE]);

/* Give its pipeline the memory that the text tells of. Samples need not be moved back. 0 or -EINVAL. */
int emulated_cpu_apply(const char *text, struct pipeline *pipeline);

#endif
