/*
 * describe.h - the machine that was measured, as a file has it
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_EMU_CALIBRATE_DESCRIBE_H
#define DCPI_TOOLS_EMU_CALIBRATE_DESCRIBE_H

#include <stdio.h>

#include "dcpi-tools/emu/calibrate/measure.h"

/*
 * What `host` says and was measured, and from `pipeline`, the model of its CPU, what was not. 0, or -DCPI_ECONFIG with
 * a sentence in `why` when the figures contradict each other: a level that is no slower than the one before it.
 */
int describe_machine(const struct host *host, const struct measurements *measured, const struct pipeline *pipeline,
                     struct machine *machine, char *why, size_t size);

/*
 * How latency rises with bandwidth: of all points the quickest in each part of the way to `most_gb_s`, none of them
 * above one with more; from nothing, `idle_ns`, to all. How many, at least 2.
 */
unsigned describe_curve(const struct machine_load *points, unsigned count, double idle_ns, double most_gb_s,
                        struct machine_load curve[MACHINE_CURVE_MAX]);

/* The file of a machine; `head` are lines that begin with "# ". 0, or -errno of the stream. */
int describe_write(const struct machine *machine, const char *head, FILE *stream);

#endif
