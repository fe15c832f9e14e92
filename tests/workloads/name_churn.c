/*
 * name_churn.c - name_churn: a new command name and new code in memory, each seen once, all the time until it is killed
 *
 * Both meet a page fault where they are new: a profiler that samples each fault has to know them all.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

/* "ret", or what is one elsewhere */
#if defined(__aarch64__)
static const unsigned char code[] = {0xc0, 0x03, 0x5f, 0xd6};
#else
static const unsigned char code[] = {0xc3};
#endif

static int
run_new_code(unsigned long number)
{
	char name[200];
	void *memory;
	void (*run)(void);
	int fd;

	snprintf(name, sizeof(name), "churn-%0180lu", number);
	fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0 || write(fd, code, sizeof(code)) != sizeof(code))
		return -1;
	memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		return -1;
	memcpy(&run, &memory, sizeof(run));
	run();
	return munmap(memory, PAGE);
}

static int
have_new_name(unsigned long number, void *page)
{
	char name[16];

	snprintf(name, sizeof(name), "c%lu", number);
	prctl(PR_SET_NAME, name);
	if (madvise(page, PAGE, MADV_DONTNEED))
		return -1;
	*(volatile char *)page = 1;
	return 0;
}

int
main(void)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return 1;
	for (unsigned long number = 0;; number++) {
		if (run_new_code(number) || have_new_name(number, page)) {
			perror("name_churn");
			return 1;
		}
		if (number % 32 == 31)
			nanosleep(&pause, NULL); /* for the machine's sake, and no buffer that overflows */
	}
}
