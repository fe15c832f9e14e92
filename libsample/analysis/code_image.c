#include "analysis/code_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "code/decoder.h"
#include "image/contents.h"
#include "image/elf_file.h"
#include "process/jit.h"

/* As image_file_open() and symbol_table_from_file(), from the file. */
static int
open_file(struct code_image *code)
{
	int err;

	if (code->image->kind != IMAGE_USER && code->image->kind != IMAGE_VDSO)
		return -ENOTSUP;
	err = image_file_open(code->image, &code->file);
	if (!err)
		err = symbol_table_from_file(code->file, &code->symbols);
	if (err) {
		image_file_close(code->file);
		code->file = NULL;
	}
	return err;
}

static int
read_captured_symbols(struct code_image *code)
{
	struct profile_symbol *symbols;
	size_t count;
	int err = profile_get_symbols(code->profile, code->number, &symbols, &count);

	if (err)
		return err;
	err = symbol_table_from_captured(symbols, count, &code->symbols);
	profile_free_symbols(symbols);
	return err;
}

/* Opens file and symbols from the database. 0 or an error, -ENOENT for what was not captured. */
static int
open_captured(struct code_image *code)
{
	struct captured_layout *layout;
	int err = code->profile ? profile_get_layout(code->profile, code->number, &layout) : -ENOENT;

	if (err)
		return err;
	err = image_file_from_captured(layout, &code->file);
	free(layout);
	return err ? err : read_captured_symbols(code);
}

static int
read_captured(struct code_image *code)
{
	struct captured_layout *layout;
	struct captured_text text;
	int err = code->profile ? profile_get_layout(code->profile, code->number, &layout) : -ENOENT;

	if (err)
		return err;
	err = profile_get_text(code->profile, code->number, &text);
	if (!err)
		err = image_contents_from_captured(layout, &text, &code->contents);
	captured_text_fini(&text);
	free(layout);
	return err;
}

int
code_image_open(struct code_image *code, const struct selection *selection, uint32_t index)
{
	int err, captured_err;

	memset(code, 0, sizeof(*code));
	code->index = index;
	code->image = selection->images[index].image;
	code->number = selection->images[index].number;
	code->profile = selection->profile;
	err = open_file(code);
	if (!err || err == -ENOMEM)
		return err;
	captured_err = open_captured(code);
	if (!captured_err)
		return 0;
	code_image_close(code);
	return captured_err == -ENOMEM ? captured_err : err;
}

int
code_image_read(struct code_image *code)
{
	int err;

	if (code->procedures)
		return 0;
	err = code->contents ? 0 : image_contents_new(code->file, &code->contents);
	if (err == -ENOENT)
		err = read_captured(code);
	if (err)
		return err;
	code->procedures = procedures_new(code->file, code->symbols, code->contents);
	return code->procedures ? 0 : -errno;
}

void
code_image_close(struct code_image *code)
{
	procedures_free(code->procedures);
	image_contents_free(code->contents);
	symbol_table_free(code->symbols);
	image_file_close(code->file);
	memset(code, 0, sizeof(*code));
}

/* The machine that the image's file is for; EM_NONE when the file cannot be read: then it was captured. */
static uint16_t
machine_of(const struct image *image)
{
	uint16_t machine = EM_NONE;
	struct image_file *file;

	if (image_file_open(image, &file))
		return EM_NONE;
	if (image_file_elf(file))
		machine = image_file_elf(file)->header.e_machine;
	image_file_close(file);
	return machine;
}

const char *
code_image_trouble(const struct image *image, int err)
{
	switch (-err) {
	case ENOTSUP:
		if (image_is_of_kernel(image))
			return "the kernel's code was not captured (dcpid reads /proc/kcore where it may): dcpiprof "
			       "says which of its procedures are hot";
		if (jit_is_image(image))
			return "its process wrote the names of its code only, not the code itself: a jitdump has both";
		if (image->kind == IMAGE_JIT || image->kind == IMAGE_ANON)
			return "it is memory without a file, and what was in it is not known";
		if (!architecture_trouble(ARCHITECTURE_RISCV64))
			return "it is code of an architecture other than x86-64, aarch64 and riscv64";
		switch (machine_of(image)) {
		case EM_RISCV:
			return "it is code of riscv64, which is decoded with capstone 5: look at it on Debian 13";
		case EM_NONE:
			return "it is code of an architecture other than x86-64 and aarch64; if it is riscv64, look at "
			       "it on Debian 13, which has capstone 5";
		default:
			return "it is code of an architecture other than x86-64 and aarch64";
		}
	case ENOENT:
	case ENOTDIR:
		return "its file is not there any more";
	case DCPI_EBUILDID:
		return "the file there now is not the build that was sampled (its build-id differs): put that build "
		       "back, or sample the new one";
	case DCPI_EDAMAGED:
		return "the file is damaged, or no ELF file";
	default:
		return error_text(err);
	}
}

size_t
code_image_first_count(const struct selection *selection, uint32_t index, uint64_t offset)
{
	size_t low = 0, high = selection->count_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct selection_count *count = &selection->counts[middle];

		if (count->image < index || (count->image == index && count->offset < offset))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t
code_image_samples(const struct selection *selection, uint32_t index, uint64_t start, uint64_t end, uint16_t event)
{
	uint64_t taken;

	return code_image_count(selection, index, start, end, event, &taken, NULL);
}

uint64_t
code_image_count(const struct selection *selection, uint32_t index, uint64_t start, uint64_t end, uint16_t event,
                 uint64_t *taken, double *squares)
{
	uint64_t sum = 0;
	double squared = 0;

	*taken = 0;
	for (size_t i = code_image_first_count(selection, index, start); i < selection->count_count; i++) {
		const struct selection_count *count = &selection->counts[i];

		if (count->image != index || count->offset >= end)
			break;
		if (count->event != event)
			continue;
		sum += count->count;
		*taken += count->taken;
		squared += count->squares;
	}
	if (squares)
		*squares = squared;
	return sum;
}
