/*
 * perf_swap.h - what a machine of the other byte order wrote
 *
 * Private to the room. Thread rule: stateless.
 */
#ifndef DCPI_STREAM_PERF_SWAP_H
#define DCPI_STREAM_PERF_SWAP_H

#include <linux/perf_event.h>

#include "stream/record.h"

/* Turn the header of a record into this machine's order. */
void perf_swap_header(struct perf_event_header *header);

/*
 * Turn the record at `data`, of header->size bytes, whose header was turned already, into this machine's order: what
 * record_decode() reads of it. Branch flags, registers and raw bytes are of no
 * use afterwards.
 */
void perf_swap_record(const struct record_layout *layout, const struct perf_event_header *header, uint8_t *data);

/* Turn the attribute in `attr`; fields beyond it were not there and are 0. */
void perf_swap_attr(struct perf_event_attr *attr);

#endif
