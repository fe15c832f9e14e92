/*
 * ready_time COMMAND... - how many milliseconds pass from the start of a service until it says that it is ready
 *
 * The service is told of a socket as by systemd (NOTIFY_SOCKET). The time is written when "READY=1" comes, or "never"
 * after 60 s. SIGTERM is passed on, and the status is the service's.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 60000

static volatile sig_atomic_t service;

static void
pass_on(int number)
{
	if (service > 0)
		kill((pid_t)service, number);
}

static double
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int
is_ready(int socket)
{
	char text[4096];
	ssize_t got = recv(socket, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[got > 0 ? got : 0] = '\0';
	return strstr(text, "READY=1") != NULL;
}

int
main(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char directory[] = "/tmp/ready_time.XXXXXX";
	struct pollfd fd = {.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), .events = POLLIN};
	struct sigaction action = {.sa_handler = pass_on};
	double began_ms;
	int status, ready = 0;

	if (argc < 2 || fd.fd < 0 || !mkdtemp(directory))
		return 2;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
	if (bind(fd.fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		return 2;
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	sigaction(SIGTERM, &action, NULL);
	began_ms = now_ms();
	service = fork();
	if (service == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	while (!ready && now_ms() < began_ms + PATIENCE_MS)
		ready = poll(&fd, 1, 100) > 0 && is_ready(fd.fd);
	if (ready)
		printf("%.0f\n", now_ms() - began_ms);
	else
		puts("never");
	fflush(stdout);
	unlink(address.sun_path);
	rmdir(directory);
	while (waitpid((pid_t)service, &status, 0) < 0)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
