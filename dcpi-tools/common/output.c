#include "dcpi-tools/common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool
wants_color(enum color_mode mode, bool is_terminal)
{
	const char *no_color = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");

	if (mode != COLOR_AUTO)
		return mode == COLOR_ALWAYS;
	if (no_color && *no_color)
		return false;
	return is_terminal && terminal && strcmp(terminal, "dumb") != 0;
}

static size_t
terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

static void
run_pager(const char *command, int input)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(input, STDIN_FILENO) < 0)
		_exit(127);
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* Whether a shell finds the program that `command` begins with; without it the output would go nowhere. */
static bool
can_run(const char *command)
{
	char check[256];
	size_t length = strcspn(command, " \t;|&<>()$`\\\"'");

	if (length == 0 || command[length] == '$')
		return true;
	snprintf(check, sizeof(check), "command -v %.*s >/dev/null 2>&1", (int)length, command);
	return system(check) == 0;
}

static pid_t
start_pager(void)
{
	const char *command = getenv("PAGER");
	int ends[2];
	pid_t child;

	if (!command)
		command = "less";
	if (!*command || strcmp(command, "cat") == 0 || !can_run(command))
		return 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	child = fork();
	if (child == 0)
		run_pager(command, ends[0]);
	close(ends[0]);
	if (child > 0 && dup2(ends[1], STDOUT_FILENO) < 0) {
		/* the pager sees the end of its input and leaves */
		close(ends[1]);
		waitpid(child, NULL, 0);
		return 0;
	}
	close(ends[1]);
	return child > 0 ? child : 0;
}

void
output_open(struct output *output, enum color_mode color, bool page)
{
	bool is_terminal = isatty(STDOUT_FILENO);

	signal(SIGPIPE, SIG_DFL); /* `| head` ends us without a word, even below a parent that ignores the signal */
	output->stream = stdout;
	output->color = wants_color(color, is_terminal);
	output->width = is_terminal ? terminal_width() : 0;
	output->pager = page && is_terminal ? start_pager() : 0;
}

int
output_close(struct output *output)
{
	int err = 0;

	errno = 0;
	if (fflush(output->stream) != 0 || ferror(output->stream))
		err = errno ? -errno : -EIO;
	if (output->pager) {
		close(STDOUT_FILENO);
		while (waitpid(output->pager, NULL, 0) < 0 && errno == EINTR)
			;
		output->pager = 0;
	}
	return err == -EPIPE ? 0 : err;
}

const char *
output_style(const struct output *output, enum style style)
{
	static const char *const sequences[] = {"", "\033[1m", "\033[31m", "\033[2m", "\033[33m"};

	return output->color ? sequences[style] : "";
}

const char *
output_plain(const struct output *output, enum style style)
{
	return output->color && style != STYLE_PLAIN ? "\033[0m" : "";
}
