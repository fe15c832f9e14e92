/*
 * A damaged database may fault whoever reads it (base/guard.h). A doctor must say so, with all else that was found: the
 * database is looked at by a child, which hands its findings over as JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/doctor/doctor.h"

#define FINDINGS_MAX (1 << 20) /* bytes of JSON; more is no sane child's */

/* The guard's last word on standard error is not for the reader: we say it ourselves. */
static void
be_quiet(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, STDERR_FILENO);
}

static void __attribute__((noreturn)) run_child(const struct surroundings *around, examination *examine, int output)
{
	struct ctl_findings findings = {0};
	json_t *list;

	be_quiet();
	examine(around, &findings);
	list = findings_json(&findings);
	if (findings.error || !list || json_dumpfd(list, output, JSON_COMPACT))
		_exit(STATUS_FAILURE);
	_exit(STATUS_OK);
}

static int
read_all(int fd, struct byte_writer *text)
{
	char piece[4096];
	ssize_t got;

	while ((got = TEMP_FAILURE_RETRY(read(fd, piece, sizeof(piece)))) > 0 && text->size <= FINDINGS_MAX)
		write_bytes(text, piece, (size_t)got);
	return got < 0 || text->failed || text->size > FINDINGS_MAX ? -EIO : 0;
}

/* How the child ended: 0, or why it is not to be believed. */
static int
wait_for(pid_t child)
{
	int status;

	if (TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) < 0)
		return -errno;
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_OK)
		return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) != STATUS_DAMAGED ? -ENOMEM : -DCPI_EDAMAGED;
}

static int
take_findings(int fd, pid_t child, struct ctl_findings *findings)
{
	struct byte_writer text = BYTE_WRITER_INIT;
	int read_err = read_all(fd, &text), err;
	json_t *list;

	close(fd); /* a child that still writes ends */
	err = wait_for(child);
	if (!err)
		err = read_err;
	if (!err) {
		list = json_loadb((const char *)text.data, text.size, 0, NULL);
		err = list ? findings_add_json(findings, list) : -EIO;
		json_decref(list);
	}
	writer_fini(&text);
	return err;
}

static int
examine_in_child(const struct surroundings *around, examination *examine, struct ctl_findings *findings)
{
	int ends[2], err;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0)
		run_child(around, examine, ends[1]);
	err = child < 0 ? -errno : 0;
	close(ends[1]);
	if (!err)
		return take_findings(ends[0], child, findings);
	close(ends[0]);
	return err;
}

void
examine_apart(const struct surroundings *around, examination *examine, struct ctl_findings *findings)
{
	int err = examine_in_child(around, examine, findings);
	char *shown;

	if (!err)
		return;
	shown = text_shown(around->directory);
	add_unreadable(around, shown ? shown : "?", err, findings);
	free(shown);
}
