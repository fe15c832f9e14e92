/*
 * time_order.h - records that come in rounds, in the order of time
 *
 * perf writes what the CPUs' rings held, one after the other, and then the end of a round: what comes behind the next
 * end is no older than what came before this one. So no more than two rounds wait here, and never more than a limit:
 * beyond it the older half goes on early, and a record that comes after a younger one has gone is handed over late.
 * Records without a time are not held back.
 * Thread rule: one thread.
 */
#ifndef DCPI_STREAM_TIME_ORDER_H
#define DCPI_STREAM_TIME_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "stream/record.h"

#define TIME_ORDER_BYTES ((size_t)64 << 20) /* a good limit: 256 rings of 64 KiB, four times */

struct time_order;

/* `record` is valid during the call. 0 to go on; anything else ends the pass, and what waits is lost. */
typedef int time_order_sink(void *context, const struct record *record, uint32_t event);

/* `limit`: bytes of records that wait, at least RECORD_SIZE_MAX. NULL and errno (ENOMEM). */
struct time_order *time_order_new(size_t limit, time_order_sink *sink, void *context);
void time_order_free(struct time_order *order); /* NULL is allowed */

/* 0, -ENOMEM, or what the sink said. The record is copied. */
int time_order_put(struct time_order *order, const struct record *record, uint32_t event);
int time_order_round(struct time_order *order); /* a round has ended */
int time_order_end(struct time_order *order);   /* nothing comes any more: hand over all that waits */

uint64_t time_order_late(const struct time_order *order); /* records that came after a younger one had gone */
size_t time_order_memory(const struct time_order *order); /* bytes allocated */

#endif
