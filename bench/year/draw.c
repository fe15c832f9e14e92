/* Chance, and which addresses it picks. */
#include "bench/year/year.h"

#include <math.h>

double
draw(struct year_bench *bench)
{
	bench->state ^= bench->state >> 12;
	bench->state ^= bench->state << 25;
	bench->state ^= bench->state >> 27;
	return (double)((bench->state * UINT64_C(0x2545f4914f6cdd1d)) >> 11) / (double)(UINT64_C(1) << 53);
}

uint64_t
draw_poisson(struct year_bench *bench, double mean)
{
	double product, limit;
	uint64_t count = 0;

	if (mean > 30) {
		double normal = sqrt(-2 * log(1 - draw(bench))) * cos(6.283185307179586 * draw(bench));

		return (uint64_t)fmax(0, mean + sqrt(mean) * normal + 0.5);
	}
	product = draw(bench);
	limit = exp(-mean);
	while (product > limit) {
		product *= draw(bench);
		count++;
	}
	return count;
}

/* Low numbers far more often. */
static size_t
draw_skewed(struct year_bench *bench, size_t bound)
{
	double u = draw(bench);

	return (size_t)(u * u * u * (double)bound);
}

void
make_keys(struct year_bench *bench)
{
	double sum = 0;

	for (size_t rank = 1; rank <= PROCEDURES; rank++)
		sum += pow((double)rank, -ZIPF);
	for (size_t rank = 1; rank <= PROCEDURES; rank++) {
		struct key procedure = {
			.image = (uint16_t)draw_skewed(bench, IMAGES),
			.command =
				(uint16_t)(rank % SHORT_SHARE == 0 ? COMMANDS + (size_t)(draw(bench) * SHORT_COMMANDS)
		                                                   : draw_skewed(bench, COMMANDS)),
			.event = draw(bench) < 0.2,
			.offset = (uint64_t)(draw(bench) * 2000) << 12,
		};
		double parts[INSTRUCTIONS], all = 0;

		for (size_t i = 0; i < INSTRUCTIONS; i++)
			all += parts[i] = -log(1 - draw(bench));
		for (size_t i = 0; i < INSTRUCTIONS; i++) {
			struct key *key = &bench->keys[(rank - 1) * INSTRUCTIONS + i];

			*key = procedure;
			key->offset += (uint64_t)(draw(bench) * 1024) * 4;
			key->share = pow((double)rank, -ZIPF) / sum * parts[i] / all;
		}
	}
}
