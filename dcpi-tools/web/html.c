#include "dcpi-tools/web/html.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIXED_DIGITS 3              /* behind the decimal point */
#define FIXED_MOST   1e12           /* numbers below fit into 64 bits with these digits */
#define REPLACEMENT  "\xef\xbf\xbd" /* U+FFFD */

static void
add(struct html *out, const char *bytes, size_t size)
{
	if (evbuffer_add(out->buffer, bytes, size) < 0)
		out->failed = true;
}

void
html(struct html *out, const char *markup)
{
	add(out, markup, strlen(markup));
}

/*
 * The length of the well-formed UTF-8 character at `text`, which ends with a NUL; 0 for anything else: stray and
 * missing continuation bytes, overlong forms, surrogates, numbers above U+10FFFF.
 */
static size_t
character_length(const unsigned char *text)
{
	const unsigned char first = text[0], second = first >= 0xc2 ? text[1] : 0;
	size_t length;

	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
	    (first == 0xf4 && second > 0x8f))
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

/* What stands for a character in HTML; NULL: itself. */
static const char *
entity_of(unsigned char byte)
{
	switch (byte) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	case '\t':
	case '\n':
		return NULL;
	default:
		return byte < 0x20 || byte == 0x7f ? REPLACEMENT : NULL;
	}
}

void
html_text(struct html *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text, *plain = at;

	while (*at) {
		const size_t length = character_length(at);
		const char *entity = length == 0 ? REPLACEMENT : length == 1 ? entity_of(*at) : NULL;

		if (!entity) {
			at += length;
			continue;
		}
		add(out, (const char *)plain, (size_t)(at - plain));
		html(out, entity);
		plain = ++at;
	}
	add(out, (const char *)plain, (size_t)(at - plain));
}

void
html_attribute(struct html *out, const char *name, const char *value)
{
	html(out, " ");
	html(out, name);
	html(out, "=\"");
	html_text(out, value);
	html(out, "\"");
}

void
html_count(struct html *out, uint64_t count)
{
	char digits[24], text[32];
	const size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	add(out, text, used);
}

/* A picture has ten thousands of numbers with two digits: printf() would take most of the time of its page. */
static void
add_fixed(struct html *out, double number, unsigned digits)
{
	static const double scales[FIXED_DIGITS + 1] = {1, 10, 100, 1000};
	uint64_t scaled = (uint64_t)llround(fabs(number) * scales[digits]);
	char text[32];
	size_t at = sizeof(text);
	const bool is_negative = number < 0 && scaled > 0;

	for (unsigned i = 0; i <= digits || scaled > 0; i++) {
		if (i == digits && digits > 0)
			text[--at] = '.';
		text[--at] = (char)('0' + scaled % 10);
		scaled /= 10;
	}
	if (is_negative)
		text[--at] = '-';
	add(out, &text[at], sizeof(text) - at);
}

void
html_real(struct html *out, double number, unsigned digits)
{
	char text[352]; /* the largest double has 309 digits */

	if (!isfinite(number))
		html(out, "-");
	else if (digits <= FIXED_DIGITS && fabs(number) < FIXED_MOST)
		add_fixed(out, number, digits);
	else
		add(out, text, (size_t)snprintf(text, sizeof(text), "%.*f", (int)(digits < 20 ? digits : 20), number));
}

void
html_number_attribute(struct html *out, const char *name, double number)
{
	html(out, " ");
	html(out, name);
	html(out, "=\"");
	html_real(out, isfinite(number) ? number : 0, 2);
	html(out, "\"");
}

void
html_link(struct html *out, const char *url, const char *text)
{
	html(out, "<a");
	html_attribute(out, "href", url);
	html(out, ">");
	html_text(out, text);
	html(out, "</a>");
}

void
html_bar(struct html *out, double percent, const char *class)
{
	html(out, "<svg aria-hidden=\"true\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\"");
	html_attribute(out, "class", class);
	html(out, "><rect height=\"10\"");
	html_number_attribute(out, "width", fmin(fmax(percent, 0), 100));
	html(out, "/></svg>");
}

int
url_append(struct evbuffer *url, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		const bool is_plain = *at < 0x80 && (isalnum(*at) || strchr("-._~/", *at));

		if ((is_plain ? evbuffer_add(url, at, 1) : evbuffer_add_printf(url, "%%%02X", *at)) < 0)
			return -ENOMEM;
	}
	return 0;
}
