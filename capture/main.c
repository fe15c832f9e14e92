/*
 * dcpi-capture - captures names and text of one image, or its unwind table, for dcpid; a hostile file may kill it
 *
 * Started by dcpid with a request on standard input (protocol.h); not by hand. What it opens, it opens before it locks
 * itself up (jail.h); what it reads of the file, it reads after.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "capture/jail.h"
#include "capture/protocol.h"
#include "capture/source.h"
#include "code/capture.h"
#include "code/unwind_build.h"
#include "image/image_file.h"
#include "image/jit_code.h"
#include "process/jit.h"
#include "process/mapped_file.h"

static_assert(sizeof(struct request_place) == sizeof(struct capture_place), "one is the other");
static_assert(JIT_CAPTURE_BLOCKS_MAX <= REPLY_PARCELS_MAX, "a block is a parcel");

#define PRIORITY       19         /* the lowest */
#define HEAP_BLOCK_MAX (32 << 20) /* the largest M_MMAP_THRESHOLD that glibc accepts */

struct capture_task {
	struct capture_request request;
	struct capture_request_room room;
	struct capture_source source;
};

static int
read_all(int fd, uint8_t **data, size_t *size)
{
	size_t capacity = 0;
	ssize_t got;

	*data = NULL;
	*size = 0;
	do {
		uint8_t *grown = *size < REQUEST_SIZE_MAX ? array_grow(*data, &capacity, *size + 4096, 1) : NULL;

		if (!grown)
			return *size < REQUEST_SIZE_MAX ? -ENOMEM : -E2BIG;
		*data = grown;
		got = read(fd, *data + *size, capacity - *size);
		if (got > 0)
			*size += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0 ? -errno : 0;
}

static int
write_all(int fd, const void *data, size_t size)
{
	const uint8_t *at = data;

	while (size > 0) {
		ssize_t put = write(fd, at, size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		size -= (size_t)put;
	}
	return 0;
}

static int
send_message(enum capture_message kind, const void *first, size_t first_size, const void *data, size_t size)
{
	uint8_t head[MESSAGE_HEAD_SIZE];
	int err;

	capture_message_head(kind, first_size + size, head);
	err = write_all(STDOUT_FILENO, head, sizeof(head));
	if (!err)
		err = write_all(STDOUT_FILENO, first, first_size);
	return err ? err : write_all(STDOUT_FILENO, data, size);
}

static int
send_part(void *context, enum capture_part part, uint32_t block, const void *data, size_t size)
{
	const uint8_t first[4] = {(uint8_t)(block >> 24), (uint8_t)(block >> 16), (uint8_t)(block >> 8),
	                          (uint8_t)block};

	(void)context;
	switch (part) {
	case CAPTURE_SYMBOLS:
		return send_message(MESSAGE_SYMBOLS, NULL, 0, data, size);
	case CAPTURE_LAYOUT:
		return send_message(MESSAGE_LAYOUT, NULL, 0, data, size);
	case CAPTURE_PARCEL:
		return send_message(MESSAGE_PARCEL, first, sizeof(first), data, size);
	}
	return -EINVAL;
}

static int
send_end(int err)
{
	struct byte_writer value = BYTE_WRITER_INIT;

	write_varint(&value, (uint64_t)-err);
	err = value.failed ? -ENOMEM : send_message(MESSAGE_END, NULL, 0, value.data, value.size);
	writer_fini(&value);
	return err;
}

static int
send_lack(const struct capture_lack *lack)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err;

	capture_lack_encode(lack, &value);
	err = value.failed ? -ENOMEM : send_message(MESSAGE_LACK, NULL, 0, value.data, value.size);
	writer_fini(&value);
	return err;
}

/* dcpid hands over an O_PATH descriptor: when the file system does not answer, only this process waits for it. */
static int
open_run_time_file(void)
{
	const int fd = mapped_file_reopen(RUN_TIME_FILE);
	int err = 0;

	if (fd < 0)
		return fd;
	if (dup2(fd, RUN_TIME_FILE) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* All that needs rights. */
static int
open_files(struct capture_task *task)
{
	const struct image *image = &task->request.image;
	int procfs, err;

	task->source.main = task->source.debug = -1;
	if (jit_is_image(image))
		return open_run_time_file();
	if (image->kind != IMAGE_USER)
		return 0; /* the vdso is in our own memory */
	procfs = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (procfs < 0)
		return -errno;
	err = capture_source_open(procfs, &task->request, &task->source);
	close(procfs);
	/* now: once the file has been read, it may have taken this process over */
	return err ? err : send_message(MESSAGE_OWNER, &task->source.is_roots, 1, NULL, 0);
}

/* ---- code that a process made at run time: what it wrote about it into the file RUN_TIME_FILE ---- */

static int
put_symbols(const struct jit_capture *captured)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err = captured_symbols_encode(captured->symbols, captured->symbol_count, &value);

	if (!err)
		err = send_message(MESSAGE_SYMBOLS, NULL, 0, value.data, value.size);
	writer_fini(&value);
	return err;
}

static int
put_layout(const struct jit_capture *captured)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err = captured_layout_encode(&captured->layout, &value);

	if (!err)
		err = send_message(MESSAGE_LAYOUT, NULL, 0, value.data, value.size);
	writer_fini(&value);
	return err;
}

/* Each block is a parcel by itself, so that another function that comes to lie in it replaces it alone. */
static int
put_block(const struct captured_block *block)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err = captured_parcel_encode(block, 1, &value);

	if (!err)
		err = send_part(NULL, CAPTURE_PARCEL, block->number, value.data, value.size);
	writer_fini(&value);
	return err;
}

static int
put_run_time(const struct jit_capture *captured)
{
	int err = put_symbols(captured);

	if (!err && captured->block_count)
		err = put_layout(captured);
	for (size_t i = 0; !err && i < captured->block_count; i++)
		err = put_block(&captured->blocks[i]);
	return !err && captured->is_reused ? CAPTURE_REUSED : err;
}

/*
 * As capture_take(); makes no calls but read(2), pread(2), lseek(2) and write(2). The request's `start` is the address
 * of offset 0, its `end` the position in the file up to which it was read before. CAPTURE_REUSED when all was taken.
 */
static int
take_run_time(const struct capture_request *request)
{
	static struct jit_capture captured; /* it points into itself */
	uint32_t *blocks = calloc(request->place_count ? request->place_count : 1, sizeof(*blocks));
	struct jit_capture_request wish = {
		.base = request->start, .blocks = blocks, .block_count = request->place_count, .seen = request->end};
	struct capture_lack lack = {0};
	int unsent = 0, err;

	if (!blocks)
		return -ENOMEM;
	for (size_t i = 0; i < request->place_count; i++)
		blocks[i] = request->places[i].block;
	err = jit_capture_make(RUN_TIME_FILE, &wish, &captured);
	if (!err) {
		lack.is_cut = jit_code_is_cut(captured.code);
		lack.misunderstood = jit_code_malformed(captured.code);
		err = put_run_time(&captured);
		jit_capture_fini(&captured);
	}
	free(blocks);
	if (lack.is_cut || lack.misunderstood)
		unsent = send_lack(&lack);
	return unsent ? unsent : err;
}

static int
take_unwind(struct image_file *file)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	const struct elf_file *elf = image_file_elf(file);
	uint8_t *bytes;
	size_t size;
	int err = elf ? unwind_build(elf, image_file_debug(file), &bytes, &size) : -ENOENT;

	if (err)
		return err;
	err = captured_unwind_encode(bytes, size, &value);
	free(bytes);
	if (!err)
		err = send_message(MESSAGE_UNWIND, NULL, 0, value.data, value.size);
	writer_fini(&value);
	return err;
}

static int
take(struct capture_task *task)
{
	const struct capture_request *request = &task->request;
	const struct capture_wish wish = {
		.places = (const struct capture_place *)request->places,
		.place_count = request->place_count,
		.known = request->known,
		.known_count = request->known_count,
		.names = request->names,
	};
	struct image_file *file;
	int err;

	if (jit_is_image(&request->image))
		return take_run_time(request);
	if (request->image.kind == IMAGE_VDSO)
		err = image_file_open(&request->image, &file);
	else
		err = image_file_open_descriptors(&request->image, task->source.main, task->source.debug, &file);
	if (err)
		return err;
	err = request->unwind ? take_unwind(file) : capture_take(file, &wish, send_part, NULL);
	image_file_close(file);
	return err;
}

static int
work(struct capture_task *task)
{
	uint8_t *data;
	size_t size;
	int err;

	err = read_all(STDIN_FILENO, &data, &size);
	if (!err)
		err = capture_request_decode(data, size, &task->request, &task->room);
	free(data);
	/* nobody waits for names and text; for its unwind table, all stacks of the image do */
	if (!err && !task->request.unwind)
		(void)setpriority(PRIO_PROCESS, 0, PRIORITY);
	if (!err)
		err = open_files(task);
	if (!err)
		err = jail_enter();
	return err ? err : take(task);
}

int
main(int argc, char **argv)
{
	static struct capture_task task;
	int err;

	/* Memory that was freed is used again, not mapped anew: a fault costs 1 to 3 us, and a process lives 10 ms. */
	(void)mallopt(M_MMAP_THRESHOLD, HEAP_BLOCK_MAX);
	(void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
	(void)argv;
	if (argc > 1 || isatty(STDIN_FILENO)) {
		fprintf(stderr, CAPTURE_PROGRAM ": is started by dcpid; see dcpid(8)\n");
		return STATUS_USAGE;
	}
	err = jail_prepare();
	if (!err)
		err = work(&task);
	err = send_end(err);
	capture_request_fini(&task.room);
	_exit(err ? STATUS_FAILURE : STATUS_OK); /* exit(3) would make calls that the jail forbids */
}
