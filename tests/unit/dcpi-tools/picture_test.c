#include "tests/unit/test.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/picture.h"

static void
print_text(const void *context, FILE *stream)
{
	fputs(context, stream);
}

/* What picture_draw() returns; its message, up to a newline, goes to `message`. */
static int
draw(char *const arguments[], int output, char message[256])
{
	const struct picture_program program = {
		.name = "pen",
		.package = "pencils",
		.draw = "draw it",
		.script_suffix = ".txt",
	};
	const int kept = dup(STDERR_FILENO);
	int ends[2], status;
	ssize_t size;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	status = picture_draw(&program, arguments, "a.svg", print_text, "picture", output);
	dup2(kept, STDERR_FILENO);
	close(kept);
	close(ends[1]);
	size = read(ends[0], message, 255);
	close(ends[0]);
	message[size > 0 ? size : 0] = '\0';
	message[strcspn(message, "\n")] = '\0';
	return status;
}

static void
a_program_draws_from_what_is_printed(void **state)
{
	char *arguments[] = {(char *)"tr", (char *)"a-z", (char *)"A-Z", NULL}, drawn[16] = "", message[256];
	int output[2];

	(void)state;
	assert_int_equal(pipe(output), 0);
	assert_int_equal(draw(arguments, output[1], message), STATUS_OK);
	assert_string_equal(message, "");
	assert_int_equal(read(output[0], drawn, sizeof(drawn) - 1), 7);
	assert_string_equal(drawn, "PICTURE");
	close(output[0]);
	close(output[1]);
}

static void
how_it_ends_is_told(void **state)
{
	char *fails[] = {(char *)"sh", (char *)"-c", (char *)"exit 5", NULL},
	     *missing[] = {(char *)"no-such-program", NULL};
	char *killed[] = {(char *)"sh", (char *)"-c", (char *)"kill -KILL $$", NULL}, message[256];

	(void)state;
	assert_int_equal(draw(fails, -1, message), STATUS_FAILURE);
	assert_string_equal(message, "picture_test: a.svg: cannot draw it: 'pen' ended with status 5");
	assert_int_equal(draw(missing, -1, message), STATUS_FAILURE);
	assert_string_equal(message, "picture_test: a.svg: cannot draw it: there is no program 'pen' (install the "
	                             "package pencils, or name a file that ends in .txt)");
	assert_int_equal(draw(killed, -1, message), STATUS_FAILURE);
	assert_string_equal(message, "picture_test: a.svg: cannot draw it: Input/output error");
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
