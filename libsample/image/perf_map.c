#include "image/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc_text.h"

/* Some write "0x", most do not. */
static bool
parse_field(const char **at, uint64_t *value)
{
	if ((*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X'))
		*at += 2;
	if (!proc_text_hex(at, value) || (**at != ' ' && **at != '\t'))
		return false;
	*at += strspn(*at, " \t");
	return true;
}

static int
add_line(struct run_time_code *code, const char *line)
{
	const char *at = line;
	uint64_t address, size;
	size_t length;

	if (!parse_field(&at, &address) || !parse_field(&at, &size)) {
		run_time_code_complain(code);
		return 0;
	}
	length = strlen(at);
	if (length > 0 && at[length - 1] == '\r')
		length--;
	return run_time_code_add(code, address, size, RUN_TIME_NO_CODE, at, length);
}

/* The process is still writing it. */
static bool
is_unfinished(const struct line_reader *reader, const char *line)
{
	return line + strlen(line) == reader->buffer + reader->end;
}

static int
read_lines(struct line_reader *reader, struct run_time_code *code)
{
	uint64_t bytes = 0;
	char *line;
	int result;

	while ((result = line_reader_next(reader, &line)) > 0) {
		if (is_unfinished(reader, line))
			return 0;
		bytes += strlen(line) + 1;
		if (bytes > PERF_MAP_BYTES_MAX) {
			run_time_code_cut(code);
			return 0;
		}
		run_time_code_told_at(code, bytes - strlen(line) - 1);
		result = add_line(code, line);
		if (result)
			return result;
	}
	return result;
}

int
perf_map_read(int fd, struct run_time_code *code)
{
	struct line_reader *reader = malloc(sizeof(*reader));
	int result;

	if (!reader)
		return -ENOMEM;
	line_reader_init(reader, fd);
	result = read_lines(reader, code);
	free(reader);
	return result;
}
