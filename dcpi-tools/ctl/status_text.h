/*
 * status_text.h - what `dcpictl status` prints for people
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_STATUS_TEXT_H
#define DCPI_TOOLS_CTL_STATUS_TEXT_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#define STATUS_NUMBER_SIZE 32

/*
 * Print `status` (dcpictl-status/1), as seen at `now_ns`, to `stream`. Fields that are missing read as 0 or "": an
 * older daemon may answer. 0, or -EIO.
 */
int status_print(const json_t *status, uint64_t now_ns, FILE *stream);

/* "3,982,211" into `text`, which it returns. */
const char *status_format_count(uint64_t count, char text[STATUS_NUMBER_SIZE]);

/* "14.2 MiB", "2 GiB", "512 bytes" into `text`, which it returns. */
const char *status_format_size(uint64_t bytes, char text[STATUS_NUMBER_SIZE]);

#endif
