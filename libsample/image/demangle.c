#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "image/symbols.h"

/* Bytes of a demangled name; what would be longer stays mangled. */
#define DEMANGLED_SIZE_MAX ((size_t)1 << 14)

/* Each back reference of a D name can at most double its text, and libiberty has no callback for D to stop it at. */
#define D_BACK_REFERENCES_MAX 16

#define PLT_SUFFIX     "@plt"
#define BASE_62_DIGITS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct demangle_output {
	char *text;
	size_t size;
	jmp_buf give_up;
};

/*
 * Two hundred bytes of mangled name can stand for gigabytes of text, and libiberty has no option that stops it. It
 * holds nothing but stack memory when it calls here, so that it can be left.
 */
static void
append(const char *piece, size_t size, void *context)
{
	struct demangle_output *output = context;

	if (size >= DEMANGLED_SIZE_MAX - output->size)
		longjmp(output->give_up, 1);
	if (size) /* an empty piece may be NULL */
		memcpy(output->text + output->size, piece, size);
	output->size += size;
}

typedef int demangler(const char *name, int options, demangle_callbackref callback, void *context);

static bool
run(demangler *demangle, const char *name, struct demangle_output *output)
{
	output->size = 0;
	if (setjmp(output->give_up))
		return false;
	if (!demangle(name, DMGL_NO_OPTS, append, output))
		return false;
	output->text[output->size] = '\0';
	return output->size > 0;
}

static bool
append_text(struct demangle_output *output, const char *text)
{
	size_t size = strlen(text);

	if (size >= DEMANGLED_SIZE_MAX - output->size)
		return false;
	memcpy(output->text + output->size, text, size + 1);
	output->size += size;
	return true;
}

/*
 * A compiler's copy of a function (`.cold`, `.constprop.0`) keeps saying so, in the words of c++filt; without
 * parameters libiberty drops what follows the name. `.llvm.123` only says that a name was made global.
 */
static bool
demangle_cplusplus(char *name, struct demangle_output *output)
{
	char *clone = strchr(name, '.');

	if (clone)
		*clone = '\0';
	if (!run(cplus_demangle_v3_callback, name, output))
		return false;
	if (!clone)
		return true;
	*clone = '.';
	if (strncmp(clone, ".llvm.", 6) == 0)
		return true;
	return append_text(output, " [clone ") && append_text(output, clone) && append_text(output, "]");
}

/* Cut the parameters off: the last parenthesis at the end, unless it is `!(`, which encloses template arguments. */
static void
cut_parameters(char *text)
{
	size_t at = strlen(text), depth = 0;

	if (at == 0 || text[at - 1] != ')')
		return;
	while (at-- > 0) {
		depth += text[at] == ')';
		depth -= text[at] == '(';
		if (depth == 0)
			break;
	}
	if (depth == 0 && at > 0 && text[at - 1] != '!')
		text[at] = '\0';
}

static bool
demangle_d(const char *name, struct demangle_output *output)
{
	size_t references = 0;
	char *text;
	bool fits;

	for (const char *at = name; *at; at++)
		references += *at == 'Q';
	if (references > D_BACK_REFERENCES_MAX)
		return false;
	text = dlang_demangle(name, DMGL_NO_OPTS);
	if (!text)
		return false;
	cut_parameters(text);
	output->size = 0;
	fits = append_text(output, text);
	free(text);
	return fits;
}

static bool
starts_with(const char *name, const char *start)
{
	return strncmp(name, start, strlen(start)) == 0;
}

/*
 * Does a type of a Rust name (`F` a function, `D` a trait object) bind more lifetimes than one digit of base 62 can
 * say? libiberty counts them one by one, and eleven digits are enough to keep it busy for years. An identifier with
 * this spelling is refused, too.
 */
static bool
binds_many_lifetimes(const char *name)
{
	for (const char *at = name; (at = strpbrk(at, "FD")); at++) {
		size_t digits = at[1] == 'G' ? strspn(at + 2, BASE_62_DIGITS) : 0;

		if (digits > 1 && at[2 + digits] == '_')
			return true;
	}
	return false;
}

static bool
demangle_into(char *name, struct demangle_output *output)
{
	if (starts_with(name, "_D"))
		return demangle_d(name, output);
	if (starts_with(name, "_R") && binds_many_lifetimes(name))
		return false;
	if (run(rust_demangle_callback, name, output))
		return true;
	return demangle_cplusplus(name, output);
}

char *
symbol_demangle(const char *name)
{
	struct demangle_output output = {0};
	char *copy, *suffix;
	bool done = false;

	if (!starts_with(name, "_Z") && !starts_with(name, "_R") && !starts_with(name, "_D"))
		return NULL;
	copy = strdup(name);
	output.text = malloc(DEMANGLED_SIZE_MAX);
	if (copy && output.text) {
		suffix = strstr(copy, PLT_SUFFIX);
		if (suffix)
			*suffix = '\0';
		done = demangle_into(copy, &output) && (!suffix || append_text(&output, PLT_SUFFIX));
	}
	free(copy);
	if (!done) {
		free(output.text);
		return NULL;
	}
	return output.text;
}
