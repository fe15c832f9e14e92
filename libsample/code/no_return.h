/*
 * no_return.h - functions that never come back to their caller, by name
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_NO_RETURN_H
#define DCPI_CODE_NO_RETURN_H

#include <stdbool.h>

/* `name` as linked; a version ("@GLIBC_2.2.5") and "@plt" behind it do not matter. NULL returns. */
bool symbol_returns(const char *name);

#endif
