/*
 * repeat_samples - a perf.data in which each sample is there TIMES times
 *
 * perf would need many minutes to record ten million samples; its report reads these as it would read those. Records
 * of mappings and processes stay as they are, once; so do the parts behind the data, but for where they lie.
 * Usage: repeat_samples IN OUT TIMES
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/perf_file.h"

#define BUFFER_SIZE ((size_t)1 << 20)

static void
die(const char *what)
{
	fprintf(stderr, "repeat_samples: %s\n", what);
	exit(EXIT_FAILURE);
}

static void
read_all(FILE *in, void *data, size_t size)
{
	if (fread(data, 1, size, in) != size)
		die("the file ends too early");
}

static void
write_all(FILE *out, const void *data, size_t size)
{
	if (fwrite(data, 1, size, out) != size)
		die("cannot write");
}

static void
copy(FILE *in, FILE *out, uint64_t size)
{
	static char buffer[BUFFER_SIZE];

	while (size > 0) {
		size_t some = size < sizeof(buffer) ? (size_t)size : sizeof(buffer);

		read_all(in, buffer, some);
		write_all(out, buffer, some);
		size -= some;
	}
}

/* The data section; returns how much longer it has become. */
static uint64_t
repeat(FILE *in, FILE *out, uint64_t size, unsigned long times, uint64_t *samples)
{
	static uint8_t record[UINT16_MAX + 1];
	struct perf_event_header header;
	uint64_t more = 0;

	for (; size > 0; size -= header.size) {
		unsigned long copies;

		read_all(in, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > size)
			die("a record has a wrong size");
		memcpy(record, &header, sizeof(header));
		read_all(in, record + sizeof(header), header.size - sizeof(header));
		copies = header.type == PERF_RECORD_SAMPLE ? times : 1;
		for (unsigned long i = 0; i < copies; i++)
			write_all(out, record, header.size);
		if (header.type == PERF_RECORD_SAMPLE)
			*samples += times;
		more += (copies - 1) * header.size;
	}
	return more;
}

/* The list of what lies behind the data, and that itself. */
static void
copy_features(FILE *in, FILE *out, const struct perf_file_header *header, uint64_t more)
{
	struct perf_file_section section;

	for (unsigned bit = 0; bit < 256; bit++) {
		if (!(header->features[bit / 64] >> bit % 64 & 1))
			continue;
		read_all(in, &section, sizeof(section));
		section.offset += more;
		write_all(out, &section, sizeof(section));
	}
	for (int byte; (byte = getc(in)) != EOF;)
		putc(byte, out);
}

int
main(int argc, char **argv)
{
	const unsigned long times = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	FILE *in = times ? fopen(argv[1], "rb") : NULL, *out = in ? fopen(argv[2], "wb") : NULL;
	struct perf_file_header header;
	uint64_t samples = 0, more;

	if (!out)
		die("usage: repeat_samples IN OUT TIMES");
	read_all(in, &header, sizeof(header));
	if (memcmp(header.magic, "PERFILE2", sizeof(header.magic)) != 0 || header.data.offset < sizeof(header))
		die("not a perf.data file");
	write_all(out, &header, sizeof(header));
	copy(in, out, header.data.offset - sizeof(header));
	more = repeat(in, out, header.data.size, times, &samples);
	copy_features(in, out, &header, more);
	header.data.size += more;
	if (fseek(out, 0, SEEK_SET) != 0)
		die("cannot seek");
	write_all(out, &header, sizeof(header));
	if (fclose(out) != 0)
		die("cannot write");
	fclose(in);
	printf("%llu\n", (unsigned long long)samples);
	return 0;
}
