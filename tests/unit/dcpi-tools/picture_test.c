#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "dcpi-tools/common/picture.h"

static void
print_text(const void *context, FILE *stream)
{
	fputs(context, stream);
}

static void
a_program_draws_from_what_is_printed(void **state)
{
	char *arguments[] = {(char *)"tr", (char *)"a-z", (char *)"A-Z", NULL}, drawn[16] = "";
	int input = picture_source(print_text, "picture"), output[2];

	(void)state;
	assert_true(input >= 0);
	assert_int_equal(pipe(output), 0);
	assert_int_equal(picture_run(arguments, input, output[1]), 0);
	assert_int_equal(read(output[0], drawn, sizeof(drawn) - 1), 7);
	assert_string_equal(drawn, "PICTURE");
	close(input);
	close(output[0]);
	close(output[1]);
}

static void
how_it_ends_is_told(void **state)
{
	char *fails[] = {(char *)"sh", (char *)"-c", (char *)"exit 5", NULL},
	     *missing[] = {(char *)"no-such-program", NULL};
	char *killed[] = {(char *)"sh", (char *)"-c", (char *)"kill -KILL $$", NULL};

	(void)state;
	assert_int_equal(picture_run(fails, STDIN_FILENO, -1), 5);
	assert_int_equal(picture_run(missing, STDIN_FILENO, -1), -ENOENT);
	assert_int_equal(picture_run(killed, STDIN_FILENO, -1), -EIO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_draws_from_what_is_printed),
		cmocka_unit_test(how_it_ends_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
