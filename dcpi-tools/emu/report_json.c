#include <errno.h>
#include <sys/wait.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/emu/report.h"

static json_t *
cycles_of(const struct record_counters *counters)
{
	json_t *object = json_object();
	int err = 0;

	for (unsigned i = 0; i < REASON_COUNT; i++)
		err |= json_object_set_new(object, reason_name(i), json_count(counters->cycles[i]));
	return json_kept(object, err);
}

static json_t *
samples_of(const struct emulation_report *report, const struct record_counters *counters)
{
	json_t *object = json_object();
	int err = 0;

	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++) {
		const uint64_t count = i == SETUP_EVENT_CYCLES ? counters_busy(counters) : counters->events[i];
		json_t *event = json_object();

		err |= json_object_set_new(event, "events", json_count(count));
		err |= json_object_set_new(event, "samples", json_count(counters->samples[i]));
		err |= json_object_set_new(event, "period", json_count(report->setup->periods[i]));
		err |= json_object_set_new(object, setup_event_name(i), event);
	}
	return json_kept(object, err);
}

static json_t *
levels_of(const struct emulation_report *report, const struct record_counters *counters)
{
	struct report_level levels[REPORT_LEVELS_MAX];
	const size_t count = emu_report_levels(report, counters, levels);
	json_t *array = json_array();
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		json_t *level = json_object();

		err |= json_object_set_new(level, "name", json_string(levels[i].name));
		err |= json_object_set_new(level, "accesses",
		                           levels[i].accesses ? json_count(levels[i].accesses) : json_null());
		err |= json_object_set_new(level, "loads_missed", json_count(levels[i].loads_missed));
		err |= json_object_set_new(level, "stores_missed", json_count(levels[i].stores_missed));
		err |= json_object_set_new(level, "code_missed", json_count(levels[i].code_missed));
		err |= json_array_append_new(array, level);
	}
	return json_kept(array, err);
}

static json_t *
tlbs_of(const struct record_counters *counters)
{
	json_t *object = json_object();
	int err = 0;

	err |= json_object_set_new(object, "code_missed", json_count(counters->code_tlb_missed));
	err |= json_object_set_new(object, "code_walks", json_count(counters->code_walks));
	err |= json_object_set_new(object, "data_missed", json_count(counters->data_tlb_missed));
	err |= json_object_set_new(object, "data_walks", json_count(counters->data_walks));
	return json_kept(object, err);
}

static int
add_counters(json_t *object, const struct record_counters *counters)
{
	int err = 0;

	err |= json_object_set_new(object, "busy_cycles", json_count(counters_busy(counters)));
	err |= json_object_set_new(object, "cycles", cycles_of(counters));
	err |= json_object_set_new(object, "tlbs", tlbs_of(counters));
	err |= json_object_set_new(object, "mispredicted", json_count(counters->mispredicted));
	err |= json_object_set_new(object, "prefetched", json_count(counters->prefetched));
	err |= json_object_set_new(object, "prefetched_used", json_count(counters->prefetched_used));
	err |= json_object_set_new(object, "system_calls", json_count(counters->calls));
	err |= json_object_set_new(object, "waits", json_count(counters->waits));
	err |= json_object_set_new(object, "waits_timed_out", json_count(counters->timeouts));
	err |= json_object_set_new(object, "delayed_seconds", json_real((double)counters->delayed_ns / 1e9));
	return err;
}

static json_t *
thread_of(const struct emulation_report *report, const struct record_counters *counters, size_t number)
{
	json_t *object = json_object();
	int err = 0;

	err |= json_object_set_new(object, "thread", json_count(number));
	err |= json_object_set_new(object, "began_cycles", json_count(counters->began));
	err |= json_object_set_new(object, "ended_cycles", json_count(counters->clock));
	err |= json_object_set_new(object, "threads", json_count(counters->threads));
	err |= add_counters(object, counters);
	err |= json_object_set_new(object, "levels", levels_of(report, counters));
	return json_kept(object, err);
}

static json_t *
program_of(const struct emulation_report *report, const struct counters_program *program)
{
	json_t *object = json_object(), *threads = json_array();
	int err = 0;

	err |= json_object_set_new(object, "command", json_shown(program->comm));
	err |= json_object_set_new(object, "pid", json_integer(program->pid));
	err |= json_object_set_new(object, "parent", json_integer(program->parent));
	err |= json_object_set_new(object, "began_cycles", json_count(program->start_cycles));
	err |= json_object_set_new(object, "ended_cycles", json_count(program->sum.clock));
	err |= add_counters(object, &program->sum);
	err |= json_object_set_new(object, "not_followed", json_count(program->unfollowed));
	err |= json_object_set_new(object, "not_recorded", json_count(program->unrecorded));
	for (size_t i = 0; i < program->vcpu_count; i++)
		err |= json_array_append_new(threads, thread_of(report, &program->vcpus[i], i));
	err |= json_object_set_new(object, "threads", threads);
	return json_kept(object, err);
}

static json_t *
programs_of(const struct emulation_report *report)
{
	const struct counters *counters = &report->outcome->counters;
	json_t *array = json_array();
	int err = 0;

	for (size_t i = 0; i < counters->count; i++)
		err |= json_array_append_new(array, program_of(report, &counters->programs[i]));
	return json_kept(array, err);
}

static json_t *
nodes_of(const struct emulation_report *report)
{
	json_t *array = json_array();
	int err = 0;

	for (unsigned i = 0; i < report->setup->machine.nodes; i++) {
		json_t *node = json_object();

		err |= json_object_set_new(node, "bytes", json_count(report->outcome->counters.sum.node_bytes[i]));
		err |= json_object_set_new(node, "gb_per_second", json_real(emu_report_bandwidth(report, i)));
		err |= json_object_set_new(node, "limit_gb_per_second", json_real(emu_report_bandwidth_limit(report)));
		err |= json_array_append_new(array, node);
	}
	return json_kept(array, err);
}

static json_t *
machine_of(const struct setup *setup)
{
	json_t *object = json_object();
	int err = 0;

	err |= json_object_set_new(object, "name", json_shown(setup->machine.name));
	err |= json_object_set_new(object, "title", json_shown(setup->machine.title));
	err |= json_object_set_new(object, "pipeline", json_shown(setup->machine.pipeline_name));
	err |= json_object_set_new(object, "clock_mhz", json_real(setup->machine.clock_mhz));
	err |= json_object_set_new(object, "cores", json_count(setup->machine.cores));
	err |= json_object_set_new(object, "cores_seen", json_count(setup->threads));
	return json_kept(object, err);
}

static json_t *
model_of(const struct setup *setup)
{
	json_t *array = json_array();
	int err = 0;

	for (unsigned i = 0; i < SETUP_PART_COUNT; i++)
		if (setup->parts >> i & 1)
			err |= json_array_append_new(array, json_string(setup_part_name(i)));
	return json_kept(array, err);
}

static json_t *
status_of(int status)
{
	return WIFEXITED(status) ? json_pack("{s:i}", "exit", WEXITSTATUS(status))
	                         : json_pack("{s:i}", "signal", WTERMSIG(status));
}

static int
add_time(json_t *root, const struct emulation_report *report)
{
	const double there = emulation_seconds(report->setup, report->outcome);
	const double here = run_seconds(&report->outcome->run);
	int err = 0;

	err |= json_object_set_new(root, "elapsed_cycles", json_count(report->outcome->counters.elapsed_cycles));
	err |= json_object_set_new(root, "seconds", json_real(there));
	err |= json_object_set_new(root, "host_seconds", json_real(here));
	err |= json_object_set_new(root, "slowdown", there > 0 ? json_real(here / there) : json_null());
	err |= json_object_set_new(root, "cores_busy", json_real(emu_report_cores_busy(report)));
	return err;
}

int
emulation_report_json(const struct emulation_report *report, FILE *stream)
{
	const struct record_counters *sum = &report->outcome->counters.sum;
	const struct setup *setup = report->setup;
	const uint32_t epoch = report->outcome->epoch;
	json_t *root = json_object();
	int err = 0;

	err |= json_object_set_new(root, "schema", json_string("dcpiemu/1"));
	err |= json_object_set_new(root, "machine", machine_of(setup));
	err |= json_object_set_new(root, "model", model_of(setup));
	err |= json_object_set_new(root, "quantum_cycles", json_count(setup->quantum_cycles));
	err |= json_object_set_new(root, "seed", json_count(setup->seed));
	err |= json_object_set_new(root, "delay", json_string(setup->delay == DELAY_REAL ? "real" : "none"));
	err |= add_time(root, report);
	err |= json_object_set_new(root, "instructions", json_count(report->outcome->executed.instructions));
	err |= json_object_set_new(root, "loads", json_count(report->outcome->executed.loads));
	err |= json_object_set_new(root, "branches", json_count(report->outcome->executed.branches));
	err |= json_object_set_new(root, "stores", json_count(report->outcome->executed.stores));
	err |= add_counters(root, sum);
	err |= json_object_set_new(root, "levels", levels_of(report, sum));
	err |= json_object_set_new(root, "events", samples_of(report, sum));
	err |= json_object_set_new(root, "nodes", nodes_of(report));
	err |= json_object_set_new(root, "programs", programs_of(report));
	err |= json_object_set_new(root, "still_running", json_count(report->outcome->counters.running));
	err |= json_object_set_new(root, "damaged", json_count(report->outcome->counters.damaged));
	err |= json_object_set_new(root, "database", epoch ? json_shown(report->database) : json_null());
	err |= json_object_set_new(root, "epoch", epoch ? json_count(epoch) : json_null());
	err |= json_object_set_new(root, "label", json_shown(report->label));
	err |= json_object_set_new(root, "program", status_of(report->outcome->run.status));
	return err ? (json_decref(root), -ENOMEM) : json_print_exact(root, stream);
}
