/*
 * test.h - what every unit test includes
 *
 * CMocka with its prerequisites, and a skip that says why: the runner counts skips and prints the reason.
 */
#ifndef DCPI_TESTS_TEST_H
#define DCPI_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* Skip the running test, saying why; the runner looks for the "# SKIP " line. */
#define skip_because(reason)                                                                                           \
	do {                                                                                                           \
		fprintf(stderr, "# SKIP %s: %s\n", __func__, (reason));                                                \
		skip();                                                                                                \
	} while (0)

#endif
