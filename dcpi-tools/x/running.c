#include "dcpi-tools/x/running.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define THREADS_MAX 65536
#define TRACER      "TracerPid:"

/* A file of the thread in /proc. False when there is nothing in it. */
static bool
read_file(pid_t pid, pid_t tid, const char *file, char *text, size_t text_size)
{
	char name[64];
	ssize_t size;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, text, text_size - 1);
	close(fd);
	text[size > 0 ? (size_t)size : 0] = '\0';
	return size > 0;
}

pid_t
running_tracer(pid_t pid, pid_t tid)
{
	char text[4096];
	const char *line = read_file(pid, tid, "status", text, sizeof(text)) ? strstr(text, "\n" TRACER) : NULL;

	return line ? (pid_t)strtol(line + 1 + strlen(TRACER), NULL, 10) : 0;
}

char
running_state(pid_t pid, pid_t tid)
{
	char text[512];
	const char *end = read_file(pid, tid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;

	if (!end || end[1] != ' ')
		return '?';
	return end[2];
}

/* How many threads there are, or -errno. */
static ssize_t
list_threads(struct running *running, pid_t pid)
{
	const struct dirent *entry;
	char name[64];
	size_t count = 0;
	DIR *tasks;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	tasks = opendir(name);
	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((entry = readdir(tasks)) && count < THREADS_MAX) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		pid_t *grown;

		if (tid <= 0)
			continue;
		grown = array_grow(running->threads, &running->capacity, count + 1, sizeof(*grown));
		if (!grown)
			break;
		running->threads = grown;
		grown[count++] = tid;
	}
	closedir(tasks);
	return (ssize_t)count;
}

/* Threads are tried in a random order until one runs: each that runs is equally likely. */
pid_t
running_choose(struct running *running, pid_t pid, uint64_t (*draw)(void *context), void *context)
{
	const ssize_t count = list_threads(running, pid);
	size_t dead = 0;

	for (size_t left = count > 0 ? (size_t)count : 0; left > 0; left--) {
		const size_t chosen = draw(context) % left;
		const pid_t tid = running->threads[chosen];
		const char state = running_state(pid, tid);

		if (state == 'R')
			return tid;
		dead += state == 'Z' || state == 'X' || state == '?';
		running->threads[chosen] = running->threads[left - 1];
	}
	if (count < 0)
		return (pid_t)count;
	return dead == (size_t)count ? -ESRCH : 0;
}

void
running_fini(struct running *running)
{
	free(running->threads);
	running->threads = NULL;
}
