/*
 * kernels.c - loops whose references are known, for dcpiloc
 *
 * kernels NAME [SIZE [ROUNDS]]
 *
 * add: c[i] = a[i] + b[i]. random: places of a table at random. sparse: a matrix in compressed rows times a vector.
 * columns: a matrix, down its columns. chase: a list. search: a loop that may end early. stops: one that may be left in
 * the middle of an iteration. members: one member of structures. flags: a bit field, beside numbers. dense: a matrix
 * times a matrix. ragged: rows of which none, some or all have elements, by the bounds of a nest. threads: `add` in
 * four threads. fork: `add` in a child, and then in its parent. segv: `add`, then a fault. exit: `add`, then _exit().
 * jump: out of a loop by longjmp(). goto: computed jumps between loops. signals: `sparse`, while a timer's handler has
 * a loop of its own.
 *
 * Prints a number that depends on all results.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define THREADS  4
#define ROW      11 /* elements of a row of the sparse matrix */
/* Memory may be another now: what a function returned before is not what it returns again. */
#define FORGET() __asm__ volatile("" : : : "memory")

struct kernel_node {
	struct kernel_node *next;
	uint64_t value;
};

struct body {
	double mass, x, y, z;
};

static uint64_t result;
static size_t size = 1000, rounds = 1;
static jmp_buf out;

static void *
get(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		exit(1);
	return memory;
}

static uint64_t
next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *seed >> 33;
}

NOINLINE static void
add(double *restrict c, const double *a, const double *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		c[i] = a[i] + b[i];
}

static uint64_t
add_all(void)
{
	double *a = get(size * sizeof(*a)), *b = get(size * sizeof(*b)), *c = get(size * sizeof(*c));
	uint64_t sum;

	a[size / 2] = 2;
	b[size / 2] = 3;
	for (size_t i = 0; i < rounds; i++)
		add(c, a, b, size);
	sum = (uint64_t)c[size / 2];
	free(a);
	free(b);
	free(c);
	return sum;
}

NOINLINE static void
update(uint64_t *table, size_t mask, size_t count)
{
	uint64_t seed = 1;

	for (size_t i = 0; i < count; i++)
		table[next_random(&seed) & mask] ^= seed;
}

static uint64_t
update_all(void)
{
	uint64_t *table = get(((size_t)1 << 20) * sizeof(*table)), sum;

	update(table, ((size_t)1 << 20) - 1, size * rounds);
	sum = table[12345] ^ table[777];
	free(table);
	return sum;
}

NOINLINE static void
multiply(size_t count, const int *rows, const int *columns, const double *values, const double *x, double *y)
{
	for (size_t j = 0; j < count; j++) {
		double sum = 0;

		for (int k = rows[j]; k < rows[j + 1]; k++)
			sum += values[k] * x[columns[k]];
		y[j] = sum;
	}
}

static uint64_t
multiply_all(void)
{
	int *rows = get((size + 1) * sizeof(*rows)), *columns = get(size * ROW * sizeof(*columns));
	double *values = get(size * ROW * sizeof(*values)), *x = get(size * sizeof(*x)), *y = get(size * sizeof(*y));
	uint64_t seed = 1, sum;

	for (size_t i = 0; i <= size; i++)
		rows[i] = (int)i * ROW;
	for (size_t i = 0; i < size * ROW; i++) {
		columns[i] = (int)(next_random(&seed) % size);
		values[i] = 1;
	}
	for (size_t i = 0; i < size; i++)
		x[i] = (double)i;
	for (size_t i = 0; i < rounds; i++)
		multiply(size, rows, columns, values, x, y);
	sum = (uint64_t)y[size / 3];
	free(rows);
	free(columns);
	free(values);
	free(x);
	free(y);
	return sum;
}

NOINLINE static double
sum_columns(size_t count, const double *matrix)
{
	double sum = 0;

	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; i < count; i++)
			sum += matrix[i * count + j] * (double)(j + 1);
	return sum;
}

static uint64_t
sum_all_columns(void)
{
	double *matrix = get(size * size * sizeof(*matrix)), sum = 0;

	matrix[size + 1] = 5;
	for (size_t i = 0; i < rounds; i++) {
		sum += sum_columns(size, matrix);
		FORGET();
	}
	free(matrix);
	return (uint64_t)sum;
}

NOINLINE static uint64_t
chase(const struct kernel_node *at)
{
	uint64_t sum = 0;

	for (; at; at = at->next)
		sum += at->value;
	return sum;
}

static uint64_t
chase_all(void)
{
	struct kernel_node *nodes = get(size * sizeof(*nodes));
	size_t at = 0;
	uint64_t sum = 0;

	/* 7919 is prime: each is met once, unless the size is a multiple of it */
	for (size_t i = 0; i + 1 < size; i++) {
		const size_t next = (at + 7919) % size;

		nodes[at].value = i;
		nodes[at].next = &nodes[next];
		at = next;
	}
	for (size_t i = 0; i < rounds; i++) {
		sum += chase(nodes);
		FORGET();
	}
	free(nodes);
	return sum;
}

NOINLINE static size_t
find(const uint32_t *numbers, size_t count, uint32_t wanted)
{
	for (size_t i = 0; i < count; i++)
		if (numbers[i] == wanted)
			return i;
	return count;
}

/* Copies until `stop`, or until a limit is below: how many. */
NOINLINE static size_t
copy_until(uint32_t *restrict to, const uint32_t *from, const uint32_t *limits, size_t count, uint32_t stop)
{
	size_t i = 0;

	for (; i < count; i++) {
		const uint32_t number = from[i];

		if (number == stop)
			return i;
		to[i] = number;
		if (limits[i] < number)
			break;
	}
	return i;
}

/* Two thirds are copied by the first exit, one third by the second. */
static uint64_t
copy_all(void)
{
	uint32_t *from = get(size * sizeof(*from)), *to = get(size * sizeof(*to)),
		 *limits = get(size * sizeof(*limits));
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++)
		from[i] = (uint32_t)i;
	memset(limits, 0xff, size * sizeof(*limits));
	for (size_t i = 0; i < rounds; i++)
		sum += copy_until(to, from, limits, size, (uint32_t)(size * 2 / 3));
	limits[size / 3] = 0;
	for (size_t i = 0; i < rounds; i++)
		sum += copy_until(to, from, limits, size, (uint32_t)(size * 2 / 3));
	sum += to[size / 4];
	free(from);
	free(to);
	free(limits);
	return sum;
}

static uint64_t
find_all(void)
{
	uint32_t *numbers = get(size * sizeof(*numbers));
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++)
		numbers[i] = (uint32_t)i * 3;
	for (size_t i = 0; i < rounds; i++)
		sum += find(numbers, size, (uint32_t)(size / 2 + i) * 3);
	free(numbers);
	return sum;
}

NOINLINE static double
weigh(const struct body *bodies, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += bodies[i].mass;
	return sum;
}

static uint64_t
weigh_all(void)
{
	struct body *bodies = get(size * sizeof(*bodies));
	double sum = 0;

	bodies[size - 1].mass = 9;
	for (size_t i = 0; i < rounds; i++) {
		sum += weigh(bodies, size);
		FORGET();
	}
	free(bodies);
	return (uint64_t)sum;
}

struct flags {
	unsigned low : 5, high : 27;
};

NOINLINE static unsigned
sum_flags(const struct flags *flags, const unsigned *numbers, size_t count)
{
	unsigned sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += flags[i].low + numbers[i];
	return sum;
}

static uint64_t
sum_all_flags(void)
{
	struct flags *flags = get(size * sizeof(*flags));
	unsigned *numbers = get(size * sizeof(*numbers)), sum = 0;

	flags[size / 2].low = 3;
	numbers[size / 3] = 4;
	for (size_t i = 0; i < rounds; i++) {
		sum += sum_flags(flags, numbers, size);
		FORGET();
	}
	free(flags);
	free(numbers);
	return sum;
}

NOINLINE static void
multiply_dense(size_t rows, size_t inner, size_t columns, double *restrict c, const double *a, const double *b)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++) {
			double sum = 0;

			for (size_t k = 0; k < inner; k++)
				sum += a[i * inner + k] * b[k * columns + j];
			c[i * columns + j] = sum;
		}
}

static uint64_t
multiply_all_dense(void)
{
	double *a = get(size * size * sizeof(*a)), *b = get(size * size * sizeof(*b)),
	       *c = get(size * size * sizeof(*c));
	uint64_t sum;

	a[1] = 2;
	b[size] = 3;
	for (size_t i = 0; i < rounds; i++)
		multiply_dense(size, size, size, c, a, b);
	sum = (uint64_t)c[0];
	free(a);
	free(b);
	free(c);
	return sum;
}

NOINLINE static int
sum_ragged(const int *numbers, int rows, int from, int to, int stride)
{
	int sum = 0;

	for (int i = 0; i < rows; i++)
		for (int j = from; j < to; j++)
			sum += numbers[i * stride + j];
	return sum;
}

/* The inner loop runs never, once, and for negative bounds; the outer one never. */
static uint64_t
sum_all_ragged(void)
{
	static const int bounds[][3] = {{9, 0, 0}, {9, 5, 3}, {9, 0, 1}, {9, 2, 7}, {0, 0, 9}, {-3, 0, 9}, {9, -2, 0}};
	int *numbers = get(256 * sizeof(*numbers)), sum = 0;

	for (int i = 0; i < 256; i++)
		numbers[i] = i;
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		sum = sum * 31 + sum_ragged(numbers + 16, bounds[i][0], bounds[i][1], bounds[i][2], 16);
	free(numbers);
	return (uint64_t)sum;
}

static void *
run_thread(void *data)
{
	*(uint64_t *)data = add_all();
	return NULL;
}

static uint64_t
add_in_threads(void)
{
	pthread_t threads[THREADS];
	uint64_t sums[THREADS], sum = 0;

	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run_thread, &sums[i]))
			exit(1);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += sums[i];
	}
	return sum;
}

static uint64_t
add_in_child(void)
{
	uint64_t sum = add_all();
	const pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit((int)(add_all() & 0xff));
	waitpid(child, &status, 0);
	return sum + (uint64_t)WEXITSTATUS(status) + add_all();
}

static uint64_t
add_and_fault(void)
{
	printf("%llu\n", (unsigned long long)add_all());
	fflush(stdout);
	raise(SIGSEGV);
	return 0;
}

static uint64_t
add_and_end(void)
{
	printf("%llu\n", (unsigned long long)add_all());
	fflush(stdout);
	_exit(3);
}

NOINLINE static void
jump_out(const uint64_t *numbers, size_t count, uint64_t *sum)
{
	for (size_t i = 0; i < count; i++) {
		*sum += numbers[i];
		if (i == count / 2)
			longjmp(out, 1);
	}
}

static uint64_t
jump_all(void)
{
	uint64_t *numbers = get(size * sizeof(*numbers)), *sum = get(sizeof(*sum)), all;

	for (size_t i = 0; i < size; i++)
		numbers[i] = i;
	if (!setjmp(out))
		jump_out(numbers, size, sum);
	all = *sum;
	free(numbers);
	free(sum);
	return all;
}

/* A machine whose instructions are jumped to: loops that have no header. */
NOINLINE static uint64_t
interpret(const uint8_t *code, size_t count)
{
	static const void *const places[] = {&&more, &&less, &&end};
	uint64_t value = 1;
	size_t at = 0;

	goto *places[code[at]];
more:
	value = value * 3 + at;
	at = at + 1 < count ? at + 1 : count - 1;
	goto *places[code[at]];
less:
	value ^= value >> 7;
	at = at + 1 < count ? at + 1 : count - 1;
	goto *places[code[at]];
end:
	return value;
}

static uint64_t
interpret_all(void)
{
	uint8_t *code = get(size);
	uint64_t seed = 1, value;

	for (size_t i = 0; i + 1 < size; i++)
		code[i] = next_random(&seed) & 1;
	code[size - 1] = 2;
	value = interpret(code, size);
	free(code);
	return value;
}

static double handled[3][64];

static void
handle(int signal)
{
	(void)signal;
	add(handled[0], handled[1], handled[2], 64);
}

static uint64_t
multiply_beside_signals(void)
{
	const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	uint64_t sum;

	signal(SIGALRM, handle);
	setitimer(ITIMER_REAL, &often, NULL);
	sum = multiply_all();
	setitimer(ITIMER_REAL, &never, NULL);
	return sum;
}

static uint8_t letters[256], *written;

static __attribute__((noinline)) unsigned
is_letter(unsigned code)
{
	return letters[code % 256] & 1;
}

/* Letters are put together and written in capitals: two jumps into a loop make a region with several entries. */
static __attribute__((noinline)) uint64_t
take_words(const uint8_t *at, const uint8_t *end)
{
	uint8_t *to = written;
	uint64_t words = 0;
	unsigned code;

	for (;;) {
		for (;; at++) {
			if (at >= end)
				return words * 1000003 + (uint64_t)(to - written);
			code = *at;
			if (code & 0x80) {
				if (is_letter(code))
					goto wide;
			} else if (is_letter(code)) {
				goto narrow;
			}
		}
		while (at < end) {
			if (to >= written + size)
				to = written;
			code = *at;
			if (code & 0x80) {
				if (!is_letter(code))
					break;
			wide:
				*to++ = (uint8_t)(code + is_letter(code >> 1));
				at++;
			} else if (!is_letter(code)) {
				break;
			} else {
			narrow:
				*to++ = *at >= 'a' && *at <= 'z' ? *at - 32 : *at;
				at++;
			}
		}
		words++;
	}
}

static uint64_t
take_all_words(void)
{
	uint8_t *text = get(size);
	uint64_t seed = 1, value;

	for (size_t i = 0; i < size; i++)
		text[i] = (uint8_t)next_random(&seed);
	for (size_t i = 0; i < sizeof(letters); i++)
		letters[i] = next_random(&seed) % 3 ? 1 : 0;
	written = get(size);
	value = take_words(text, text + size);
	for (size_t i = 0; i < size; i++)
		value = value * 31 + written[i];
	free(text);
	free(written);
	return value;
}

static const struct {
	const char *name;
	uint64_t (*run)(void);
} kernels[] = {
	{"add", add_all},           {"random", update_all},
	{"sparse", multiply_all},   {"columns", sum_all_columns},
	{"chase", chase_all},       {"search", find_all},
	{"stops", copy_all},        {"members", weigh_all},
	{"flags", sum_all_flags},   {"dense", multiply_all_dense},
	{"ragged", sum_all_ragged}, {"threads", add_in_threads},
	{"fork", add_in_child},     {"segv", add_and_fault},
	{"exit", add_and_end},      {"jump", jump_all},
	{"goto", interpret_all},    {"signals", multiply_beside_signals},
	{"words", take_all_words},
};

int
main(int argc, char **argv)
{
	size = argc > 2 ? strtoul(argv[2], NULL, 10) : size;
	rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : rounds;
	for (size_t i = 0; argc > 1 && i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		if (strcmp(argv[1], kernels[i].name) != 0)
			continue;
		result = kernels[i].run();
		printf("%llu\n", (unsigned long long)result);
		return 0;
	}
	fprintf(stderr, "usage: kernels NAME [SIZE [ROUNDS]]\n");
	return 2;
}
