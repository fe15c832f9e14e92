/*
 * text.h - text for a human reader: columns instead of bytes, dates instead of nanoseconds
 *
 * Text is UTF-8. Widths need a UTF-8 LC_CTYPE, which text_init() sets; without it a byte counts as a column.
 * Times are nanoseconds since 1970 (UTC); a text without a zone is local time (TZ).
 * Thread rule: text_init() before other threads; the rest is stateless, times as localtime_r(3).
 */
#ifndef DCPI_TOOLS_TEXT_H
#define DCPI_TOOLS_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Use the user's LC_CTYPE when it is UTF-8, C.UTF-8 otherwise. Numbers keep the C locale.
 */
void text_init(void);

size_t text_width(const char *text); /* columns on a terminal */

/* How many bytes of the beginning of `text` fit into `columns`; whole characters only. */
size_t text_prefix(const char *text, size_t columns);

/* How many bytes to leave out at the beginning, so that the rest fits into `columns`. */
size_t text_suffix(const char *text, size_t columns);

/* An escaped copy (base/text.h) of any length, never cut; free it. NULL when memory ends. */
char *text_shown(const char *text);

/* Print it escaped. 0, or -ENOMEM: only a text that is longer than any path needs memory. */
int text_print(const char *text, FILE *stream);

const char *text_plural(uint64_t count); /* what a noun ends with: "" for one, else "s" */

const char *text_basename(const char *path); /* what follows the last slash; a part of `path` */

#define TIME_TEXT_SIZE 64

/* What time_parse() reads, for help and messages. */
#define TIME_EXAMPLES "'10m', '2h', '14:30', '2026-11-21 14:30', '2026-11-21T14:30:00Z' or '@1795271400'"

/*
 * Read a time: `90s`, `10m`, `2h`, `3d`, `1w`, `1h30m` before `now_ns`; `14:30[:15]`, the last time it was that;
 * `2026-11-21`, its beginning; `2026-11-21 14:30[:15[.5]]`, a T may replace the blank, and a zone (`Z`, `+01:00`,
 * `-0530`) may follow; `@seconds` since 1970. 0, or -EINVAL.
 */
int time_parse(const char *text, uint64_t now_ns, uint64_t *time_ns);

uint64_t time_now(void); /* ns since 1970 */

/* "2026-11-21 14:30:00 CET" into `text`, which it returns. */
const char *time_format(uint64_t time_ns, char text[TIME_TEXT_SIZE]);

/* "2026-11-21 14:30:00 to 14:50:00 CET": a date and a zone that both have are printed once. */
const char *time_format_range(uint64_t start_ns, uint64_t end_ns, char text[2 * TIME_TEXT_SIZE]);

/* "0.5 s", "42 s", "20 min", "1 h 5 min", "3 d 2 h" into `text`, which it returns. */
const char *duration_format(uint64_t duration_ns, char text[TIME_TEXT_SIZE]);

#endif
