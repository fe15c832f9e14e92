#include "stream/ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct ring {
	struct perf_event_mmap_page *header;
	const uint8_t *data;
	size_t size;        /* of data; a power of two */
	uint64_t head;      /* end of what the kernel had written when last looked */
	uint64_t tail;      /* end of what was consumed */
	uint64_t published; /* the tail that the kernel knows */
	uint64_t searched;  /* end of what ring_next_file() has looked at */
	size_t record_size; /* of the record that was peeked at; 0: none */
	uint64_t skipped;
	uint8_t *bounce;       /* a record that wraps, in one piece */
	size_t bounce_size;    /* no record is larger than it */
	size_t mapping_length; /* 0: the memory is somebody else's */
	uint8_t *aux;          /* NULL: none */
	size_t aux_size;       /* a power of two */
	bool owns_aux;
};

/* Bytes of a ring of `pages` with its header; 0 when `pages` is no power of two or too large. */
static size_t
mapping_length(size_t pages, size_t page_size)
{
	if (pages == 0 || (pages & (pages - 1)) || pages > SIZE_MAX / page_size / 2)
		return 0;
	return (pages + 1) * page_size;
}

static size_t
page_size_get(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

struct ring *
ring_over(void *memory, size_t pages)
{
	size_t page_size = page_size_get();
	struct ring *ring;

	if (!mapping_length(pages, page_size)) {
		errno = EINVAL;
		return NULL;
	}
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	ring->header = memory;
	ring->data = (const uint8_t *)memory + page_size;
	ring->size = pages * page_size;
	ring->bounce_size = ring->size < RECORD_SIZE_MAX ? ring->size : RECORD_SIZE_MAX;
	ring->bounce = malloc(ring->bounce_size);
	if (!ring->bounce) {
		free(ring);
		return NULL;
	}
	ring->tail = ring->header->data_tail;
	ring->published = ring->tail;
	ring->searched = ring->tail;
	ring->head = ring->tail;
	return ring;
}

struct ring *
ring_new(int fd, size_t pages)
{
	size_t length = mapping_length(pages, page_size_get());
	struct ring *ring;
	void *memory;

	if (!length) {
		errno = EINVAL;
		return NULL;
	}
	memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return NULL;
	ring = ring_over(memory, pages);
	if (!ring) {
		munmap(memory, length);
		errno = ENOMEM;
		return NULL;
	}
	ring->mapping_length = length;
	return ring;
}

void
ring_free(struct ring *ring)
{
	if (!ring)
		return;
	if (ring->owns_aux)
		munmap(ring->aux, ring->aux_size);
	if (ring->mapping_length)
		munmap(ring->header, ring->mapping_length);
	free(ring->bounce);
	free(ring);
}

/* The acquire pairs with the kernel's release of data_head: the records below it are whole. */
static uint64_t
head_load(const struct ring *ring)
{
	return __atomic_load_n(&ring->header->data_head, __ATOMIC_ACQUIRE);
}

/* Copy up to `size` bytes from the tail on into the bounce buffer, around the end of the ring. */
static void
bounce_fill(struct ring *ring, size_t size)
{
	size_t position = ring->tail & (ring->size - 1);
	size_t first = ring->size - position;

	if (first > size)
		first = size;
	memcpy(ring->bounce, ring->data + position, first);
	memcpy(ring->bounce + first, ring->data, size - first);
}

/* Decode at the tail, in place where the record lies in one piece. `waiting` bytes are there, at most ring->size. */
static int
decode_at_tail(struct ring *ring, const struct record_layout *layout, size_t waiting, struct record *record,
               size_t *consumed)
{
	size_t position = ring->tail & (ring->size - 1);
	size_t in_place = ring->size - position;
	int result;

	if (waiting <= in_place)
		return record_decode(layout, ring->data + position, waiting, record, consumed);
	result = record_decode(layout, ring->data + position, in_place, record, consumed);
	if (result != -EAGAIN)
		return result;
	if (waiting > ring->bounce_size)
		waiting = ring->bounce_size;
	bounce_fill(ring, waiting);
	return record_decode(layout, ring->bounce, waiting, record, consumed);
}

/* Any record but the one that nearly all are. Not inlined: what it keeps on the stack would cost each sample. */
__attribute__((noinline)) static int
peek_other(struct ring *ring, const struct record_layout *layout, struct record *record)
{
	while (ring->head != ring->tail) {
		const uint64_t waiting = ring->head - ring->tail;
		size_t consumed;
		int result = -EAGAIN;

		if (waiting <= ring->size)
			result = decode_at_tail(ring, layout, waiting, record, &consumed);
		if (result > 0) {
			ring->record_size = (size_t)result;
			return 1;
		}
		/* The kernel moves its head past whole records only: what goes beyond it, or says nothing about
		 * its length, hides where the next one begins. */
		ring->skipped++;
		if (result == -EAGAIN || consumed == 0)
			ring->tail = ring->head;
		else
			ring->tail += consumed;
		if (ring->tail == ring->head)
			ring->head = head_load(ring);
	}
	return 0;
}

int
ring_peek(struct ring *ring, const struct record_layout *layout, struct record *record)
{
	const size_t position = ring->tail & (ring->size - 1);
	uint64_t waiting;

	if (ring->tail == ring->head)
		ring->head = head_load(ring);
	waiting = ring->head - ring->tail;
	if (waiting == 0)
		return 0;
	if (waiting >= RECORD_DEFAULT_SIZE && waiting <= ring->size && position <= ring->size - RECORD_DEFAULT_SIZE &&
	    record_decode_default(layout, ring->data + position, record)) {
		struct perf_event_header header;

		memcpy(&header, ring->data + position, sizeof(header)); /* a forged ring may have it anywhere */
		ring->record_size = header.size;
		return 1;
	}
	return peek_other(ring, layout, record);
}

void
ring_consume(struct ring *ring)
{
	ring->tail += ring->record_size;
	ring->record_size = 0;
}

/* The release orders our reads of the records before the kernel may write over them. */
void
ring_publish(struct ring *ring)
{
	if (ring->tail == ring->published)
		return;
	ring->published = ring->tail;
	__atomic_store_n(&ring->header->data_tail, ring->tail, __ATOMIC_RELEASE);
}

size_t
ring_used(const struct ring *ring)
{
	uint64_t used = head_load(ring) - ring->tail;

	return used < ring->size ? used : ring->size;
}

size_t
ring_size(const struct ring *ring)
{
	return ring->size;
}

/* Records are multiples of 8 bytes, so that none of these lies around the end. */
static uint64_t
word_at(const struct ring *ring, uint64_t position)
{
	uint64_t word;

	memcpy(&word, ring->data + (position & (ring->size - 1)), sizeof(word));
	return word;
}

/* The header of the record at `position`, of which `waiting` bytes are there. False: there is none, or it is damaged.
 */
static bool
header_at(const struct ring *ring, uint64_t position, uint64_t waiting, struct perf_event_header *header)
{
	uint64_t word;

	if (waiting < sizeof(word) || waiting > ring->size)
		return false;
	word = word_at(ring, position);
	memcpy(header, &word, sizeof(*header));
	return header->size >= sizeof(*header) && header->size % sizeof(word) == 0 && header->size <= waiting;
}

size_t
ring_count(const struct ring *ring, uint64_t id)
{
	const uint64_t head = head_load(ring);
	struct perf_event_header header;
	size_t count = 0;

	for (uint64_t position = ring->tail; header_at(ring, position, head - position, &header);
	     position += header.size)
		if (header.type == PERF_RECORD_SAMPLE && header.size >= 2 * sizeof(uint64_t) &&
		    word_at(ring, position + sizeof(uint64_t)) == id)
			count++;
	return count;
}

bool
ring_next_file(struct ring *ring, struct ring_file *file)
{
	/* of PERF_RECORD_MMAP2, behind header, pid and tid, address, length and offset in the file */
	enum { DEVICE = 40, INODE = 48, INODE_GENERATION = 56, PROTECTION = 64 };
	const uint64_t head = head_load(ring);
	struct perf_event_header header;

	if ((int64_t)(ring->searched - ring->tail) < 0) /* consumed meanwhile */
		ring->searched = ring->tail;
	while (header_at(ring, ring->searched, head - ring->searched, &header)) {
		const uint64_t position = ring->searched;

		ring->searched += header.size;
		if (header.type != PERF_RECORD_MMAP2 || header.size < PROTECTION)
			continue;
		*file = (struct ring_file){
			.device = word_at(ring, position + DEVICE),
			.inode = word_at(ring, position + INODE),
			.inode_generation = word_at(ring, position + INODE_GENERATION),
		};
		return true;
	}
	ring->searched = head;
	return false;
}

uint64_t
ring_take_skipped(struct ring *ring)
{
	uint64_t skipped = ring->skipped;

	ring->skipped = 0;
	return skipped;
}

/* ---- the auxiliary area ---- */

void
ring_over_aux(struct ring *ring, void *memory, size_t size)
{
	ring->aux = memory;
	ring->aux_size = size;
}

/* Its place in the descriptor is behind the ring; the kernel takes it from the header. */
int
ring_map_aux(struct ring *ring, int fd, size_t pages)
{
	const size_t size = pages * page_size_get();
	void *memory;

	ring->header->aux_offset = ring->mapping_length;
	ring->header->aux_size = size;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)ring->mapping_length);
	if (memory == MAP_FAILED)
		return -errno;
	ring_over_aux(ring, memory, size);
	ring->owns_aux = true;
	return 0;
}

size_t
ring_aux_size(const struct ring *ring)
{
	return ring->aux_size;
}

void
ring_copy_aux(const struct ring *ring, uint64_t offset, size_t size, void *bytes)
{
	const size_t position = offset & (ring->aux_size - 1);
	const size_t first = ring->aux_size - position < size ? ring->aux_size - position : size;

	memcpy(bytes, ring->aux + position, first);
	memcpy((uint8_t *)bytes + first, ring->aux, size - first);
}

/* The release orders our reads of the area before the hardware may write over them. */
void
ring_publish_aux(struct ring *ring, uint64_t end)
{
	__atomic_store_n(&ring->header->aux_tail, end, __ATOMIC_RELEASE);
}
