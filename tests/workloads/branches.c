/*
 * branches - a loop whose branches are taken with known probabilities, for as many seconds as the argument says
 *
 * Prints the sum over its turns modulo 2^32 in the end, for a fixed number of turns when a second argument gives one:
 * the same whoever watched. The branch in `one_in_four` is taken once in four turns, by chance; that in
 * `seven_of_eight` seven times of eight, in order.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t one_in_four(uint64_t random, uint64_t sum);
uint64_t seven_of_eight(uint64_t turn, uint64_t sum);

#if defined(__x86_64__)
__asm__(".text\n.globl one_in_four\n.type one_in_four, @function\none_in_four:\n"
        "	mov %rsi, %rax\n"
        "	test $3, %edi\n"
        "	jz 1f\n"
        "	add $1, %rax\n"
        "	ret\n"
        "1:	add $2, %rax\n"
        "	ret\n"
        ".size one_in_four, . - one_in_four\n"
        ".globl seven_of_eight\n.type seven_of_eight, @function\nseven_of_eight:\n"
        "	mov %rsi, %rax\n"
        "	test $7, %edi\n"
        "	jnz 1f\n"
        "	add $3, %rax\n"
        "	ret\n"
        "1:	add $4, %rax\n"
        "	ret\n"
        ".size seven_of_eight, . - seven_of_eight\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl one_in_four\n.type one_in_four, %function\none_in_four:\n"
        "	tst w0, #3\n"
        "	b.eq 1f\n"
        "	add x0, x1, #1\n"
        "	ret\n"
        "1:	add x0, x1, #2\n"
        "	ret\n"
        ".size one_in_four, . - one_in_four\n"
        ".globl seven_of_eight\n.type seven_of_eight, %function\nseven_of_eight:\n"
        "	tst w0, #7\n"
        "	b.ne 1f\n"
        "	add x0, x1, #3\n"
        "	ret\n"
        "1:	add x0, x1, #4\n"
        "	ret\n"
        ".size seven_of_eight, . - seven_of_eight\n");
#endif

int
main(int argc, char **argv)
{
	const time_t end = time(NULL) + (argc > 1 ? strtol(argv[1], NULL, 10) : 1);
	const uint64_t turns = argc > 2 ? strtoull(argv[2], NULL, 10) : UINT64_MAX;
	uint64_t random = 88172645463325252, sum = 0;

	for (uint64_t i = 0; i < turns && ((i & 0xfffff) || argc > 2 || time(NULL) < end); i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		sum = one_in_four(random, sum);
		sum = seven_of_eight(i, sum);
	}
	printf("%u\n", (unsigned)sum);
	return 0;
}
