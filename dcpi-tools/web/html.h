/*
 * html.h - HTML and URLs as they are written: markup of ours as it is, everything from outside escaped
 *
 * html() takes markup, which must be a literal of this program; html_text() and html_attribute() take any text.
 * Names from outside reach a page by no other way. A failure (memory) is kept in `failed`: check it once at the end.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_WEB_HTML_H
#define DCPI_TOOLS_WEB_HTML_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/buffer.h>

struct html {
	struct evbuffer *buffer; /* borrowed */
	bool failed;
};

void html(struct html *out, const char *markup);

/* Text between tags or in a quoted attribute: & < > " ' are escaped, control characters and what is no UTF-8 are
 * U+FFFD. */
void html_text(struct html *out, const char *text);

/* ` name="value"`, escaped. */
void html_attribute(struct html *out, const char *name, const char *value);

void html_count(struct html *out, uint64_t count);                /* 12,345 */
void html_real(struct html *out, double number, unsigned digits); /* so many after the decimal point, without 1e9 */
void html_number_attribute(struct html *out, const char *name, double number);

/* `<a href="url">text</a>`. */
void html_link(struct html *out, const char *url, const char *text);

/* A bar of `percent`, clamped to 0 to 100, hidden from screen readers: the number stands beside it. */
void html_bar(struct html *out, double percent, const char *class);

/* Append `text` as a part of a URL: all but letters, digits and -._~/ become %XX. 0 or -ENOMEM. */
int url_append(struct evbuffer *url, const char *text);

#endif
