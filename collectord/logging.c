#include "collectord/logging.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *
level_word(enum log_level level)
{
	switch (level) {
	case LOG_LEVEL_WARNING:
		return "warning: ";
	case LOG_LEVEL_DEBUG:
		return "debug: ";
	case LOG_LEVEL_ERROR: /* the sentences of errors need no word */
	case LOG_LEVEL_NOTICE:
	case LOG_LEVEL_INFO:
		break;
	}
	return "";
}

size_t
logging_format(bool to_journal, enum log_level level, const char *message, char *line, size_t size)
{
	int length;

	if (to_journal)
		length = snprintf(line, size - 1, "<%d>%s", (int)level, message);
	else
		length = snprintf(line, size - 1, "dcpid: %s%s", level_word(level), message);
	if (length < 0)
		return 0;
	if ((size_t)length > size - 2)
		length = (int)size - 2;
	/* a name from outside must not begin a line of its own, or control the terminal */
	for (int i = 0; i < length; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	line[length++] = '\n';
	line[length] = '\0';
	return (size_t)length;
}

static void
write_line(void *context, enum log_level level, const char *message)
{
	const struct logging *logging = context;
	char line[1200];
	size_t length = logging_format(logging->to_journal, level, message, line, sizeof(line));
	int saved = errno;

	/* an error cannot be reported anywhere */
	if (TEMP_FAILURE_RETRY(write(STDERR_FILENO, line, length)) < 0)
		errno = saved;
}

static bool
is_stream(int fd, const char *journal_stream)
{
	unsigned long long device, inode;
	struct stat status;

	return journal_stream && sscanf(journal_stream, "%llu:%llu", &device, &inode) == 2 && fstat(fd, &status) == 0 &&
	       status.st_dev == device && status.st_ino == inode;
}

void
logging_init(struct logging *logging, enum log_level limit, const char *journal_stream)
{
	logging->log = (struct log){.hook = write_line, .context = logging, .limit = limit};
	logging->to_journal = is_stream(STDERR_FILENO, journal_stream);
}
