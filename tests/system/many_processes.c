/*
 * many_processes COUNT - that many children, which sleep until they are ended with their parent
 *
 * Each has as many executable mappings as a service with its libraries: those of this program and of the C library, and
 * 24 pages of this program more. "ready" is written when all of them are there.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MAPPINGS 24

/* Apart from each other, so that they stay so many. */
static void
map_pages(void)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (int i = 0; fd >= 0 && i < MAPPINGS; i++) {
		char *room = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (room != MAP_FAILED)
			room = mmap(room, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
		if (room == MAP_FAILED)
			break;
	}
	close(fd);
}

int
main(int argc, char **argv)
{
	const int count = argc == 2 ? atoi(argv[1]) : 0;
	const pid_t parent = getpid();

	map_pages();
	for (int i = 0; i < count; i++) {
		const pid_t child = fork();

		if (child < 0) {
			perror("fork");
			return 1; /* the others end with us */
		}
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			while (getppid() == parent)
				pause();
			return 0;
		}
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
