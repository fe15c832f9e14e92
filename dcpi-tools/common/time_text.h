/*
 * time_text.h - times and durations as people write and read them
 *
 * Times are nanoseconds since 1970 (UTC); what has no zone is local time (TZ).
 * Thread rule: as localtime_r(3).
 */
#ifndef DCPI_TOOLS_TIME_TEXT_H
#define DCPI_TOOLS_TIME_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define TIME_TEXT_SIZE 64

/* What time_parse() reads, for help and complaints. */
#define TIME_EXAMPLES "'10m', '2h', '14:30', '2026-11-21 14:30', '2026-11-21T14:30:00Z' or '@1795271400'"

/*
 * Read a time: `90s`, `10m`, `2h`, `3d`, `1w`, `1h30m` before `now_ns`; `14:30[:15]`, the last time it was that;
 * `2026-11-21`, its beginning; `2026-11-21 14:30[:15[.5]]`, with a T for the blank if you like; the same with a zone
 * (`Z`, `+01:00`, `-0530`) behind; `@seconds` since 1970. 0, or -EINVAL.
 */
int time_parse(const char *text, uint64_t now_ns, uint64_t *time_ns);

uint64_t time_now(void); /* ns since 1970 */

/* "2026-11-21 14:30:00 CET" into `text`, which it returns. */
const char *time_format(uint64_t time_ns, char text[TIME_TEXT_SIZE]);

/* "2026-11-21 14:30:00 to 14:50:00 CET": a date and a zone that are the same for both are said once. */
const char *time_format_range(uint64_t start_ns, uint64_t end_ns, char text[2 * TIME_TEXT_SIZE]);

/* "0.5 s", "42 s", "20 min", "1 h 5 min", "3 d 2 h" into `text`, which it returns. */
const char *duration_format(uint64_t duration_ns, char text[TIME_TEXT_SIZE]);

#endif
