"""random_loop.py SEED - a program in C with a loop that was drawn by lot, for dcpiloc

The loop has streams, references by an index that is read, and some exits, anywhere between them. With -DCOUNT the program
says on its standard error how many references to its arrays it made in the loop. It prints a number that depends on all of
them.
"""
import random
import sys

ELEMENTS = 2000
BODY_MAX = 6

lot = random.Random(int(sys.argv[1]))


def load(arrays, values):
    """A reference that reads, by a stride or by the value that was read before."""
    name = arrays.pop()
    places = ["i", "i", "2 * i", "i + 3", "n - i"]
    if values:
        places.append(f"(unsigned long){values[-1]} % {ELEMENTS}")
    values.append(f"{name}_read")
    return f"long {name}_read = REFER({name}[{lot.choice(places)}]); sum += {name}_read * {lot.randint(1, 9)};"


def store(arrays, values):
    """One that writes."""
    value = values[-1] if values else "i"
    return f"REFER({arrays.pop()}[{lot.choice(['i', 'i + 1', '2 * i'])}]) = {value} ^ {lot.randint(0, 255)};"


def leave(arrays, values):
    """An exit, or the end of an iteration, that depends on what was read."""
    if not values:
        return ""
    test = f"if ({lot.choice(values)} % {lot.choice([7, 50, 300, 1000, 5000])} == {lot.randint(0, 6)})"
    return f"{test} {lot.choice(['break;', 'return sum + i;', 'goto next;'])}"


def body():
    """The statements of an iteration; each array is referred to once at most: what is read twice is kept."""
    arrays = ["a", "b", "c", "d", "e"]
    values = []
    lot.shuffle(arrays)
    kinds = [lot.choice([load, load, store, store, leave]) for _ in range(lot.randint(2, BODY_MAX))]
    return "\n\t\t".join(kind(arrays, values) for kind in kinds if arrays)


head = lot.choice(["for (long i = 0; i < n; i++) {", "for (long i = 0; i < n; i += 2) {", "for (long i = n - 1; i >= 0; i--) {"])
print(f"""#include <stdio.h>
#ifdef COUNT
static unsigned long made;
#define REFER(element) (*(made++, &(element)))
#else
#define REFER(element) (element)
#endif
#define ROOM (3 * {ELEMENTS})
static long a[ROOM], b[ROOM], c[ROOM], d[ROOM], e[ROOM];
__attribute__((noinline)) static long drawn(long n)
{{
	long sum = 0;

	{head}
		{body()}
	next:;
	}}
	return sum;
}}
int main(void)
{{
	long *const arrays[] = {{a, b, c, d, e}};
	unsigned long random = {lot.getrandbits(60)};
	long sum = 0;

	for (int array = 0; array < 5; array++)
		for (int i = 0; i < ROOM; i++) {{
			random = random * 6364136223846793005UL + 1442695040888963407UL;
			arrays[array][i] = (long)(random >> 38);
		}}
	for (int round = 1; round < 40; round++)
		sum = sum * 31 + drawn(1 + round * 47 % {ELEMENTS});
	for (int array = 0; array < 5; array++)
		for (int i = 0; i < ROOM; i++)
			sum = sum * 7 + arrays[array][i];
	printf("%ld\\n", sum);
#ifdef COUNT
	fprintf(stderr, "%lu\\n", made);
#endif
	return 0;
}}""")
