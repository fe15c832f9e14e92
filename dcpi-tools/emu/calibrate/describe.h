/*
 * describe.h - the description of a measured machine, and its file
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_EMU_CALIBRATE_DESCRIBE_H
#define DCPI_TOOLS_EMU_CALIBRATE_DESCRIBE_H

#include <stdio.h>

#include "dcpi-tools/emu/calibrate/measure.h"

/*
 * Describe a machine by the kernel's files (`host`), by measurements, and for the rest by `pipeline`, the model of the
 * CPU. 0, or -DCPI_ECONFIG with a sentence in `why` when the figures contradict each other: a level that is no slower
 * than the one before it.
 */
int describe_machine(const struct host *host, const struct measurements *measured, const struct pipeline *pipeline,
                     struct machine *machine, char *why, size_t size);

/*
 * How latency rises with bandwidth: the points with the least latency in each part of the range up to `most_gb_s`, so
 * that latency never falls; from no load, `idle_ns`, to full load. Returns their number, at least 2.
 */
unsigned describe_curve(const struct machine_load *points, unsigned count, double idle_ns, double most_gb_s,
                        struct machine_load curve[MACHINE_CURVE_MAX]);

/* The file of a machine; `head` are lines that begin with "# ". 0, or -errno of the stream. */
int describe_write(const struct machine *machine, const char *head, FILE *stream);

#endif
