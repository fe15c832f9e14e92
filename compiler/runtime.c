/*
 * runtime.c - what programs that were compiled with pass.cc link: it writes their record (locality/record.h)
 *
 * Nothing here waits, takes a lock, or allocates: it runs in any thread, and in handlers of signals. What interrupts it
 * in its own thread is not recorded.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/mapped_room.h"
#include "compiler/calls.h"
#include "locality/record.h"

#define PUBLIC       __attribute__((visibility("default")))
#define FIRST_BURST  ((ssize_t)4 << 20) /* references: short programs are recorded whole */
#define BURST        ((ssize_t)512 << 10)
#define FIRST_WORDS  (512u << 10) /* of events: a burst ends also when it has so many */
#define BURST_WORDS  (256u << 10)
#define PAUSE        ((ssize_t)96 << 20) /* references between bursts */
#define PAUSE_BURSTS 2                   /* after so many, pauses are twice as long: the file is enough for months */
#define PAUSES_MAX   24
#define PAGE         4096u
#define NEVER        (SSIZE_MAX / 2)
#define TEXTS_KNOWN  16384u /* loops that are looked up without searching; a power of two */
#define NUMBERS_MAX  1000
#define NAMES_BYTES  8192 /* of a directory, at a time */
#define GATHER_WORDS 64u  /* of a gather at least, if it has so many indices */
#define FILE_SIZE                                                                                                      \
	(sizeof(struct locality_header) + LOCALITY_TEXT_BYTES + (size_t)LOCALITY_CHUNKS * LOCALITY_CHUNK_BYTES)
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define NO_TEXT     UINT32_MAX

PUBLIC _Thread_local ssize_t dcpi_locality_left __attribute__((tls_model("initial-exec")));

/* What a thread records. */
static _Thread_local struct {
	struct locality_chunk *chunk;
	uint32_t generation; /* of the file that has the chunk */
	ssize_t began;       /* the countdown when the burst began, */
	ssize_t paused;      /* from where it counted down before that */
	uint32_t words;      /* of the burst's events */
	uint32_t bursts;     /* that have begun */
	const char *text;    /* that was last looked up; NULL: none yet */
	uint32_t place, text_generation;
	bool is_inside;    /* it is here: a handler that interrupts it records nothing */
	bool is_recording; /* in a burst */
} self __attribute__((tls_model("initial-exec")));

static struct locality_header *file; /* NULL: there is none */
static char file_path[1100];
static bool reserves_by_file; /* mapped_room.h */
static uint32_t generation = 1, is_opening, is_off;
static uint32_t first_pid; /* of the run: record.h. 0: not known yet */
static uint64_t first_ns;

/* Texts that are in the file: the address of the program's, and their place there. Set once, while a slot is 0. */
static struct {
	const char *text;
	uint32_t place, generation;
} known[TEXTS_KNOWN];

/* ---- the file ---- */

/* Only we may write to it: others must not be able to put a link there. */
static bool
is_ours(const char *directory)
{
	struct stat status;

	return lstat(directory, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
	       !(status.st_mode & (S_IWGRP | S_IWOTH));
}

/* False: there is none. */
static bool
find_directory(char *directory, size_t size)
{
	const char *named = secure_getenv(LOCALITY_DIRECTORY);

	if (named)
		return *named && (size_t)snprintf(directory, size, "%s", named) < size;
	snprintf(directory, size, LOCALITY_DEFAULT_DIRECTORY, (unsigned)geteuid());
	return (mkdir(directory, 0700) == 0 || errno == EEXIST) && is_ours(directory);
}

/* An entry of getdents64(2), which glibc does not declare. */
struct directory_entry {
	uint64_t inode;
	int64_t next;
	uint16_t size;
	uint8_t type;
	char name[];
};

/* Add the records that are named in `names`, and their bytes on the disk. */
static void
count_records(int directory, const char *names, size_t size, uint32_t *count, uint64_t *bytes)
{
	struct stat status;
	uint16_t length;

	for (size_t at = 0; at < size; at += length) {
		const char *name = names + at + offsetof(struct directory_entry, name);

		memcpy(&length, names + at + offsetof(struct directory_entry, size), sizeof(length));
		if (strncmp(name, LOCALITY_PREFIX, strlen(LOCALITY_PREFIX)) != 0)
			continue;
		++*count;
		if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
			*bytes += (uint64_t)status.st_blocks * 512;
	}
}

/*
 * Programs that run often must not fill the disk when nobody looks at their records. opendir() would allocate, which a
 * handler of a signal in a new child must not.
 */
static bool
is_full(const char *path)
{
	const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char names[NAMES_BYTES] __attribute__((aligned(8)));
	uint32_t count = 0;
	uint64_t bytes = 0;
	ssize_t got = 0;

	while (directory >= 0 && count < LOCALITY_FILES_MAX && bytes < LOCALITY_BYTES_MAX) {
		got = syscall(SYS_getdents64, directory, names, sizeof(names));
		if (got <= 0)
			break;
		count_records(directory, names, (size_t)got, &count, &bytes);
	}
	if (directory >= 0)
		close(directory);
	return count >= LOCALITY_FILES_MAX || bytes >= LOCALITY_BYTES_MAX;
}

static struct locality_header *
map_file(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	void *mapped = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (ftruncate(fd, FILE_SIZE) == 0)
		mapped = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped != MAP_FAILED && mapped_room(&reserves_by_file, mapped, sizeof(struct locality_header), path, 0))
		return mapped;
	if (mapped != MAP_FAILED)
		munmap(mapped, FILE_SIZE);
	unlink(path);
	errno = ENOSPC;
	return NULL;
}

/* Room on the disk for what is to be written. False: there is none. */
static bool
has_room(const struct locality_header *into, const void *from, size_t bytes)
{
	const uint64_t first = (uint64_t)((const char *)from - (const char *)into) & ~(uint64_t)(PAGE - 1),
		       end = (uint64_t)((const char *)from - (const char *)into) + bytes;

	return mapped_room(&reserves_by_file, (const char *)into + first,
	                   (end - first + PAGE - 1) & ~(size_t)(PAGE - 1), file_path, first);
}

static struct locality_header *
make_file(void)
{
	char directory[1024];
	struct locality_header *made = NULL;
	struct timespec now;
	ssize_t length;
	unsigned number = 0;

	if (!find_directory(directory, sizeof(directory)) || is_full(directory))
		return NULL;
	for (; number < NUMBERS_MAX && !made; number++) {
		snprintf(file_path, sizeof(file_path), "%s/" LOCALITY_PREFIX "%d.%u", directory, (int)getpid(), number);
		made = map_file(file_path);
		if (!made && errno != EEXIST)
			return NULL;
	}
	if (!made)
		return NULL;
	clock_gettime(CLOCK_REALTIME, &now);
	made->size = FILE_SIZE;
	made->pid = (uint32_t)getpid();
	made->number = number - 1;
	made->began_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
	if (!first_ns)
		first_ns = made->began_ns;
	made->first_pid = first_pid;
	made->first_ns = first_ns;
	length = readlink("/proc/self/exe", made->program, sizeof(made->program) - 1);
	made->program[length > 0 ? length : 0] = '\0';
	__atomic_store_n(&made->magic, LOCALITY_MAGIC, __ATOMIC_RELEASE);
	return made;
}

/* NULL: there is none, or another thread makes it now. */
static struct locality_header *
the_file(void)
{
	struct locality_header *found = __atomic_load_n(&file, __ATOMIC_ACQUIRE);

	if (found || __atomic_load_n(&is_off, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&is_opening, 1, __ATOMIC_ACQUIRE))
		return found;
	found = make_file();
	__atomic_store_n(&is_off, !found, __ATOMIC_RELAXED);
	__atomic_store_n(&file, found, __ATOMIC_RELEASE);
	__atomic_store_n(&is_opening, 0, __ATOMIC_RELEASE);
	return found;
}

/* The child of a fork has a file of its own. What is mapped is its parent's, which goes on to write there. */
static void
begin_child(void)
{
	if (file)
		munmap(file, FILE_SIZE);
	file = NULL;
	is_opening = is_off = 0;
	generation++;
	self.is_recording = self.is_inside = false;
	dcpi_locality_left = -1;
}

/* Before there are other threads, which would not wait for the file. */
static __attribute__((constructor)) void
begin_process(void)
{
	first_pid = (uint32_t)getpid();
	pthread_atfork(NULL, NULL, begin_child);
	(void)the_file();
}

/* ---- builds ---- */

/* A program or library that is mapped, as its program headers say. */
struct mapped_object {
	ElfW(Addr) bias; /* of its addresses, to those in the file */
	const ElfW(Phdr) * segments;
	unsigned count;
};

/* False: the address is in none, or its headers are not mapped. */
static bool
find_object(const void *address, struct mapped_object *object)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35: it takes no lock, and signal handlers may call it */
	struct dl_find_object found;
	const ElfW(Ehdr) * header;

	if (_dl_find_object((void *)(uintptr_t)address, &found))
		return false;
	header = found.dlfo_map_start;
	if ((size_t)((const char *)found.dlfo_map_end - (const char *)header) < PAGE ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(ElfW(Phdr)) ||
	    header->e_phoff > PAGE || header->e_phnum > (PAGE - header->e_phoff) / sizeof(ElfW(Phdr)))
		return false;
	*object = (struct mapped_object){
		found.dlfo_link_map->l_addr,
		(const ElfW(Phdr) *)(const void *)((const char *)header + header->e_phoff),
		header->e_phnum,
	};
	return true;
#else
	(void)address;
	(void)object;
	return false;
#endif
}

/* Whether all of a segment is in one that is loaded and can be read. */
static bool
is_mapped(const struct mapped_object *object, const ElfW(Phdr) * segment)
{
	for (unsigned i = 0; i < object->count; i++) {
		const ElfW(Phdr) *loaded = &object->segments[i];

		if (loaded->p_type == PT_LOAD && loaded->p_flags & PF_R && segment->p_vaddr >= loaded->p_vaddr &&
		    segment->p_vaddr - loaded->p_vaddr <= loaded->p_filesz &&
		    segment->p_filesz <= loaded->p_filesz - (segment->p_vaddr - loaded->p_vaddr))
			return true;
	}
	return false;
}

/* Its size; 0: there is none in these notes. */
static uint32_t
find_build_id(const char *notes, size_t size, uint8_t build_id[LOCALITY_BUILD_ID_MAX])
{
	static const char owner[4] = "GNU";
	ElfW(Nhdr) note;

	while (size >= sizeof(note) + sizeof(owner)) {
		size_t described, whole;

		memcpy(&note, notes, sizeof(note));
		if (note.n_namesz > size || note.n_descsz > size)
			return 0;
		described = sizeof(note) + (((size_t)note.n_namesz + 3) & ~(size_t)3);
		if (described + note.n_descsz > size)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(owner) &&
		    memcmp(notes + sizeof(note), owner, sizeof(owner)) == 0 && note.n_descsz <= LOCALITY_BUILD_ID_MAX) {
			memcpy(build_id, notes + described, note.n_descsz);
			return note.n_descsz;
		}
		whole = described + (((size_t)note.n_descsz + 3) & ~(size_t)3);
		if (whole > size)
			return 0; /* the last is not padded */
		notes += whole;
		size -= whole;
	}
	return 0;
}

/* The build-id of the program or library that has the text. Its size; 0: it has none. */
static uint32_t
build_id_of(const char *text, uint8_t build_id[LOCALITY_BUILD_ID_MAX])
{
	struct mapped_object object;
	uint32_t size = 0;

	if (!find_object(text, &object))
		return 0;
	for (unsigned i = 0; i < object.count && !size; i++) {
		const ElfW(Phdr) *segment = &object.segments[i];

		if (segment->p_type == PT_NOTE && is_mapped(&object, segment))
			size = find_build_id((const char *)(object.bias + segment->p_vaddr), segment->p_filesz,
			                     build_id);
	}
	return size;
}

/* ---- texts ---- */

static uint32_t
add_text(struct locality_header *into, const char *text)
{
	const size_t length = strnlen(text, LOCALITY_TEXT_BYTES);
	const uint32_t bytes = (uint32_t)((sizeof(struct locality_text) + length + 1 + 7) & ~(size_t)7);
	uint32_t place = __atomic_load_n(&into->text_bytes, __ATOMIC_RELAXED);
	struct locality_text *added;

	do {
		if (bytes > LOCALITY_TEXT_BYTES - place) {
			__atomic_fetch_add(&into->texts_lost, 1, __ATOMIC_RELAXED);
			return NO_TEXT;
		}
	} while (!__atomic_compare_exchange_n(&into->text_bytes, &place, place + bytes, true, __ATOMIC_RELAXED,
	                                      __ATOMIC_RELAXED));
	added = (struct locality_text *)(void *)((char *)(into + 1) + place);
	if (!has_room(into, added, bytes)) {
		__atomic_fetch_add(&into->texts_lost, 1, __ATOMIC_RELAXED);
		return NO_TEXT;
	}
	memcpy(added->text, text, length);
	added->build_id_size = build_id_of(text, added->build_id);
	__atomic_store_n(&added->bytes, bytes, __ATOMIC_RELEASE);
	return place / 8;
}

/*
 * Where the text is in the file. It is added by who first finds a free place for it here; two threads that do so at
 * once add it twice, which readers do not mind.
 */
static uint32_t
place_of(struct locality_header *into, const char *text)
{
	const uint32_t first = (uint32_t)(((uintptr_t)text * HASH_FACTOR) >> 40);
	uint32_t place;

	for (uint32_t i = 0; i < 8; i++) {
		const uint32_t at = (first + i) % TEXTS_KNOWN;
		const char *there = __atomic_load_n(&known[at].text, __ATOMIC_ACQUIRE);

		if (there == text && known[at].generation == generation)
			return known[at].place;
	}
	place = add_text(into, text);
	for (uint32_t i = 0; i < 8 && place != NO_TEXT; i++) {
		const uint32_t at = (first + i) % TEXTS_KNOWN;
		const char *nothing = NULL;

		if (!__atomic_compare_exchange_n(&known[at].text, &nothing, (const char *)known, false,
		                                 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) &&
		    known[at].generation == generation)
			continue;
		known[at].place = place;
		known[at].generation = generation;
		__atomic_store_n(&known[at].text, text, __ATOMIC_RELEASE);
		break;
	}
	return place;
}

/* As place_of(); most events are of the loop that the one before was of. */
static inline uint32_t
place_again(struct locality_header *into, const char *text)
{
	if (self.text != text || self.text_generation != generation) {
		self.place = place_of(into, text);
		self.text_generation = generation;
		self.text = self.place == NO_TEXT ? NULL : text;
	}
	return self.place;
}

/* ---- events ---- */

static struct locality_chunk *
take_chunk(struct locality_header *from)
{
	const uint32_t taken = __atomic_fetch_add(&from->taken, 1, __ATOMIC_RELAXED);
	struct locality_chunk *chunk =
		(struct locality_chunk *)(void *)((char *)(from + 1) + LOCALITY_TEXT_BYTES) + taken % LOCALITY_CHUNKS;

	if (taken >= LOCALITY_CHUNKS || !has_room(from, chunk, sizeof(*chunk))) {
		__atomic_store_n(&from->taken, LOCALITY_CHUNKS + 1, __ATOMIC_RELAXED);
		return NULL;
	}
	chunk->tid = (uint32_t)syscall(SYS_gettid);
	chunk->number = taken + 1;
	return chunk;
}

/* Room for an event of so many words; NULL: there is none any more. */
static uint64_t *
room_for(struct locality_header *into, uint32_t words)
{
	if (!self.chunk || self.generation != generation || LOCALITY_WORDS - self.chunk->used < words) {
		self.chunk = take_chunk(into);
		self.generation = generation;
	}
	return self.chunk ? self.chunk->words + self.chunk->used : NULL;
}

static void
end_event(uint32_t words)
{
	self.words += words;
	__atomic_store_n(&self.chunk->used, self.chunk->used + words, __ATOMIC_RELEASE);
}

static void
write_event(struct locality_header *into, const uint64_t *words, uint32_t count)
{
	uint64_t *room = room_for(into, count);

	if (!room)
		return;
	memcpy(room, words, count * sizeof(*words));
	end_event(count);
}

/* ---- bursts ---- */

/* The countdown is `left`, and negative. The file, if there is one: then a burst has begun. */
static struct locality_header *
begin(ssize_t left)
{
	struct locality_header *into = the_file();

	if (!into || self.is_recording)
		return into;
	self.bursts++;
	self.words = 0;
	self.is_recording = true;
	self.began = left;
	write_event(into, (uint64_t[]){locality_event_word(LOCALITY_BURST, 0, 0), (uint64_t)(self.paused - left)}, 2);
	return into;
}

/* Returns the countdown from now on. */
static ssize_t
end(const struct locality_header *into, ssize_t left)
{
	const uint32_t pauses = self.bursts / PAUSE_BURSTS;

	if (!into && !__atomic_load_n(&is_off, __ATOMIC_RELAXED))
		return left; /* another thread makes the file */
	if (into && self.chunk && self.began - left < (self.bursts > 1 ? BURST : FIRST_BURST) &&
	    self.words < (self.bursts > 1 ? BURST_WORDS : FIRST_WORDS))
		return left;
	self.is_recording = false;
	self.paused = into && self.chunk ? PAUSE << (pauses < PAUSES_MAX ? pauses : PAUSES_MAX) : NEVER;
	return self.paused;
}

/* ---- what the program calls ---- */

/* An event of a loop, whose first word is made here. */
static void
write_loop_event(struct locality_header *into, enum locality_event kind, const char *text, unsigned number,
                 unsigned level, uint64_t *words, uint32_t count)
{
	const uint32_t place = place_again(into, text);

	if (place == NO_TEXT)
		return;
	words[0] = locality_event_word(kind, number, place) | locality_level_word(level);
	write_event(into, words, count);
}

PUBLIC void
dcpi_locality_loop(const char *text, size_t iterations)
{
	struct locality_header *into;

	if (self.is_inside)
		return;
	self.is_inside = true;
	into = begin(dcpi_locality_left);
	if (into)
		write_loop_event(into, LOCALITY_LOOP, text, 0, 0, (uint64_t[]){0, iterations}, 2);
	dcpi_locality_left = end(into, dcpi_locality_left);
	self.is_inside = false;
}

PUBLIC void
dcpi_locality_nest(const char *text, unsigned which, size_t first, size_t second, size_t third, size_t fourth)
{
	struct locality_header *into;

	if (self.is_inside)
		return;
	self.is_inside = true;
	into = begin(dcpi_locality_left);
	if (into)
		write_loop_event(into, LOCALITY_NEST, text, which & 0xffff, which >> 16,
		                 (uint64_t[]){0, first, second, third, fourth}, 1 + (which >> 16));
	dcpi_locality_left = end(into, dcpi_locality_left);
	self.is_inside = false;
}

PUBLIC void
dcpi_locality_part(const char *text, unsigned which, const void *base, ssize_t first, ssize_t second, ssize_t third,
                   ssize_t fourth)
{
	struct locality_header *into = __atomic_load_n(&file, __ATOMIC_ACQUIRE);
	const unsigned level = which >> 16;

	if (self.is_inside || !into)
		return;
	self.is_inside = true;
	write_loop_event(into, LOCALITY_PART, text, which & 0xffff, level,
	                 (uint64_t[]){0, (uint64_t)(uintptr_t)base, (uint64_t)first, (uint64_t)second, (uint64_t)third,
	                              (uint64_t)fourth},
	                 2 + (level & LOCALITY_LEVEL_MASK));
	self.is_inside = false;
}

/* The references of a loop are recorded though the burst has ended with it: so it has all. */
PUBLIC void
dcpi_locality_stream(const char *text, unsigned number, const void *base, ssize_t step)
{
	struct locality_header *into = __atomic_load_n(&file, __ATOMIC_ACQUIRE);

	if (self.is_inside || !into)
		return;
	self.is_inside = true;
	write_loop_event(into, LOCALITY_STREAM, text, number, 0,
	                 (uint64_t[]){0, (uint64_t)(uintptr_t)base, (uint64_t)step}, 3);
	self.is_inside = false;
}

static void
write_gather(struct locality_header *into, uint64_t first, size_t iterations, const char *base, ssize_t coefficient,
             const char *index, ssize_t index_step, int index_bytes)
{
	const uint32_t bytes = (uint32_t)(index_bytes < 0 ? -index_bytes : index_bytes), head = 4;
	uint64_t *words = room_for(into, GATHER_WORDS);
	uint32_t room, count;

	if (!words)
		return;
	room = (uint32_t)(LOCALITY_WORDS - self.chunk->used - head) * 8 / bytes;
	count = iterations < room ? (uint32_t)iterations : room;
	words[0] = first;
	words[1] = (uint64_t)(uintptr_t)base;
	words[2] = (uint64_t)coefficient;
	words[3] = (uint64_t)(uint8_t)(int8_t)index_bytes << 56 | count;
	for (uint32_t i = 0; i < count; i++)
		memcpy((char *)(words + head) + (size_t)i * bytes, index + (ssize_t)i * index_step, bytes);
	end_event(head + (count * bytes + 7) / 8);
}

PUBLIC void
dcpi_locality_gather(const char *text, unsigned number, size_t iterations, const char *base, ssize_t coefficient,
                     const char *index, ssize_t index_step, int index_bytes)
{
	struct locality_header *into = __atomic_load_n(&file, __ATOMIC_ACQUIRE);
	uint32_t place;

	if (self.is_inside || !into)
		return;
	self.is_inside = true;
	place = place_again(into, text);
	if (place != NO_TEXT)
		write_gather(into, locality_event_word(LOCALITY_GATHER, number, place), iterations, base, coefficient,
		             index, index_step, index_bytes);
	self.is_inside = false;
}

PUBLIC void
dcpi_locality_touch(const char *text, unsigned number, const void *address)
{
	struct locality_header *into = __atomic_load_n(&file, __ATOMIC_ACQUIRE);

	if (self.is_inside || !(self.is_recording || number & CALL_LAST) || !into)
		return;
	self.is_inside = true;
	write_loop_event(into, LOCALITY_TOUCH, text, number, 0, (uint64_t[]){0, (uint64_t)(uintptr_t)address}, 2);
	self.is_inside = false;
}

PUBLIC ssize_t
dcpi_locality_sync(ssize_t left)
{
	if (self.is_inside)
		return left;
	self.is_inside = true;
	left = end(begin(left), left);
	self.is_inside = false;
	return left;
}

PUBLIC void
dcpi_locality_counted(void)
{
	if (dcpi_locality_left < 0) /* else somebody else has called meanwhile */
		dcpi_locality_left = dcpi_locality_sync(dcpi_locality_left);
}
