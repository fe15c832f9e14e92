/*
 * unwind_replay.c - unwinds the moments that unwind_moments.py recorded, and compares the frames with gdb's
 *
 * unwind_replay [-v] [-r TIMES] MOMENTS...: for each file a line of totals ("moments 100 equal 98 cut 2 different 0
 * ...") after one for each moment that differs. `cut` are moments whose frames are gdb's as far as the copy of the
 * stack reaches. With -r, each is unwound so many times, and the line has the time of a frame. unwind_replay -t
 * FILE...: makes the table of each ELF file, and prints what it has and how long that takes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "code/unwind_build.h"
#include "image/elf_file.h"
#include "image/image_file.h"
#include "unwind/unwind.h"

#define FRAMES_MAX 100000
#define MAPS_MAX   1000

struct replayed_image {
	char *path;
	struct unwind_table *table;
};

struct replayed_map {
	uint64_t start, end, offset;
	const struct replayed_image *image; /* NULL: no file */
};

struct gdb_frame {
	uint64_t pc;
	int type; /* of gdb: 0 normal, 4 signal trampoline */
};

struct unwind_replay {
	struct replayed_image *images[MAPS_MAX];
	size_t image_count;
	struct replayed_map maps[MAPS_MAX];
	size_t map_count;
	struct unwind_registers registers;
	struct gdb_frame *expected;
	size_t expected_count, expected_capacity;
	struct unwind_stack stack;
	char stop[256]; /* gdb's reason */
	struct unwind_frame frames[FRAMES_MAX];
	size_t moments, equal, cut, different, frame_count, signals;
	size_t ends[UNWIND_ENDS];
	double seconds;
	uint64_t timed;
	enum unwind_machine machine;
	bool is_verbose;
	unsigned times;
};

static double
now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void
fail(const char *what, int err)
{
	fprintf(stderr, "unwind_replay: %s: %s\n", what, error_text(err));
	exit(1);
}

/* -ENOENT: there are no rules. */
static int
make_table(const char *path, struct unwind_table **table, size_t *size)
{
	struct elf_file file;
	uint8_t *bytes = NULL;
	int err = strcmp(path, "[vdso]") == 0 ? image_file_open_vdso(&file) : elf_file_open(&file, path);

	*table = NULL;
	if (err)
		return err;
	err = unwind_build(&file, NULL, &bytes, size);
	elf_file_close(&file);
	if (!err)
		err = unwind_table_load(bytes, *size, table);
	free(bytes);
	return err;
}

static const struct replayed_image *
image_of_path(struct unwind_replay *replay, const char *path)
{
	struct replayed_image *image;
	size_t size;
	int err;

	for (size_t i = 0; i < replay->image_count; i++)
		if (strcmp(replay->images[i]->path, path) == 0)
			return replay->images[i];
	image = calloc(1, sizeof(*image));
	if (!image || replay->image_count == MAPS_MAX)
		fail(path, -ENOMEM);
	image->path = strdup(path);
	err = make_table(path, &image->table, &size);
	if (err)
		fprintf(stderr, "unwind_replay: %s: %s\n", path, error_text(err));
	replay->images[replay->image_count++] = image;
	return image;
}

static enum unwind_code
find(void *context, uint64_t pc, const struct unwind_table **table, uint64_t *offset)
{
	const struct unwind_replay *replay = context;

	for (size_t i = 0; i < replay->map_count; i++) {
		const struct replayed_map *map = &replay->maps[i];

		if (pc < map->start || pc >= map->end)
			continue;
		if (!map->image)
			return UNWIND_CODE_FRAME_POINTER;
		*table = map->image->table;
		*offset = map->offset + (pc - map->start);
		return *table ? UNWIND_CODE_TABLE : UNWIND_CODE_WITHOUT_TABLE;
	}
	return UNWIND_CODE_NONE;
}

static const struct replayed_map *
map_at(const struct unwind_replay *replay, uint64_t pc)
{
	for (size_t i = 0; i < replay->map_count; i++)
		if (pc >= replay->maps[i].start && pc < replay->maps[i].end)
			return &replay->maps[i];
	return NULL;
}

static void
print_pc(const struct unwind_replay *replay, uint64_t pc)
{
	const struct replayed_map *map = map_at(replay, pc);

	if (map && map->image)
		printf(" %s+%#" PRIx64,
		       strrchr(map->image->path, '/') ? strrchr(map->image->path, '/') + 1 : map->image->path,
		       pc - map->start + map->offset);
	else
		printf(" %#" PRIx64, pc);
}

static void
print_moment(const struct unwind_replay *replay, const char *path, size_t count, enum unwind_end end)
{
	size_t from = 0;

	while (from < count && from < replay->expected_count && replay->frames[from].pc == replay->expected[from].pc)
		from++;
	printf("%s moment %zu: %zu frames, %s; gdb %zu, %s; from frame %zu on:\n", path, replay->moments, count,
	       unwind_end_name(end), replay->expected_count, replay->stop, from);
	from -= from > 0;
	for (size_t i = from; i < from + 4; i++) {
		printf("  %zu:", i);
		if (i < count)
			print_pc(replay, replay->frames[i].pc);
		printf(" | gdb:");
		if (i < replay->expected_count)
			print_pc(replay, replay->expected[i].pc);
		printf("\n");
	}
}

static void
unwind_moment(struct unwind_replay *replay, const char *path)
{
	const struct unwind_process process = {.machine = replay->machine, .find = find, .context = replay};
	enum unwind_end end = UNWIND_BAD_FRAME;
	bool is_prefix = true;
	size_t count = 0;
	double start = now(CLOCK_PROCESS_CPUTIME_ID);

	for (unsigned i = 0; i < replay->times; i++)
		end = unwind_stack(&process, &replay->registers, &replay->stack, replay->frames, FRAMES_MAX, &count);
	replay->seconds += now(CLOCK_PROCESS_CPUTIME_ID) - start;
	replay->timed += count * replay->times;
	for (size_t i = 0; i < count && is_prefix; i++) {
		const bool is_exact = i == 0 || replay->expected[i - 1].type == 4;

		is_prefix = i < replay->expected_count && replay->frames[i].pc == replay->expected[i].pc &&
		            replay->frames[i].is_exact == is_exact;
		replay->signals += is_prefix && replay->expected[i].type == 4;
	}
	replay->moments++;
	replay->frame_count += count;
	replay->ends[end]++;
	if (is_prefix && count == replay->expected_count)
		replay->equal++;
	else if (is_prefix && end == UNWIND_BEYOND_COPY)
		replay->cut++;
	else
		replay->different++;
	if (replay->is_verbose || !is_prefix || (count != replay->expected_count && end != UNWIND_BEYOND_COPY))
		print_moment(replay, path, count, end);
}

static void
begin_moment(struct unwind_replay *replay)
{
	replay->map_count = replay->expected_count = 0;
	replay->registers.known = 0;
	free((void *)replay->stack.bytes);
	replay->stack.bytes = NULL;
}

static void
read_stack_copy(struct unwind_replay *replay, FILE *file, uint64_t address, size_t size)
{
	uint8_t *bytes = malloc(size + 1);

	replay->stack = (struct unwind_stack){.address = address, .size = size};
	replay->stack.bytes = bytes;
	if (!bytes || fread(bytes, 1, size, file) != size)
		fail("stack", -EIO);
}

static void
add_map(struct unwind_replay *replay, const char *line)
{
	struct replayed_map *map = &replay->maps[replay->map_count];
	int at = 0;

	if (replay->map_count == MAPS_MAX ||
	    sscanf(line, "map %" SCNx64 " %" SCNx64 " %" SCNx64 " %n", &map->start, &map->end, &map->offset, &at) != 3)
		fail(line, -EINVAL);
	map->image = line[at] ? image_of_path(replay, line + at) : NULL;
	replay->map_count++;
}

static void
read_line(struct unwind_replay *replay, FILE *file, const char *path, char *line)
{
	struct gdb_frame frame;
	uint64_t value;
	size_t size;
	unsigned number;

	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "machine ", 8) == 0) {
		replay->machine = strcmp(line + 8, "aarch64") == 0 ? UNWIND_AARCH64 : UNWIND_X86_64;
	} else if (strcmp(line, "moment") == 0) {
		begin_moment(replay);
	} else if (strncmp(line, "map ", 4) == 0) {
		add_map(replay, line);
	} else if (sscanf(line, "register %u %" SCNx64, &number, &value) == 2 && number < UNWIND_REGISTERS) {
		replay->registers.values[number] = value;
		replay->registers.known |= UINT64_C(1) << number;
	} else if (sscanf(line, "frame %" SCNx64 " %d", &frame.pc, &frame.type) == 2) {
		struct gdb_frame *added =
			ARRAY_APPEND(replay->expected, replay->expected_count, replay->expected_capacity);

		if (!added)
			fail(path, -ENOMEM);
		*added = frame;
	} else if (strncmp(line, "stop ", 5) == 0) {
		snprintf(replay->stop, sizeof(replay->stop), "%s", line + 5);
	} else if (sscanf(line, "stack %" SCNx64 " %zu", &value, &size) == 2) {
		read_stack_copy(replay, file, value, size);
		unwind_moment(replay, path);
	} else if (line[0]) {
		fail(line, -EINVAL);
	}
}

static void
replay_file(struct unwind_replay *replay, const char *path)
{
	FILE *file = fopen(path, "r");
	size_t capacity = 0;
	char *line = NULL;

	if (!file)
		fail(path, -errno);
	replay->moments = replay->equal = replay->cut = replay->different = replay->frame_count = replay->signals = 0;
	replay->seconds = 0;
	replay->timed = 0;
	memset(replay->ends, 0, sizeof(replay->ends));
	while (getline(&line, &capacity, file) > 0)
		read_line(replay, file, path, line);
	printf("%s moments %zu equal %zu cut %zu different %zu frames %zu signals %zu", path, replay->moments,
	       replay->equal, replay->cut, replay->different, replay->frame_count, replay->signals);
	for (int i = 0; i < UNWIND_ENDS; i++)
		if (replay->ends[i])
			printf(" %s: %zu", unwind_end_name((enum unwind_end)i), replay->ends[i]);
	if (replay->times > 1)
		printf(" ns-a-frame %.1f", replay->seconds * 1e9 / (double)(replay->timed ? replay->timed : 1));
	printf("\n");
	free(line);
	fclose(file);
}

static int
print_table(const char *path)
{
	struct unwind_table *table;
	const double start = now(CLOCK_PROCESS_CPUTIME_ID);
	struct elf_file file;
	double built, loaded;
	uint8_t *bytes = NULL;
	size_t size;
	int err = strcmp(path, "[vdso]") == 0 ? image_file_open_vdso(&file) : elf_file_open(&file, path);

	if (!err) {
		err = unwind_build(&file, NULL, &bytes, &size);
		elf_file_close(&file);
	}
	built = now(CLOCK_PROCESS_CPUTIME_ID);
	if (!err)
		err = unwind_table_load(bytes, size, &table);
	if (err) {
		printf("%s: %s\n", path, error_text(err));
		free(bytes);
		return 1;
	}
	loaded = now(CLOCK_PROCESS_CPUTIME_ID);
	printf("%s: rows %" PRIu32 ", rules %" PRIu32 ", register rules %" PRIu32 ", expressions %" PRIu32
	       ", bytes %zu, memory %zu (%.2f a row), built in %.1f ms, loaded in %.2f ms\n",
	       path, table->row_count, table->rules_count, table->register_rule_count, table->expression_count, size,
	       table->memory, (double)table->memory / (table->row_count ? table->row_count : 1), (built - start) * 1e3,
	       (loaded - built) * 1e3);
	unwind_table_free(table);
	free(bytes);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct unwind_replay replay = {.times = 1, .machine = UNWIND_X86_64};
	bool is_tables = false;
	int option, status = 0;

	while ((option = getopt(argc, argv, "tvr:")) != -1) {
		if (option == 't')
			is_tables = true;
		else if (option == 'v')
			replay.is_verbose = true;
		else if (option == 'r')
			replay.times = (unsigned)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	for (int i = optind; i < argc; i++) {
		if (is_tables)
			status |= print_table(argv[i]);
		else
			replay_file(&replay, argv[i]);
	}
	return status;
}
