#include "emulator/process_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_TRIES 1000

/* A new file for this process, which may execute several programs, one after the other. A descriptor, or -errno. */
static int
create_file(struct process_file *file)
{
	int fd = -1;

	for (int i = 0; i < NAME_TRIES && fd < 0; i++) {
		snprintf(file->name, sizeof(file->name), "%s/%s%d.%d", file->directory, file->kind->prefix,
		         (int)getpid(), i);
		fd = open(file->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	return fd < 0 ? -EEXIST : fd;
}

/* Never make it smaller: parts behind may be mapped already. */
static int
grow(int fd, uint64_t size)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	return (uint64_t)status.st_size >= size || ftruncate(fd, (off_t)size) == 0 ? 0 : -errno;
}

/* Map at `*mapped`, or anywhere if that is NULL; private memory if there is no file (-1). 0 or -errno. */
static int
map_part(int fd, void **mapped, size_t size, uint64_t offset)
{
	const int flags =
		MAP_NORESERVE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | (*mapped ? MAP_FIXED : 0);
	void *memory;
	int err = fd < 0 ? 0 : grow(fd, offset + size);

	if (err)
		return err;
	memory = mmap(*mapped, size, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);
	if (memory == MAP_FAILED)
		return -errno;
	madvise(memory, size, MADV_RANDOM); /* read ahead of each page, most of which is a hole, would cost most */
	*mapped = memory;
	return 0;
}

static int
map_beginning(struct process_file *file, int fd)
{
	void *header = file->header, *log = file->log.bytes;
	int err = map_part(fd, &header, PROCESS_FILE_HEADER_SIZE, 0);

	if (!err)
		err = map_part(fd, &log, CODE_LOG_SIZE, PROCESS_FILE_HEADER_SIZE);
	if (err)
		return err;
	file->header = header;
	file->log.bytes = log;
	return 0;
}

static int
map_vcpu(struct process_file *file, int fd, unsigned vcpu)
{
	return map_part(fd, &file->vcpus[vcpu], file->kind->vcpu_size,
	                PROCESS_FILE_HEADER_SIZE + CODE_LOG_SIZE + vcpu * (uint64_t)file->kind->vcpu_size);
}

/* The magic comes last: readers look at no header without it. */
static void
describe(struct process_file *file, const char *comm, int32_t parent, uint64_t start_cycles)
{
	struct record_header *header = file->header;

	snprintf(header->comm, sizeof(header->comm), "%s", comm);
	header->pid = getpid();
	header->parent = parent;
	header->vcpu_count = file->vcpu_count;
	header->start_cycles = start_cycles;
	header->log_size = file->log.size;
	header->magic = file->kind->magic;
}

int
process_file_init(struct process_file *file, const char *directory, const struct process_file_kind *kind,
                  const char *comm, uint64_t start_cycles)
{
	int fd, err;

	*file = (struct process_file){.kind = kind};
	snprintf(file->directory, sizeof(file->directory), "%s", directory);
	code_log_init(&file->log, NULL, kind->instructions_max);
	fd = create_file(file);
	if (fd < 0)
		return fd;
	err = map_beginning(file, fd);
	close(fd);
	if (!err)
		describe(file, comm, 0, start_cycles);
	return err;
}

void
process_file_fini(struct process_file *file)
{
	for (unsigned i = 0; i < file->vcpu_count; i++)
		if (file->vcpus[i])
			munmap(file->vcpus[i], file->kind->vcpu_size);
	munmap(file->log.bytes, CODE_LOG_SIZE);
	munmap(file->header, PROCESS_FILE_HEADER_SIZE);
	code_log_fini(&file->log);
}

int
process_file_add_vcpu(struct process_file *file, unsigned vcpu)
{
	int fd, err;

	if (vcpu >= PROCESS_FILE_VCPUS_MAX)
		return -ENOSPC;
	/* again: a descriptor that stayed open would be one of the guest's */
	fd = open(file->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = map_vcpu(file, fd, vcpu);
	close(fd);
	if (!err && file->vcpu_count <= vcpu)
		file->header->vcpu_count = file->vcpu_count = vcpu + 1;
	return err;
}

static void
leave_part(void *mapped, size_t size)
{
	if (mapped && map_part(-1, &mapped, size, 0))
		abort(); /* rather than write into the parent's file */
}

/* Replace all mappings by private memory: what is written is lost. */
static void
leave(struct process_file *file)
{
	for (unsigned i = 0; i < file->vcpu_count; i++)
		leave_part(file->vcpus[i], file->kind->vcpu_size);
	leave_part(file->log.bytes, CODE_LOG_SIZE);
	leave_part(file->header, PROCESS_FILE_HEADER_SIZE);
}

/* The mappings are shared with the parent, which still writes to them: the child must not, even on failure. */
int
process_file_fork(struct process_file *file, uint64_t start_cycles)
{
	const int32_t parent = file->header->pid;
	const int fd = create_file(file);
	int err = fd < 0 ? fd : code_log_copy(&file->log, fd, PROCESS_FILE_HEADER_SIZE);
	bool is_begun;
	char comm[COMM_SIZE];

	memcpy(comm, file->header->comm, sizeof(comm));
	if (!err)
		err = map_beginning(file, fd);
	is_begun = !err;
	for (unsigned i = 0; i < file->vcpu_count && !err; i++)
		if (file->vcpus[i])
			err = map_vcpu(file, fd, i);
	if (fd >= 0)
		close(fd);
	if (is_begun) /* also without its virtual CPUs: a process that was there, of which nothing is known */
		describe(file, comm, parent, start_cycles);
	if (err)
		leave(file);
	return err;
}

/*
 * Whether a file was given. Other users may make files in the directory of root's runs, also a second name of a file of
 * root's elsewhere: that one must not become theirs.
 */
static bool
give_file(int directory, const char *name, uid_t user)
{
	const int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	bool is_given;

	if (fd < 0)
		return false;
	is_given = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	           status.st_nlink == 1 && fchown(fd, user, (gid_t)-1) == 0;
	close(fd);
	return is_given;
}

void
process_file_give(const struct process_file *file, uid_t user)
{
	const struct dirent *entry;
	char mark[32];
	DIR *files;

	if (geteuid() != 0 || user == 0)
		return;
	files = opendir(file->directory);
	snprintf(mark, sizeof(mark), ".%d.", (int)getpid());
	while (files && (entry = readdir(files)))
		if (strstr(entry->d_name, mark))
			(void)give_file(dirfd(files), entry->d_name, user); /* if not, its next thread says so */
	if (files)
		closedir(files);
}

int
process_file_add_image(void *file, const struct record_mmap *image)
{
	struct process_file *to = file;

	return code_log_add_image(&to->log, &to->header->log_size, image);
}

uint32_t
process_file_add_block(struct process_file *file, const struct code_block *block, const uint8_t *sizes, uint32_t *first)
{
	return code_log_add_block(&file->log, &file->header->log_size, block, sizes, first);
}

void
process_file_not_followed(void *file)
{
	__atomic_fetch_add(&((struct process_file *)file)->header->unfollowed, 1, __ATOMIC_RELAXED);
}

void
process_file_count_unrecorded(struct process_file *file)
{
	__atomic_fetch_add(&file->header->unrecorded, 1, __ATOMIC_RELAXED);
}
