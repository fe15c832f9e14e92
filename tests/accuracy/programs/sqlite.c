/* sqlite SCRIPT TIMES - execute SQL in a new database in memory so often, with Debian's libsqlite3.a */
#include <sqlite3.h>
#include <stdbool.h>

#include "input.h"

static char *
read_file(const char *path)
{
	FILE *file = input_require(fopen(path, "re"));
	char *text = input_require(calloc(1, 65536));

	if (fread(text, 1, 65535, file) == 0 || ferror(file)) {
		fprintf(stderr, "sqlite: cannot read %s\n", path);
		exit(EXIT_FAILURE);
	}
	fclose(file);
	return text;
}

static int
print_row(void *is_wanted, int count, char **values, char **names)
{
	(void)names;
	if (is_wanted && count && values[0])
		printf("%s\n", values[0]);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct input_arguments arguments = input_arguments(argc, argv);
	char *text = read_file(arguments.input);

	for (unsigned long i = 0; i < arguments.times; i++) {
		const bool is_last = i + 1 == arguments.times;
		sqlite3 *database;
		char *why = NULL;

		if (sqlite3_open(":memory:", &database) ||
		    sqlite3_exec(database, text, print_row, is_last ? text : NULL, &why)) {
			fprintf(stderr, "sqlite: %s\n", why ? why : "cannot open a database in memory");
			return EXIT_FAILURE;
		}
		sqlite3_close(database);
	}
	free(text);
	return 0;
}
