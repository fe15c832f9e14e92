/*
 * call_frames.h - the frame descriptions of an ELF file: .eh_frame and .debug_frame (private to this room)
 *
 * libdw reads the entries (dwarf_next_cfi()); their encoded addresses are decoded here, because libdw decodes them only
 * to find the entry of an address that is known already. A damaged entry is skipped, or ends the reading.
 * Thread rule: one thread per elf_file.
 */
#ifndef DCPI_IMAGE_CALL_FRAMES_H
#define DCPI_IMAGE_CALL_FRAMES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "image/elf_file.h"

struct call_frames {
	const struct elf_file *file;
	Elf_Data *data;   /* of the section; NULL: there is none */
	uint64_t address; /* of its first byte; 0 for .debug_frame */
	bool is_eh_frame; /* the two sections differ in how entries refer to each other */
};

/* .eh_frame, which is found by its section or, without section headers, by PT_GNU_EH_FRAME. False: there is none. */
bool call_frames_find_eh_frame(struct call_frames *frames, const struct elf_file *file,
                               const struct elf_segments *segments);

/* .debug_frame, which is decompressed if necessary. False: there is none. */
bool call_frames_find_debug_frame(struct call_frames *frames, const struct elf_file *file);

/* One frame description entry (FDE); the pointers are valid during the call. */
struct frame_description {
	uint64_t address, size; /* the code that it describes, by ELF virtual address */
	const Dwarf_CIE *cie;
	const uint8_t *instructions, *end; /* its own, which follow those of the CIE */
	bool is_signal_frame;              /* the caller was interrupted here, it has not called */
};

/* Call `each` for each entry in the order of the section, until it returns nonzero, which is then returned; or 0. */
int call_frames_each(const struct call_frames *frames,
                     int (*each)(void *context, const struct frame_description *frame), void *context);

#endif
