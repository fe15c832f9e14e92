#include "base/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/error.h"

#include "tests/unit/test.h"

static char directory[] = "/tmp/dcpi-models-XXXXXX";
static const char *const names[] = {"beta.conf", "alpha.conf", ".hidden.conf", "notes.txt", ".conf"};
#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

static void
path_of(const char *name, char *path, size_t size)
{
	assert_true((size_t)snprintf(path, size, "%s/%s", directory, name) < size);
}

static void
put(const char *name, const char *bytes, size_t length)
{
	char path[256];
	FILE *file;

	path_of(name, path, sizeof(path));
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static int
make_models(void **state)
{
	(void)state;
	memcpy(strrchr(directory, '-'), "-XXXXXX", 7);
	if (!mkdtemp(directory))
		return -1;
	for (size_t i = 0; i < NAME_COUNT; i++)
		put(names[i], "a = 1;", 6);
	return 0;
}

static int
remove_models(void **state)
{
	(void)state;
	for (size_t i = 0; i < NAME_COUNT; i++) {
		char path[256];

		path_of(names[i], path, sizeof(path));
		if (unlink(path))
			return -1;
	}
	return rmdir(directory);
}

static void
only_models_are_listed_in_order(void **state)
{
	char **found;

	(void)state;
	assert_int_equal(config_model_list(directory, &found), 2);
	assert_string_equal(found[0], "alpha");
	assert_string_equal(found[1], "beta");
	config_model_list_free(found, 2);
	assert_int_equal(config_model_list("/nowhere", &found), -ENOENT);
	config_model_list_free(found, -ENOENT);
}

static void
a_name_that_is_none_is_refused_with_those_there_are(void **state)
{
	const char *const both[] = {"/nowhere", directory};
	char why[256] = "", expected[256];

	(void)state;
	assert_int_equal(config_model_refuse("box", "alhpa", both, 2, why, sizeof(why)), -DCPI_ECONFIG);
	assert_string_equal(why, "there is no box \"alhpa\"; did you mean \"alpha\"?");
	assert_int_equal(config_model_refuse("box", "omega", both, 2, why, sizeof(why)), -DCPI_ECONFIG);
	snprintf(expected, sizeof(expected), "there is no box \"omega\" in %s; there are: alpha beta", directory);
	assert_string_equal(why, expected);
}

static void
a_file_is_read_whole_or_refused(void **state)
{
	char path[256], why[512], expected[512];
	char *text, *large = calloc(1, CONFIG_TEXT_MAX + 1);

	(void)state;
	assert_non_null(large);
	memset(large, ' ', CONFIG_TEXT_MAX + 1);
	path_of("alpha.conf", path, sizeof(path));
	assert_int_equal(config_model_read(path, "the box", &text, why, sizeof(why)), 0);
	assert_string_equal(text, "a = 1;");
	free(text);
	put("alpha.conf", "a = \0;", 6);
	assert_int_equal(config_model_read(path, "the box", &text, why, sizeof(why)), -DCPI_EDAMAGED);
	put("alpha.conf", large, CONFIG_TEXT_MAX);
	assert_int_equal(config_model_read(path, "the box", &text, why, sizeof(why)), 0);
	free(text);
	put("alpha.conf", large, CONFIG_TEXT_MAX + 1);
	assert_int_equal(config_model_read(path, "the box", &text, why, sizeof(why)), -EFBIG);
	assert_int_equal(config_model_read(directory, "the box", &text, why, sizeof(why)), -DCPI_ECONFIG);
	path_of("gamma.conf", path, sizeof(path));
	assert_int_equal(config_model_read(path, "the box", &text, why, sizeof(why)), -ENOENT);
	snprintf(expected, sizeof(expected), "%s: cannot read the box: No such file or directory", path);
	assert_string_equal(why, expected);
	free(large);
}

/* This program lies below the sources. */
static void
a_directory_is_given_or_in_the_sources_or_installed(void **state)
{
	char found[512];

	(void)state;
	assert_int_equal(setenv("DCPI_TEST_MODELS", "/given", 1), 0);
	config_model_directory("DCPI_TEST_MODELS", "config/cpus", "generic.conf", "/installed", found, sizeof(found));
	assert_string_equal(found, "/given");
	assert_int_equal(unsetenv("DCPI_TEST_MODELS"), 0);
	config_model_directory("DCPI_TEST_MODELS", "config/cpus", "generic.conf", "/installed", found, sizeof(found));
	assert_non_null(strstr(found, "/config/cpus"));
	config_model_directory("DCPI_TEST_MODELS", "config/cpus", "none.conf", "/installed", found, sizeof(found));
	assert_string_equal(found, "/installed");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_models_are_listed_in_order, make_models, remove_models),
		cmocka_unit_test_setup_teardown(a_name_that_is_none_is_refused_with_those_there_are, make_models,
	                                        remove_models),
		cmocka_unit_test_setup_teardown(a_file_is_read_whole_or_refused, make_models, remove_models),
		cmocka_unit_test(a_directory_is_given_or_in_the_sources_or_installed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
