#include "collectord/capture_account.h"

/*
 * Of dcpi-capture alone on an AMD EPYC (docs/benchmarks.md): 2.5 ms for its start and end; for names 1.3 ns a byte of
 * cc1, 2.5 of libc; for the code of 50 places 8 ms more. Storing takes half a millisecond.
 */
#define RUN_NS     3000000.0
#define BYTE_NS    1.5
#define GRANULE_NS 150000.0

#define FIRST_RATIO 2.0  /* beside other work, with nothing in the CPU's caches, a run takes twice as much */
#define LEARN       0.25 /* part of a run's ratio in the next expectation */
#define RATIO_MAX   16.0 /* of one run: one file that is read for seconds is no measure of the others */

static double
reckon_ns(const struct capture_work *work)
{
	return RUN_NS + BYTE_NS * (double)work->file_size + GRANULE_NS * (double)work->granule_count;
}

void
capture_account_init(struct capture_account *account, int64_t most_ns)
{
	*account = (struct capture_account){.most_ns = most_ns, .cost_ratio = FIRST_RATIO};
}

bool
capture_account_earn(struct capture_account *account, uint64_t samples)
{
	const uint64_t room_ns = (uint64_t)(account->most_ns - account->saved_ns);
	const bool is_full = samples > room_ns / CAPTURE_SAMPLE_PAYS_NS;
	const uint64_t earned_ns = is_full ? room_ns : samples * CAPTURE_SAMPLE_PAYS_NS;

	account->saved_ns += (int64_t)earned_ns;
	return earned_ns > 0;
}

void
capture_account_spend(struct capture_account *account, uint64_t cost_ns)
{
	account->saved_ns -= (int64_t)cost_ns;
}

void
capture_account_learn(struct capture_account *account, const struct capture_work *work, uint64_t cost_ns)
{
	const double ratio = (double)cost_ns / reckon_ns(work);

	if (work->file_size == 0)
		return;
	account->cost_ratio += LEARN * ((ratio < RATIO_MAX ? ratio : RATIO_MAX) - account->cost_ratio);
}

double
capture_account_expected_ns(const struct capture_account *account, const struct capture_work *work)
{
	return account->cost_ratio * reckon_ns(work);
}

bool
capture_account_affords(const struct capture_account *account, const struct capture_work *work)
{
	return account->saved_ns >= account->most_ns ||
	       (double)account->saved_ns >= capture_account_expected_ns(account, work);
}
