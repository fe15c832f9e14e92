/* kernel_work.c - kernel_work SECONDS: its time goes to the kernel: page faults, a pipe, small reads, directory walks
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FAULT_BYTES (16U << 20)

static int
touch_new_pages(void)
{
	char *memory = mmap(NULL, FAULT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -1;
	for (size_t at = 0; at < FAULT_BYTES; at += 4096)
		memory[at] = 1;
	return munmap(memory, FAULT_BYTES);
}

static int
copy_through(int zero, int pipe_read, int pipe_write)
{
	char buffer[4096];

	for (int i = 0; i < 2000; i++) {
		if (read(zero, buffer, sizeof(buffer)) != sizeof(buffer) ||
		    write(pipe_write, buffer, sizeof(buffer)) != sizeof(buffer) ||
		    read(pipe_read, buffer, sizeof(buffer)) != sizeof(buffer))
			return -1;
	}
	return 0;
}

static int
list_processes(void)
{
	DIR *directory = opendir("/proc");

	if (!directory)
		return -1;
	while (readdir(directory))
		;
	return closedir(directory);
}

int
main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? strtol(argv[1], NULL, 10) : 1);
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int ends[2];

	if (zero < 0 || pipe2(ends, O_CLOEXEC)) {
		perror("kernel_work");
		return 1;
	}
	while (time(NULL) < end) {
		if (touch_new_pages() || copy_through(zero, ends[0], ends[1]) || list_processes()) {
			perror("kernel_work");
			return 1;
		}
	}
	return 0;
}
