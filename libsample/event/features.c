#include "event/refusal.h"

/* Ask with `one` feature only: kernels refuse an attribute they do not know as a whole. */
static int
ask_for(const struct event_environment *environment, const struct event_features *one, bool *known)
{
	struct perf_event_attr attr;
	int err;

	event_sideband_attr(one, &attr);
	if (one->cgroup)
		attr.sample_type |= PERF_SAMPLE_CGROUP;
	err = refusal_probe(environment, &attr);
	*known = err == 0;
	return refusal_is_shortage(err) ? err : 0;
}

int
event_features_probe(const struct event_environment *environment, struct event_features *features)
{
	const struct event_features none = {0};
	struct perf_event_attr attr;
	int err;

	*features = none;
	event_sideband_attr(&none, &attr);
	err = refusal_probe(environment, &attr);
	if (!err)
		err = ask_for(environment, &(struct event_features){.cgroup = true}, &features->cgroup);
	if (!err)
		err = ask_for(environment, &(struct event_features){.ksymbol = true}, &features->ksymbol);
	if (!err)
		err = ask_for(environment, &(struct event_features){.read_lost = true}, &features->read_lost);
	return err;
}
