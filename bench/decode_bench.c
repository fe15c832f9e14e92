/*
 * decode_bench.c - how many instructions a second are decoded, beside objdump -d
 *
 * decode_bench FILE...: for each the instructions of its .text, millions of them a second (the best of five passes,
 * each with a decoder that knows nothing yet), the same when each comes with its text, and how many times longer
 * objdump -d takes than either, its processor time against ours; nothing of that for an
 * architecture that this objdump does not know.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "code/decoder.h"

#define PASSES 5

struct text_section {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	enum architecture architecture;
};

static const uint8_t *
map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	struct stat st;

	*size = 0;
	if (fd >= 0 && fstat(fd, &st) == 0) {
		*size = (size_t)st.st_size;
		bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	if (bytes == MAP_FAILED)
		bench_require(-errno, path);
	close(fd);
	return bytes;
}

/* The largest section of code. */
static struct text_section
find_text(const char *path)
{
	struct text_section text = {NULL};
	size_t size;
	const uint8_t *file = map_file(path, &size);
	Elf64_Ehdr header;

	if (size < sizeof(header) || memcmp(file, ELFMAG, SELFMAG) != 0)
		bench_require(-EINVAL, path);
	memcpy(&header, file, sizeof(header));
	bench_require(architecture_of_machine(header.e_machine, &text.architecture), path);
	for (size_t i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section;

		if (header.e_shoff > size || (size - header.e_shoff) / sizeof(section) <= i)
			break;
		memcpy(&section, file + header.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR) ||
		    section.sh_size <= text.size)
			continue;
		if (section.sh_offset > size || section.sh_size > size - section.sh_offset)
			continue;
		text.bytes = file + section.sh_offset;
		text.size = section.sh_size;
		text.address = section.sh_addr;
	}
	return text;
}

static size_t
decode(struct decoder *decoder, const struct text_section *text)
{
	struct instruction_list list = {0};
	size_t count;

	bench_require(decoder_decode(decoder, text->bytes, text->size, text->address, &list), "decode");
	count = list.count;
	instruction_list_free(&list);
	return count;
}

static size_t
decode_and_list(struct decoder *decoder, const struct text_section *text)
{
	char line[INSTRUCTION_TEXT_SIZE];
	struct instruction instruction;
	size_t count = 0, at = 0;

	while (at < text->size) {
		decoder_text(decoder, text->bytes + at, text->size - at, text->address + at, LISTING_ATT, line,
		             sizeof(line));
		at += decoder_decode_one(decoder, text->bytes + at, text->size - at, text->address + at, &instruction);
		count++;
	}
	return count;
}

static double
best_seconds(const struct text_section *text, size_t (*pass)(struct decoder *, const struct text_section *),
             size_t *count)
{
	double best = 1e9;

	for (int i = 0; i < PASSES; i++) {
		uint64_t start = bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		struct decoder *decoder = decoder_new(text->architecture);
		double seconds;

		if (!decoder)
			bench_require(-errno, "decoder");
		*count = pass(decoder, text);
		decoder_free(decoder);
		seconds = (double)(bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e9;
		if (seconds < best)
			best = seconds;
	}
	return best;
}

static double
children_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 + (double)usage.ru_stime.tv_sec +
	       (double)usage.ru_stime.tv_usec / 1e6;
}

static double
objdump_seconds(const char *path)
{
	double start = children_seconds();
	int status, null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t pid = fork();

	if (pid == 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execlp("objdump", "objdump", "-d", "-j", ".text", path, (char *)NULL);
		_exit(127);
	}
	close(null);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return 0;
	return children_seconds() - start;
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct text_section text = find_text(argv[i]);
		size_t count;
		double decoding = best_seconds(&text, decode, &count);
		double listing = best_seconds(&text, decode_and_list, &count);
		double objdump = objdump_seconds(argv[i]);

		printf("%s: %zu instructions, %.1f M/s, with texts %.2f M/s", argv[i], count,
		       (double)count / decoding / 1e6, (double)count / listing / 1e6);
		if (objdump > 0)
			printf("; objdump -d takes %.1f and %.1f times as long", objdump / decoding, objdump / listing);
		printf("\n");
	}
	return EXIT_SUCCESS;
}
