/*
 * decode_bench.c - how many instructions a second are decoded, beside objdump -d
 *
 * decode_bench FILE...: for each the instructions of its .text, millions of them a second (the best of five passes,
 * each with a decoder that knows nothing yet), that speed when each comes with its text, and how many times longer
 * objdump -d takes than either, its processor time against ours; nothing of that for an
 * architecture that this objdump does not know.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/text_section.h"

#define PASSES 5

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
