#include "base/model_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "base/error.h"
#include "base/text.h"

#define NAMES_MAX 256

static int
read_all(int fd, char *text, size_t capacity)
{
	size_t length = 0;

	while (length < capacity) {
		ssize_t got = TEMP_FAILURE_RETRY(read(fd, text + length, capacity - length));

		if (got < 0)
			return -errno;
		if (got == 0)
			return memchr(text, '\0', length) ? -DCPI_EDAMAGED : 0;
		length += (size_t)got;
	}
	return -EFBIG;
}

int
model_file_read(const char *path, const char *what, char **text, char *why, size_t size)
{
	struct stat status;
	int err = 0;
	int fd;

	*text = calloc(1, CONFIG_TEXT_MAX + 2);
	if (!*text) {
		snprintf(why, size, "%s: cannot read %s: %s", path, what, error_text(-ENOMEM));
		return -ENOMEM;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status))
		err = -errno;
	else
		err = S_ISREG(status.st_mode) ? read_all(fd, *text, CONFIG_TEXT_MAX + 1) : -DCPI_ECONFIG;
	if (fd >= 0)
		close(fd);
	if (!err)
		return 0;
	snprintf(why, size, "%s: cannot read %s: %s", path, what, error_text(err));
	free(*text);
	*text = NULL;
	return err;
}

/* A program that is not installed lies in BUILD/bin or BUILD/tests/..., and its sources above BUILD. */
static bool
find_in_sources(const char *folder, const char *probe, char *directory, size_t size)
{
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (length < 0)
		return false;
	program[length] = '\0';
	for (char *slash = strrchr(program, '/'); slash && slash != program; slash = strrchr(program, '/')) {
		char known[PATH_MAX + 128];

		*slash = '\0';
		snprintf(known, sizeof(known), "%s/%s/%s", program, folder, probe);
		if (access(known, R_OK) == 0) {
			int used = snprintf(directory, size, "%s/%s", program, folder);

			return used > 0 && (size_t)used < size;
		}
	}
	return false;
}

void
model_file_directory(const char *environment, const char *folder, const char *probe, const char *installed,
                     char *directory, size_t size)
{
	const char *given = secure_getenv(environment);

	if (given && *given)
		snprintf(directory, size, "%s", given);
	else if (!find_in_sources(folder, probe, directory, size))
		snprintf(directory, size, "%s", installed);
}

static int
is_model(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > strlen(MODEL_FILE_SUFFIX) &&
	       strcmp(entry->d_name + length - strlen(MODEL_FILE_SUFFIX), MODEL_FILE_SUFFIX) == 0;
}

int
model_file_list(const char *directory, char ***names)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_model, alphasort);

	*names = NULL;
	if (count < 0)
		return -errno;
	*names = calloc((size_t)count + 1, sizeof(**names));
	for (int i = 0; i < count; i++) {
		if (*names)
			(*names)[i] =
				strndup(entries[i]->d_name, strlen(entries[i]->d_name) - strlen(MODEL_FILE_SUFFIX));
		free(entries[i]);
	}
	free(entries);
	for (int i = 0; i < count; i++)
		if (!*names || !(*names)[i]) {
			model_file_list_free(*names, *names ? count : -1);
			*names = NULL;
			return -ENOMEM;
		}
	return count;
}

void
model_file_list_free(char **names, int count)
{
	for (int i = 0; names && i < count; i++)
		free(names[i]);
	free(names);
}

static void
say_names(const char *what, const char *choice, const char *directory, const char *const *names, size_t count,
          char *why, size_t size)
{
	const char *near = suggest_name(choice, names, count);
	int used;

	if (near) {
		snprintf(why, size, "there is no %s \"%s\"; did you mean \"%s\"?", what, choice, near);
		return;
	}
	used = snprintf(why, size, "there is no %s \"%s\" in %s%s", what, choice, directory,
	                count ? "; there are:" : "");
	for (size_t i = 0; i < count && used > 0 && (size_t)used < size; i++)
		used += snprintf(why + used, size - (size_t)used, " %s", names[i]);
}

int
model_file_refuse(const char *what, const char *choice, const char *const *directories, size_t directory_count,
                  char *why, size_t size)
{
	const char *known[NAMES_MAX] = {NULL};
	char **names[8] = {NULL};
	int counts[8] = {0};
	size_t known_count = 0;

	for (size_t d = 0; d < directory_count && d < 8; d++) {
		counts[d] = model_file_list(directories[d], &names[d]);
		for (int i = 0; names[d] && i < counts[d] && known_count < NAMES_MAX; i++)
			known[known_count++] = names[d][i];
	}
	say_names(what, choice, directories[directory_count - 1], known, known_count, why, size);
	for (size_t d = 0; d < directory_count && d < 8; d++)
		model_file_list_free(names[d], counts[d]);
	return -DCPI_ECONFIG;
}
