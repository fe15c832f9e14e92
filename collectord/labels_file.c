#include "collectord/labels_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/small_file.h"
#include "control/request.h"
#include "process/proc.h"

#define TITLE "dcpid-labels/1 "

/* "" when it cannot be read: labels are then not kept, because the file could be of an earlier boot. */
static void
read_boot_id(char boot_id[BOOT_ID_SIZE])
{
	if (small_file_read(boot_id, BOOT_ID_SIZE, "/proc/sys/kernel/random/boot_id") ||
	    strlen(boot_id) != BOOT_ID_SIZE - 1)
		boot_id[0] = '\0';
}

static int
write_all(FILE *file, const struct labelled_processes *labelled)
{
	char boot_id[BOOT_ID_SIZE];

	read_boot_id(boot_id);
	fprintf(file, TITLE "%s %" PRIu64 "\n", boot_id, labelled->known_ticks);
	for (size_t i = 0; i < labelled->count && i < LABELS_FILE_MAX; i++)
		fprintf(file, "%" PRIu32 " %" PRIu64 " %s\n", labelled->list[i].pid, labelled->list[i].start_ticks,
		        labelled->list[i].label);
	return fflush(file) || ferror(file) ? -EIO : 0;
}

int
labels_file_write(const char *path, const struct labelled_processes *labelled)
{
	char new_path[PATH_MAX];
	FILE *file;
	int fd, err;

	if (!labelled->count)
		return unlink(path) && errno != ENOENT ? -errno : 0;
	if (snprintf(new_path, sizeof(new_path), "%s.new", path) >= (int)sizeof(new_path))
		return -ENAMETOOLONG;
	unlink(new_path); /* of a dcpid that was killed */
	fd = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	file = fdopen(fd, "w");
	if (!file) {
		close(fd);
		unlink(new_path);
		return -ENOMEM;
	}
	err = write_all(file, labelled);
	if (fclose(file) && !err)
		err = -errno;
	if (!err && rename(new_path, path))
		err = -errno;
	if (err)
		unlink(new_path);
	return err;
}

/* "known ticks" of this run of the machine. 1; 0 for another run; -EINVAL. Moves *at behind the line. */
static int
parse_title(const char **at, const char *boot_id, struct labelled_processes *labelled)
{
	const char *text = *at;

	if (strncmp(text, TITLE, strlen(TITLE)) != 0)
		return -EINVAL;
	text += strlen(TITLE);
	if (!*boot_id || strncmp(text, boot_id, strlen(boot_id)) != 0)
		return 0;
	text += strlen(boot_id);
	if (*text++ != ' ' || !proc_text_decimal(&text, &labelled->known_ticks) || *text++ != '\n')
		return -EINVAL;
	*at = text;
	return 1;
}

/* Moves *at behind the line. */
static int
parse_process(const char **at, struct labelled_process *process)
{
	const char *text = *at, *end = strchr(text, '\n');
	char why[128];
	uint64_t pid;

	if (!end || !proc_text_decimal(&text, &pid) || pid < 1 || pid > INT32_MAX || *text++ != ' ' ||
	    !proc_text_decimal(&text, &process->start_ticks) || *text++ != ' ')
		return -EINVAL;
	if (end - text < 1 || end - text >= (ptrdiff_t)sizeof(process->label))
		return -EINVAL;
	memset(process->label, 0, sizeof(process->label));
	memcpy(process->label, text, (size_t)(end - text));
	process->pid = (uint32_t)pid;
	*at = end + 1;
	return request_check_label(process->label, why, sizeof(why));
}

int
labels_file_parse(const char *text, size_t length, const char *boot_id, struct labelled_processes *labelled)
{
	const char *const end = text + length;
	struct labelled_process *list;
	int err;

	memset(labelled, 0, sizeof(*labelled));
	err = parse_title(&text, boot_id, labelled);
	if (err <= 0)
		return err;
	for (err = 0; !err && text < end && labelled->count < LABELS_FILE_MAX; labelled->count += !err) {
		list = array_grow(labelled->list, &labelled->capacity, labelled->count + 1, sizeof(*list));
		if (!list) {
			err = -ENOMEM;
			break;
		}
		labelled->list = list;
		err = parse_process(&text, &list[labelled->count]);
	}
	if (err)
		labelled_processes_fini(labelled);
	return err;
}

/* A file that another user has put there is refused. */
static int
open_own(const char *path, size_t *size)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    (uint64_t)status.st_size <= LABELS_FILE_SIZE) {
		*size = (size_t)status.st_size;
		return fd;
	}
	close(fd);
	return -EPERM;
}

int
labels_file_read(const char *path, struct labelled_processes *labelled)
{
	char boot_id[BOOT_ID_SIZE], *text;
	size_t size = 0;
	ssize_t got;
	int fd = open_own(path, &size), err;

	memset(labelled, 0, sizeof(*labelled));
	if (fd < 0)
		return fd;
	text = malloc(size + 1);
	if (!text) {
		close(fd);
		return -ENOMEM;
	}
	got = TEMP_FAILURE_RETRY(read(fd, text, size));
	err = got < 0 ? -errno : 0;
	close(fd);
	read_boot_id(boot_id);
	if (!err) {
		text[got] = '\0';
		err = labels_file_parse(text, (size_t)got, boot_id, labelled);
	}
	free(text);
	return err;
}
