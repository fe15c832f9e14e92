/*
 * time_order.h - put records that come in rounds into the order of time
 *
 * In each round, perf writes what the CPUs' rings held, one ring after the other, and then marks the end of the round:
 * records behind the next end are no older than records before this one. So no more than two rounds wait here, and
 * never more bytes than a limit. Beyond the limit the older half is delivered early; a record that arrives after a
 * younger one was delivered is late, and is delivered nevertheless. Records without a time are not held back.
 * Thread rule: one thread.
 */
#ifndef DCPI_STREAM_TIME_ORDER_H
#define DCPI_STREAM_TIME_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "stream/record.h"

#define TIME_ORDER_BYTES ((size_t)64 << 20) /* a suitable limit: four times 256 rings of 64 KiB */

struct time_order;

/*
 * `record` is valid during the call. 0 to continue; anything else ends the delivery, and the records that wait are
 * lost.
 */
typedef int time_order_sink(void *context, const struct record *record, uint32_t event);

/* `limit`: bytes of records that wait, at least RECORD_SIZE_MAX. NULL and errno (ENOMEM). */
struct time_order *time_order_new(size_t limit, time_order_sink *sink, void *context);
void time_order_free(struct time_order *order); /* NULL is allowed */

/* 0, -ENOMEM, or what the sink returned. The record is copied. */
int time_order_put(struct time_order *order, const struct record *record, uint32_t event);
int time_order_round(struct time_order *order); /* a round has ended */
int time_order_end(struct time_order *order);   /* no more records come: deliver all that wait */

uint64_t time_order_late(const struct time_order *order); /* records that came after a younger one was delivered */
size_t time_order_memory(const struct time_order *order); /* bytes allocated */

#endif
