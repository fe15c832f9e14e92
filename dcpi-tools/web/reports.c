#include "dcpi-tools/web/reports.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <event2/buffer.h>

#include "base/clock.h"

#define OUTPUT_MAX     (8 << 20)  /* bytes of a report */
#define ERRORS_MAX     (16 << 10) /* of its sentences */
#define KEPT_BYTES_MAX (16 << 20) /* of reports that are kept */
#define WAITING_MAX    64         /* jobs */
#define READ_SIZE      (256 << 10)
#define TIME_LIMIT_S   60

#define FRESH_FACTOR   10
#define FRESH_LEAST_NS (10 * SECOND_NS)
#define FRESH_MOST_NS  (60 * SECOND_NS)
#define UNCHANGED_NS   (600 * SECOND_NS) /* and of an unchanged database: a package with symbols may have come */
#define LIVE_NS        (2 * SECOND_NS)   /* that reports of a running dcpid, and failures, are kept for */
#define MACHINE_NS     (60 * SECOND_NS)  /* and reports of the machine */

/* The version of the database's file. */
struct file_stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

TAILQ_HEAD(wait_list, reports_wait);

/* A command line that runs or waits to run, or its report, kept. */
struct reports_job {
	struct reports *reports;
	struct tool_command command;
	TAILQ_ENTRY(reports_job) next;
	struct wait_list waits;

	pid_t pid; /* 0: has ended, or was not started */
	int status;
	int pipes[2]; /* our ends of standard output and standard error; -1: at their ends */
	struct event *readable[2];
	struct evbuffer *read[2];
	struct event *timeout;
	const char *killed_for; /* a sentence; NULL: it was not killed */

	struct file_stamp stamp;    /* of the database, when it was started */
	uint64_t began_ns, took_ns; /* CLOCK_MONOTONIC */
	uint64_t at_ns;
	struct report *report; /* NULL: not made yet */
};

TAILQ_HEAD(job_list, reports_job);

struct reports {
	struct reports_options options;
	char *file; /* of the database */
	struct event *child_ended;
	struct job_list waiting;       /* what a page cannot be shown without comes first, then who came first */
	struct job_list running, kept; /* kept: used last comes first */
	unsigned running_count, waiting_count;
	size_t kept_bytes;
};

static struct file_stamp
read_stamp(const struct reports *reports)
{
	struct file_stamp stamp;
	struct stat file;

	memset(&stamp, 0, sizeof(stamp)); /* compared as bytes */
	if (stat(reports->file, &file) < 0)
		return stamp;
	stamp.device = file.st_dev;
	stamp.inode = file.st_ino;
	stamp.size = file.st_size;
	stamp.changed = file.st_mtim;
	return stamp;
}

/* ---- reports ---- */

/* `errors` and `output` are the report's then. NULL when memory ends; both are freed. */
static struct report *
report_new(int status, char *output, size_t size, char *errors)
{
	struct report *report = output && errors ? calloc(1, sizeof(*report)) : NULL;

	if (!report) {
		free(output);
		free(errors);
		return NULL;
	}
	report->status = status;
	report->output = output;
	report->size = size;
	report->errors = errors;
	report->references = 1;
	report->at_ns = clock_ns(CLOCK_REALTIME);
	return report;
}

/* One of a report that was not made, because of `error`. NULL when memory ends. */
static struct report *
report_failed(int error, const char *sentence)
{
	return report_new(error, strdup(""), 0, strdup(sentence));
}

struct report *
report_share(struct report *report)
{
	report->references++;
	return report;
}

void
report_release(struct report *report)
{
	if (!report || --report->references > 0)
		return;
	free(report->output);
	free(report->errors);
	free(report);
}

/* ---- jobs ---- */

static bool
is_command(const struct tool_command *one, const struct tool_command *other)
{
	if (one->count != other->count)
		return false;
	for (size_t i = 0; i < one->count; i++)
		if (strcmp(one->words[i], other->words[i]) != 0)
			return false;
	return true;
}

static struct reports_job *
find_job(struct job_list *list, const struct tool_command *command)
{
	struct reports_job *job;

	TAILQ_FOREACH(job, list, next)
	if (is_command(&job->command, command))
		return job;
	return NULL;
}

static void
stop_reading(struct reports_job *job, int which)
{
	if (job->readable[which])
		event_free(job->readable[which]);
	job->readable[which] = NULL;
	if (job->pipes[which] >= 0)
		close(job->pipes[which]);
	job->pipes[which] = -1;
}

static void
job_free(struct reports_job *job)
{
	for (int i = 0; i < 2; i++) {
		stop_reading(job, i);
		if (job->read[i])
			evbuffer_free(job->read[i]);
	}
	if (job->timeout)
		event_free(job->timeout);
	command_fini(&job->command);
	report_release(job->report);
	free(job);
}

static struct reports_job *
job_new(struct reports *reports, const struct tool_command *command)
{
	struct reports_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->reports = reports;
	job->pipes[0] = job->pipes[1] = -1;
	TAILQ_INIT(&job->waits);
	job->command.source = command->source;
	job->command.need = command->need;
	job->command.is_relative = command->is_relative;
	for (size_t i = 0; i < command->count; i++)
		command_word(&job->command, command->words[i]);
	if (!job->command.failed)
		return job;
	job_free(job);
	return NULL;
}

/* Give the report to all who wait; each gets a reference of its own. */
static void
answer_waits(struct reports_job *job, struct report *report)
{
	struct reports_wait *wait;

	while ((wait = TAILQ_FIRST(&job->waits))) {
		TAILQ_REMOVE(&job->waits, wait, next);
		wait->job = NULL;
		wait->done(wait->context, report ? report_share(report) : NULL);
	}
}

static void
drop_kept(struct reports *reports, struct reports_job *job)
{
	TAILQ_REMOVE(&reports->kept, job, next);
	reports->kept_bytes -= job->report->size;
	job_free(job);
}

static void
keep_job(struct reports_job *job)
{
	struct reports *reports = job->reports;

	TAILQ_INSERT_HEAD(&reports->kept, job, next);
	reports->kept_bytes += job->report->size;
	while (reports->kept_bytes > KEPT_BYTES_MAX && TAILQ_LAST(&reports->kept, job_list) != job)
		drop_kept(reports, TAILQ_LAST(&reports->kept, job_list));
}

static bool
is_fresh(const struct reports_job *job)
{
	const uint64_t age_ns = monotonic_ns() - job->began_ns;
	const struct file_stamp stamp = read_stamp(job->reports);
	uint64_t fresh_ns = job->took_ns * FRESH_FACTOR;

	if (job->command.source == COMMAND_LIVE)
		return age_ns < LIVE_NS;
	if (job->command.source == COMMAND_MACHINE)
		return age_ns < MACHINE_NS;
	if (memcmp(&stamp, &job->stamp, sizeof(stamp)) == 0)
		return age_ns < (job->report->size == 0     ? LIVE_NS
		                 : job->command.is_relative ? FRESH_MOST_NS
		                                            : UNCHANGED_NS);
	if (job->report->size == 0)
		return false;
	if (stamp.inode == 0 || stamp.inode != job->stamp.inode || stamp.device != job->stamp.device)
		return false; /* gone, replaced or compacted */
	if (fresh_ns < FRESH_LEAST_NS)
		fresh_ns = FRESH_LEAST_NS;
	return age_ns < (fresh_ns < FRESH_MOST_NS ? fresh_ns : FRESH_MOST_NS);
}

static void start_waiting(struct reports *reports);

/* A text from a buffer, which it empties; the caller frees it. */
static char *
take_text(struct evbuffer *buffer, size_t *size)
{
	char *text;

	*size = evbuffer_get_length(buffer);
	text = malloc(*size + 1);
	if (!text)
		return NULL;
	if (*size > 0)
		evbuffer_remove(buffer, text, *size);
	text[*size] = '\0';
	return text;
}

static struct report *
make_report(struct reports_job *job)
{
	size_t size, errors_size;
	char *output, *errors;
	int status = WIFEXITED(job->status) ? WEXITSTATUS(job->status) : -EINTR;

	if (job->killed_for)
		return report_failed(-ECANCELED, job->killed_for);
	output = take_text(job->read[0], &size);
	errors = take_text(job->read[1], &errors_size);
	if (status < 0 && errors && !*errors) {
		free(errors);
		errors = NULL;
		if (asprintf(&errors, "dcpiweb: '%s' was ended by signal %d", job->command.words[0],
		             WTERMSIG(job->status)) < 0)
			errors = NULL;
	}
	return report_new(status, output, size, errors);
}

/* When the tool has ended and its output is read: make the report. */
static void
finish_job(struct reports_job *job)
{
	struct reports *reports = job->reports;

	if (job->pid > 0 || job->pipes[0] >= 0 || job->pipes[1] >= 0)
		return;
	event_del(job->timeout);
	job->took_ns = monotonic_ns() - job->began_ns;
	job->report = make_report(job);
	if (job->report)
		job->report->at_ns = job->at_ns;
	TAILQ_REMOVE(&reports->running, job, next);
	reports->running_count--;
	answer_waits(job, job->report);
	if (job->report && job->report->status >= 0)
		keep_job(job);
	else
		job_free(job);
	start_waiting(reports);
}

/* Dot and other programs that the tool began are of its process group. */
static void
kill_job(struct reports_job *job, const char *sentence)
{
	job->killed_for = sentence;
	if (job->pid > 0)
		kill(-job->pid, SIGKILL);
	for (int i = 0; i < 2; i++)
		stop_reading(job, i);
	finish_job(job);
}

static void
on_timeout(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	kill_job(context, "dcpiweb: the report took longer than a minute and was ended: select less (an image, a "
	                  "command, a shorter time)");
}

static void
on_readable(evutil_socket_t fd, short what, void *context)
{
	struct reports_job *job = context;
	const int which = fd == job->pipes[1];
	const size_t most = which ? ERRORS_MAX : OUTPUT_MAX;
	const int count = evbuffer_read(job->read[which], fd, READ_SIZE);

	(void)what;
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (evbuffer_get_length(job->read[which]) > most) {
		kill_job(job, "dcpiweb: the report is larger than 8 MiB: leave out what matters less (a limit, a "
		              "cutoff), or print it by its command line");
		return;
	}
	if (count > 0)
		return;
	stop_reading(job, which);
	finish_job(job);
}

static void
on_child_ended(evutil_socket_t fd, short what, void *context)
{
	struct reports *reports = context;
	struct reports_job *job, *following;

	(void)fd;
	(void)what;
	for (job = TAILQ_FIRST(&reports->running); job; job = following) {
		following = TAILQ_NEXT(job, next);
		if (job->pid > 0 && waitpid(job->pid, &job->status, WNOHANG) == job->pid) {
			job->pid = 0;
			finish_job(job);
		}
	}
}

/* Run it with standard output and standard error to `outputs`: 0 or -errno. */
static int
spawn_tool(struct reports_job *job, const int outputs[2])
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char path[PATH_MAX];
	sigset_t none, ignored;
	int err;

	if (snprintf(path, sizeof(path), "%s/%s", job->reports->options.tools, job->command.words[0]) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	sigemptyset(&none);
	sigemptyset(&ignored);
	sigaddset(&ignored, SIGPIPE);
	err = posix_spawn_file_actions_init(&actions);
	if (err)
		return -err;
	err = posix_spawnattr_init(&attributes);
	if (err) {
		posix_spawn_file_actions_destroy(&actions);
		return -err;
	}
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &ignored);
	err = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, outputs[0], STDOUT_FILENO);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, outputs[1], STDERR_FILENO);
	if (!err)
		err = posix_spawn(&job->pid, path, &actions, &attributes, job->command.words, environ);
	if (err)
		job->pid = 0;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* 0 or -errno. */
static int
begin_reading(struct reports_job *job, int which)
{
	job->read[which] = evbuffer_new();
	job->readable[which] =
		event_new(job->reports->options.base, job->pipes[which], EV_READ | EV_PERSIST, on_readable, job);
	if (!job->read[which] || !job->readable[which] || event_add(job->readable[which], NULL) < 0)
		return -ENOMEM;
	return 0;
}

/* 0 or -errno; the job has nothing that runs then. */
static int
start_tool(struct reports_job *job)
{
	const struct timeval limit = {.tv_sec = TIME_LIMIT_S};
	const struct rlimit no_core = {0};
	int outputs[2] = {-1, -1}, err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			return -errno; /* what was opened is closed with the job */
		job->pipes[i] = ends[0];
		outputs[i] = ends[1];
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		err = begin_reading(job, i);
	}
	job->timeout = evtimer_new(job->reports->options.base, on_timeout, job);
	if (!job->timeout || evtimer_add(job->timeout, &limit) < 0)
		err = -ENOMEM;
	if (!err)
		err = spawn_tool(job, outputs);
	if (!err)
		prlimit(job->pid, RLIMIT_CORE, &no_core, NULL);
	for (int i = 0; i < 2; i++)
		if (outputs[i] >= 0)
			close(outputs[i]);
	return err;
}

static void
start_job(struct reports_job *job)
{
	struct reports *reports = job->reports;
	char sentence[256];
	struct report *report;
	int err;

	job->stamp = read_stamp(reports);
	job->began_ns = monotonic_ns();
	job->at_ns = clock_ns(CLOCK_REALTIME);
	err = start_tool(job);
	if (!err) {
		TAILQ_INSERT_TAIL(&reports->running, job, next);
		reports->running_count++;
		return;
	}
	snprintf(sentence, sizeof(sentence), "dcpiweb: cannot run '%s' in %.128s: %s", job->command.words[0],
	         reports->options.tools, strerror(-err));
	report = report_failed(err, sentence);
	answer_waits(job, report);
	report_release(report);
	job_free(job);
}

/* Behind those that are needed as much. */
static void
put_waiting(struct job_list *waiting, struct reports_job *job)
{
	struct reports_job *other = TAILQ_FIRST(waiting);

	while (other && other->command.need <= job->command.need)
		other = TAILQ_NEXT(other, next);
	if (other)
		TAILQ_INSERT_BEFORE(other, job, next);
	else
		TAILQ_INSERT_TAIL(waiting, job, next);
}

static void
start_waiting(struct reports *reports)
{
	struct reports_job *job;

	while (reports->running_count < reports->options.at_once && (job = TAILQ_FIRST(&reports->waiting))) {
		TAILQ_REMOVE(&reports->waiting, job, next);
		reports->waiting_count--;
		if (TAILQ_EMPTY(&job->waits))
			job_free(job); /* all who wanted it have left */
		else
			start_job(job);
	}
}

/* ---- the pool ---- */

struct reports *
reports_new(const struct reports_options *options)
{
	struct reports *reports = calloc(1, sizeof(*reports));

	if (!reports)
		return NULL;
	reports->options = *options;
	TAILQ_INIT(&reports->waiting);
	TAILQ_INIT(&reports->running);
	TAILQ_INIT(&reports->kept);
	if (asprintf(&reports->file, "%s/data.mdb", options->database) < 0)
		reports->file = NULL;
	reports->child_ended = evsignal_new(options->base, SIGCHLD, on_child_ended, reports);
	if (reports->file && reports->child_ended && event_add(reports->child_ended, NULL) == 0)
		return reports;
	reports_free(reports);
	errno = ENOMEM;
	return NULL;
}

static void
free_jobs(struct job_list *list)
{
	struct reports_job *job;

	while ((job = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, job, next);
		if (job->pid > 0)
			kill(-job->pid, SIGKILL);
		job_free(job);
	}
}

void
reports_free(struct reports *reports)
{
	if (!reports)
		return;
	free_jobs(&reports->running);
	free_jobs(&reports->waiting);
	free_jobs(&reports->kept);
	if (reports->child_ended)
		event_free(reports->child_ended);
	free(reports->file);
	free(reports);
}

/* The kept report of the command line, if it may be given again. */
static struct report *
find_kept(struct reports *reports, const struct tool_command *command)
{
	struct reports_job *job = find_job(&reports->kept, command);

	if (!job)
		return NULL;
	if (!is_fresh(job)) {
		drop_kept(reports, job);
		return NULL;
	}
	TAILQ_REMOVE(&reports->kept, job, next);
	TAILQ_INSERT_HEAD(&reports->kept, job, next);
	return report_share(job->report);
}

void
reports_ask(struct reports *reports, const struct tool_command *command, struct reports_wait *wait)
{
	struct report *kept = find_kept(reports, command);
	struct reports_job *job;

	wait->job = NULL;
	if (kept) {
		wait->done(wait->context, kept);
		return;
	}
	job = find_job(&reports->running, command);
	if (!job) {
		job = find_job(&reports->waiting, command);
		if (job && command->need < job->command.need) {
			TAILQ_REMOVE(&reports->waiting, job, next);
			job->command.need = command->need;
			put_waiting(&reports->waiting, job);
		}
	}
	if (!job && reports->waiting_count >= WAITING_MAX) {
		wait->done(wait->context, report_failed(-EAGAIN, "dcpiweb: too many reports are being made: try again "
		                                                 "in a moment"));
		return;
	}
	if (job) {
		wait->job = job;
		TAILQ_INSERT_TAIL(&job->waits, wait, next);
		return;
	}
	job = job_new(reports, command);
	if (!job) {
		wait->done(wait->context, NULL);
		return;
	}
	wait->job = job;
	TAILQ_INSERT_TAIL(&job->waits, wait, next);
	put_waiting(&reports->waiting, job);
	reports->waiting_count++;
	start_waiting(reports);
}

void
reports_cancel(struct reports_wait *wait)
{
	if (!wait->job)
		return;
	TAILQ_REMOVE(&wait->job->waits, wait, next);
	wait->job = NULL;
}
