#include "dcpi-tools/common/text.h"

#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/text.h"

#define SHORT_TEXT PATH_MAX

void
text_init(void)
{
	if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
}

/* The bytes of the character at `text`, which is not at its end; its columns in *width. */
static size_t
character_size(const char *text, size_t *width)
{
	mbstate_t state = {0};
	wchar_t wide;
	size_t size;
	int columns;

	*width = 1;
	if ((unsigned char)*text < 0x80) /* nearly all names, and much faster */
		return 1;
	size = mbrtowc(&wide, text, strlen(text), &state);
	if (size == 0 || size == (size_t)-1 || size == (size_t)-2)
		return 1;
	columns = wcwidth(wide);
	if (columns >= 0)
		*width = (size_t)columns;
	return size;
}

size_t
text_width(const char *text)
{
	size_t total = 0, width;

	while (*text) {
		text += character_size(text, &width);
		total += width;
	}
	return total;
}

size_t
text_prefix(const char *text, size_t columns)
{
	size_t used = 0, size = 0, width;

	while (text[size]) {
		size_t next = character_size(text + size, &width);

		if (used + width > columns)
			break;
		used += width;
		size += next;
	}
	return size;
}

size_t
text_suffix(const char *text, size_t columns)
{
	size_t left = text_width(text), skipped = 0, width;

	while (left > columns) {
		skipped += character_size(text + skipped, &width);
		left -= width;
	}
	return skipped;
}

char *
text_shown(const char *text)
{
	size_t capacity = 4 * strlen(text) + 1; /* a byte becomes \xNN at most */
	char *shown = malloc(capacity);

	return shown ? escape_text(text, shown, capacity), shown : NULL;
}

static int
print_long(const char *text, FILE *stream)
{
	char *shown = text_shown(text);

	if (!shown)
		return -ENOMEM;
	fputs(shown, stream);
	free(shown);
	return 0;
}

int
text_print(const char *text, FILE *stream)
{
	char shown[4 * SHORT_TEXT + 1];

	if (strlen(text) > SHORT_TEXT)
		return print_long(text, stream);
	fputs(escape_text(text, shown, sizeof(shown)), stream);
	return 0;
}

const char *
text_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

const char *
text_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
