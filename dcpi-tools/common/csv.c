#include "dcpi-tools/common/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/text.h"

static void
begin_field(struct csv *csv)
{
	if (csv->in_line)
		fputc(',', csv->stream);
	csv->in_line = true;
}

void
csv_text(struct csv *csv, const char *text)
{
	begin_field(csv);
	if (!text[strcspn(text, "\",\r\n")]) {
		fputs(text, csv->stream);
		return;
	}
	fputc('"', csv->stream);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', csv->stream);
		fputc(*text, csv->stream);
	}
	fputc('"', csv->stream);
}

int
csv_shown(struct csv *csv, const char *text)
{
	char *shown = text_shown(text ? text : "");

	if (!shown)
		return -ENOMEM;
	csv_text(csv, shown);
	free(shown);
	return 0;
}

void
csv_number(struct csv *csv, uint64_t number)
{
	begin_field(csv);
	fprintf(csv->stream, "%" PRIu64, number);
}

void
csv_real(struct csv *csv, double number, int digits)
{
	begin_field(csv);
	fprintf(csv->stream, "%.*f", digits, number);
}

void
csv_end(struct csv *csv)
{
	fputc('\n', csv->stream);
	csv->in_line = false;
}
