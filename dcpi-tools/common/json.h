/*
 * json.h - JSON output of the tools
 *
 * Values are jansson's. A failed constructor gives NULL, which jansson's json_..._set_new() and json_..._append_new()
 * refuse; json_print() refuses a NULL root.
 * Thread rule: one thread per value.
 */
#ifndef DCPI_TOOLS_JSON_H
#define DCPI_TOOLS_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

json_t *json_shown(const char *text);         /* a string from outside, escaped; null for NULL */
json_t *json_count(uint64_t count);           /* a number; what JSON integers cannot hold becomes a real */
json_t *json_estimate(double count);          /* of a count that was estimated: the next integer */
json_t *json_time(uint64_t nanoseconds);      /* RFC 3339 in UTC, with a Z; null for 0 */
json_t *json_kept(json_t *value, int failed); /* the value; if something `failed`, NULL, and the value is freed */
const char *json_text(const json_t *object, const char *key); /* of a string; "" when there is none */
int json_print(json_t *root, FILE *stream);                   /* and free it. 0, -ENOMEM, the stream's error, -EIO */
int json_print_exact(json_t *root, FILE *stream);             /* json_print() with 12 digits of reals instead of 6 */

#endif
