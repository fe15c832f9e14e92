#include "dcpi-tools/label/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/message.h"

struct label_comparison {
	char (*labels)[LABEL_SIZE];
	char **command;
};

static void
comparison_fini(struct label_comparison *comparison)
{
	free(comparison->command);
	free(comparison->labels);
}

/* dcpistats --db DIR [--json] --label NAME.1 --label NAME.2 ...; comparison_fini() in any case. 0 or -ENOMEM. */
static int
comparison_init(struct label_comparison *comparison, const struct series *series, bool as_json)
{
	static char program[] = COMPARE_PROGRAM, db[] = "--db", label[] = "--label", json[] = "--json";
	size_t count = 0;

	comparison->labels = calloc(series->done, sizeof(*comparison->labels));
	comparison->command = calloc(2 * series->done + 5, sizeof(*comparison->command));
	if (!comparison->labels || !comparison->command)
		return -ENOMEM;
	comparison->command[count++] = program;
	comparison->command[count++] = db;
	comparison->command[count++] = (char *)series->asking.options.directory;
	if (as_json)
		comparison->command[count++] = json;
	for (size_t i = 0; i < series->done; i++) {
		(void)series_label(series, i, comparison->labels[i]);
		comparison->command[count++] = label;
		comparison->command[count++] = comparison->labels[i];
	}
	return 0;
}

/* Execute the dcpistats beside this program, or that in $PATH. Returns when there is none. */
static void
execute(char *const *command)
{
	char self[PATH_MAX], path[PATH_MAX + sizeof(COMPARE_PROGRAM)];
	const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *slash;

	self[length > 0 ? length : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash) {
		snprintf(path, sizeof(path), "%.*s/" COMPARE_PROGRAM, (int)(slash - self), self);
		execv(path, command);
	}
	execvp(COMPARE_PROGRAM, command);
}

int
series_compare(const struct series *series)
{
	struct label_comparison comparison;
	int err = comparison_init(&comparison, series, false);

	if (!err) {
		fflush(NULL);
		execute(comparison.command);
		err = -errno;
	}
	comparison_fini(&comparison);
	return message_cannot(COMPARE_PROGRAM, "run it", err, NULL);
}

/* The process, which writes to *output. Or -errno. */
static pid_t
begin(char *const *command, int *output)
{
	int ends[2], err;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (dup2(ends[1], STDOUT_FILENO) >= 0)
			execute(command);
		_exit(message_cannot(COMPARE_PROGRAM, "run it", -errno, NULL));
	}
	err = errno;
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -err;
	}
	*output = ends[0];
	return pid;
}

static int
read_statistics(char *const *command, json_t **statistics)
{
	int output = -1, status = 0;
	pid_t pid = begin(command, &output);

	if (pid < 0)
		return message_cannot(COMPARE_PROGRAM, "run it", pid, NULL);
	*statistics = json_loadfd(output, 0, NULL);
	close(output);
	if (TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) < 0)
		return message_cannot(COMPARE_PROGRAM, "wait for it", -errno, NULL);
	return child_exit_status(status, STATUS_OK);
}

int
series_compare_as_json(const struct series *series, json_t **statistics)
{
	struct label_comparison comparison;
	int err = comparison_init(&comparison, series, true), status;

	*statistics = NULL;
	status = err ? message_cannot(COMPARE_PROGRAM, "run it", err, NULL)
	             : read_statistics(comparison.command, statistics);
	comparison_fini(&comparison);
	return status;
}
