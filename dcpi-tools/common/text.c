#include "dcpi-tools/common/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "base/clock.h"
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
	if ((unsigned char)*text < 0x80) /* most characters, and much faster than mbrtowc() */
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

int
text_print(const char *text, FILE *stream)
{
	char shown[4 * SHORT_TEXT + 1], *longer;

	if (strlen(text) <= SHORT_TEXT) {
		fputs(escape_text(text, shown, sizeof(shown)), stream);
		return 0;
	}
	longer = text_shown(text);
	if (!longer)
		return -ENOMEM;
	fputs(longer, stream);
	free(longer);
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

#define MINUTE_S    60
#define HOUR_S      3600
#define DAY_S       86400
#define WEEK_S      604800
#define SECONDS_MAX (UINT64_MAX / SECOND_NS / 2) /* far beyond any clock, and sums cannot overflow */

/* Read between `least` and `most` digits at *at, step over them. */
static bool
read_digits(const char **at, int least, int most, uint64_t *number)
{
	int count = 0;

	*number = 0;
	while (count < most && isdigit((unsigned char)(*at)[count]))
		*number = *number * 10 + (uint64_t)((*at)[count++] - '0');
	*at += count;
	return count >= least;
}

static bool
read_character(const char **at, char expected)
{
	if (**at != expected)
		return false;
	(*at)++;
	return true;
}

/* ".123" or nothing: nanoseconds. Digits past the ninth are dropped. */
static bool
read_fraction(const char **at, uint64_t *nanoseconds)
{
	uint64_t unit = SECOND_NS / 10;

	*nanoseconds = 0;
	if (!read_character(at, '.'))
		return true;
	if (!isdigit((unsigned char)**at))
		return false;
	for (; isdigit((unsigned char)**at); (*at)++, unit /= 10)
		*nanoseconds += unit * (uint64_t)(**at - '0');
	return true;
}

/* `1h30m`: that long ago. */
static int
parse_ago(const char *text, uint64_t now_ns, uint64_t *time_ns)
{
	static const char letters[] = "smhdw";
	static const uint64_t seconds[] = {1, MINUTE_S, HOUR_S, DAY_S, WEEK_S};
	uint64_t total = 0, number;

	do {
		const char *unit;

		if (!read_digits(&text, 1, 9, &number))
			return -EINVAL;
		unit = *text ? strchr(letters, *text) : NULL;
		if (!unit)
			return -EINVAL;
		total += number * seconds[unit - letters];
		text++;
	} while (*text);
	if (total > now_ns / SECOND_NS)
		return -EINVAL;
	*time_ns = now_ns - total * SECOND_NS;
	return 0;
}

static int
parse_epoch_seconds(const char *text, uint64_t *time_ns)
{
	uint64_t seconds, nanoseconds;

	if (!read_digits(&text, 1, 18, &seconds) || !read_fraction(&text, &nanoseconds) || *text)
		return -EINVAL;
	if (seconds > SECONDS_MAX)
		return -EINVAL;
	*time_ns = seconds * SECOND_NS + nanoseconds;
	return 0;
}

/* HH:MM[:SS[.fraction]] */
static bool
read_clock(const char **at, struct tm *tm, uint64_t *nanoseconds)
{
	uint64_t hour, minute, second = 0;

	*nanoseconds = 0;
	if (!read_digits(at, 1, 2, &hour) || !read_character(at, ':') || !read_digits(at, 2, 2, &minute))
		return false;
	if (read_character(at, ':') && (!read_digits(at, 2, 2, &second) || !read_fraction(at, nanoseconds)))
		return false;
	if (hour > 23 || minute > 59 || second > 60)
		return false;
	tm->tm_hour = (int)hour;
	tm->tm_min = (int)minute;
	tm->tm_sec = (int)second;
	return true;
}

/* YYYY-MM-DD */
static bool
read_date(const char **at, struct tm *tm)
{
	static const uint64_t days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	uint64_t year, month, day;
	bool leap;

	if (!read_digits(at, 4, 4, &year) || !read_character(at, '-') || !read_digits(at, 2, 2, &month) ||
	    !read_character(at, '-') || !read_digits(at, 2, 2, &day))
		return false;
	leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	if (year < 1970 || month < 1 || month > 12 || day < 1 || day > days[month - 1] ||
	    (month == 2 && day == 29 && !leap))
		return false;
	tm->tm_year = (int)year - 1900;
	tm->tm_mon = (int)month - 1;
	tm->tm_mday = (int)day;
	return true;
}

/* Z, +HH:MM, -HHMM: seconds east of Greenwich. */
static bool
read_zone(const char **at, int64_t *east)
{
	uint64_t hours, minutes;
	bool west = **at == '-';

	*east = 0;
	if (read_character(at, 'Z') || read_character(at, 'z'))
		return true;
	if (!west && **at != '+')
		return false;
	(*at)++;
	if (!read_digits(at, 2, 2, &hours))
		return false;
	read_character(at, ':');
	if (!read_digits(at, 2, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*east = (int64_t)(hours * HOUR_S + minutes * MINUTE_S) * (west ? -1 : 1);
	return true;
}

static int
from_seconds(int64_t seconds, uint64_t nanoseconds, uint64_t *time_ns)
{
	if (seconds < 0 || (uint64_t)seconds > SECONDS_MAX)
		return -EINVAL;
	*time_ns = (uint64_t)seconds * SECOND_NS + nanoseconds;
	return 0;
}

static int
parse_date(const char *text, uint64_t *time_ns)
{
	struct tm tm = {.tm_isdst = -1};
	uint64_t nanoseconds = 0;
	int64_t east;

	if (!read_date(&text, &tm))
		return -EINVAL;
	if (!*text)
		return from_seconds(mktime(&tm), 0, time_ns);
	if (!strchr(" Tt", *text++) || !read_clock(&text, &tm, &nanoseconds))
		return -EINVAL;
	if (!*text)
		return from_seconds(mktime(&tm), nanoseconds, time_ns);
	if (*text == ' ')
		text++;
	if (!read_zone(&text, &east) || *text)
		return -EINVAL;
	tm.tm_isdst = 0;
	return from_seconds(timegm(&tm) - east, nanoseconds, time_ns);
}

/* The last time it was HH:MM[:SS], today or yesterday. */
static int
parse_clock(const char *text, uint64_t now_ns, uint64_t *time_ns)
{
	time_t now = (time_t)(now_ns / SECOND_NS);
	uint64_t nanoseconds;
	struct tm tm;
	int err;

	if (!localtime_r(&now, &tm) || !read_clock(&text, &tm, &nanoseconds) || *text)
		return -EINVAL;
	tm.tm_isdst = -1;
	err = from_seconds(mktime(&tm), nanoseconds, time_ns);
	if (err || *time_ns <= now_ns)
		return err;
	tm.tm_mday--;
	tm.tm_isdst = -1;
	return from_seconds(mktime(&tm), nanoseconds, time_ns);
}

int
time_parse(const char *text, uint64_t now_ns, uint64_t *time_ns)
{
	size_t digits = strspn(text, "0123456789");

	if (text[0] == '@')
		return parse_epoch_seconds(text + 1, time_ns);
	if (digits == 0)
		return -EINVAL;
	if (text[digits] == ':')
		return parse_clock(text, now_ns, time_ns);
	if (text[digits] == '-')
		return parse_date(text, time_ns);
	return parse_ago(text, now_ns, time_ns);
}

uint64_t
time_now(void)
{
	return clock_ns(CLOCK_REALTIME);
}

const char *
time_format(uint64_t time_ns, char text[TIME_TEXT_SIZE])
{
	time_t seconds = (time_t)(time_ns / SECOND_NS);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(text, TIME_TEXT_SIZE, "%Y-%m-%d %H:%M:%S %Z", &tm))
		snprintf(text, TIME_TEXT_SIZE, "@%" PRIu64, time_ns / SECOND_NS);
	return text;
}

const char *
time_format_range(uint64_t start_ns, uint64_t end_ns, char text[2 * TIME_TEXT_SIZE])
{
	char start[TIME_TEXT_SIZE], end[TIME_TEXT_SIZE];
	const char *shown = time_format(end_ns, end);
	size_t date = strlen("2026-11-21 "), zone = strlen("2026-11-21 14:30:00");

	time_format(start_ns, start);
	if (start[0] != '@' && strncmp(start, end, date) == 0)
		shown += date;
	/* summer time may end in between */
	if (start[0] != '@' && end[0] != '@' && strcmp(start + zone, end + zone) == 0)
		start[zone] = '\0';
	snprintf(text, 2 * TIME_TEXT_SIZE, "%s to %s", start, shown);
	return text;
}

const char *
duration_format(uint64_t duration_ns, char text[TIME_TEXT_SIZE])
{
	uint64_t seconds = (duration_ns + SECOND_NS / 2) / SECOND_NS;
	uint64_t minutes = seconds / MINUTE_S, hours = seconds / HOUR_S, days = seconds / DAY_S;

	if (duration_ns < 10 * SECOND_NS && duration_ns % SECOND_NS != 0)
		snprintf(text, TIME_TEXT_SIZE, "%.1f s", (double)duration_ns / (double)SECOND_NS);
	else if (seconds < 2 * MINUTE_S && seconds != MINUTE_S)
		snprintf(text, TIME_TEXT_SIZE, "%" PRIu64 " s", seconds);
	else if (seconds < HOUR_S)
		snprintf(text, TIME_TEXT_SIZE, "%" PRIu64 " min", minutes);
	else if (seconds < DAY_S)
		snprintf(text, TIME_TEXT_SIZE, "%" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
	else
		snprintf(text, TIME_TEXT_SIZE, "%" PRIu64 " d %" PRIu64 " h", days, hours % 24);
	return text;
}
