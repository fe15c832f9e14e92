/*
 * text.h - names from outside: escape them for display, and suggest the name that a wrong one probably means
 *
 * The owner of a program chooses its command name, paths and symbols; displayed without escapes they could control a
 * terminal.
 * Thread rule: stateless.
 */
#ifndef DCPI_BASE_TEXT_H
#define DCPI_BASE_TEXT_H

#include <stddef.h>

/*
 * Copy `text` to `shown` (of `capacity` bytes, at least 1): well-formed UTF-8 stays, control characters (C0, DEL,
 * C1) and malformed bytes become \xNN, a backslash becomes two. What does not fit is cut at a whole character.
 * Returns `shown`.
 */
const char *escape_text(const char *text, char *shown, size_t capacity);

#define SUGGEST_LENGTH_MAX 63 /* longer names have no suggestion */

/*
 * The one of `count` names that differs least from `wrong`, in at most a third of its characters; NULL when none is so
 * near. Two letters that changed places count once. Of equally near names the first wins.
 */
const char *suggest_name(const char *wrong, const char *const *names, size_t count);

#endif
