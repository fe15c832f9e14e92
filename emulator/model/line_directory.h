/*
 * line_directory.h - for each line, which cores may have a copy, and which of them may have written it
 *
 * A line has one word, its entry. Sharers are a bit each of up to 40 groups of cores; with 40 cores or fewer a group is
 * one core. An entry is only added to when a core gets a line: a core that evicts a line does not say so. So an entry
 * has all cores that have the line, and perhaps others; who needs to know looks into their caches (coherence.h).
 *
 * Entries are in chunks, made when a line of a chunk is first looked up: 8 bytes for each line of 4 MiB, with lines of
 * 64 bytes.
 *
 * Thread rule: any thread; line_directory_lock() locks the entry of the line, and a thread locks one at a time.
 */
#ifndef DCPI_EMULATOR_MODEL_LINE_DIRECTORY_H
#define DCPI_EMULATOR_MODEL_LINE_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#define LINE_GROUPS     40
#define LINE_OWNERS_MAX UINT16_MAX /* owners are numbered from 1 on */

/* The parts of an entry. */
#define LINE_SHARERS   ((UINT64_C(1) << LINE_GROUPS) - 1) /* a bit for each group of cores that may have the line */
#define LINE_OWNER_BIT LINE_GROUPS                        /* the lowest bit of the owner's number */
#define LINE_WRITTEN   (UINT64_C(1) << 56)                /* a level that several cores share may have it dirty */

struct line_directory;

/* Lines are numbers of page_map.h, of lines of `line_bytes`. NULL: no memory. */
struct line_directory *line_directory_new(unsigned line_bytes);
void line_directory_free(struct line_directory *directory);

/*
 * Lock the line's entry, and get what it is; an entry that was never unlocked is 0. Returns its place, for
 * line_directory_unlock(); NULL: there is no memory for it, and nothing is known of the line.
 */
uint64_t *line_directory_lock(struct line_directory *directory, uint64_t line, uint64_t *entry);

/* Set the entry, and unlock it. */
void line_directory_unlock(uint64_t *place, uint64_t entry);

/* The only core that may have written the line since it got it, without saying so; 0: there is none. */
static inline unsigned
line_directory_owner(uint64_t entry)
{
	return entry >> LINE_OWNER_BIT & LINE_OWNERS_MAX;
}

static inline uint64_t
line_directory_with_owner(uint64_t entry, unsigned owner)
{
	return (entry & ~((uint64_t)LINE_OWNERS_MAX << LINE_OWNER_BIT)) | (uint64_t)owner << LINE_OWNER_BIT;
}

#endif
