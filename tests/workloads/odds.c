/*
 * odds - one procedure whose branches and loops go their ways with known odds, for as many seconds as the argument says
 *
 * With a second argument, for so many turns instead. Prints a sum that whoever watches must not change. Absolute
 * symbols say how far into `odds` a place is: odds_70 and odds_30 are the two sides of a branch, so are odds_95 and
 * odds_5, odds_loop runs five times a turn and odds_turn once.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLACE(name) __asm__ volatile("9: .globl " #name "\n.set " #name ", 9b - odds" : "+r"(random), "+r"(sum))

uint64_t odds(uint64_t turns, uint64_t *state);

__attribute__((noinline, noclone)) uint64_t
odds(uint64_t turns, uint64_t *state)
{
	uint64_t random = *state, sum = 0;

	for (uint64_t i = 0; i < turns; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		PLACE(odds_turn);
		if ((random & 1023) < 717) {
			PLACE(odds_70);
			sum += 3;
		} else {
			PLACE(odds_30);
			sum ^= random;
		}
		if ((random >> 20 & 1023) >= 51) {
			PLACE(odds_95);
			sum += 5;
		} else {
			PLACE(odds_5);
			sum *= 7;
		}
		for (unsigned k = 0; k < 5; k++) {
			PLACE(odds_loop);
			sum += k;
		}
	}
	*state = random;
	return sum;
}

int
main(int argc, char **argv)
{
	const time_t end = time(NULL) + (argc > 1 ? strtol(argv[1], NULL, 10) : 1);
	const uint64_t turns = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t state = 88172645463325252, sum = 0;

	if (turns)
		sum = odds(turns, &state);
	while (!turns && time(NULL) < end)
		sum += odds(1000000, &state);
	printf("%u\n", (unsigned)sum);
	return 0;
}
