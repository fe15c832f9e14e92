/*
 * perf_data_fuzz - the reader of perf's files fed with what no perf would write
 *
 * The input is the file.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "stream/perf_data.h"
#include "tests/fuzz/touch_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t
read_records(struct perf_data *data, size_t file_size)
{
	struct record record;
	size_t sum = 0, count;
	uint32_t event;
	int result;

	while ((result = perf_data_next(data, &record, &event)) > 0) {
		sum += touch_record(&record);
		perf_data_events(data, &count);
		require(event == PERF_DATA_NO_EVENT || event < count || record.type != RECORD_SAMPLE);
	}
	require(result == 0 || result == -DCPI_EDAMAGED);
	require(perf_data_next(data, &record, &event) == result);
	require((perf_data_fault(data).text != NULL) == (result != 0));
	require(perf_data_offset(data) <= file_size || result != 0);
	return sum;
}

static size_t
read_descriptions(const struct perf_data *data)
{
	const struct perf_data_machine *machine = perf_data_machine(data);
	size_t sum = 0, count;
	const struct perf_data_build_id *build_ids = perf_data_build_ids(data, &count);
	const struct perf_data_event *events;

	for (size_t i = 0; i < count; i++) {
		require(build_ids[i].build_id_size <= BUILD_ID_SIZE_MAX);
		sum += strlen(build_ids[i].path);
	}
	require(machine->node_count <= PERF_DATA_NODES && machine->cpu_node_count <= 65536);
	for (uint32_t i = 0; i < machine->cpu_node_count; i++)
		require(machine->cpu_nodes[i] == PERF_DATA_NO_NODE || machine->cpu_nodes[i] < machine->node_count);
	events = perf_data_events(data, &count);
	for (size_t i = 0; i < count; i++)
		sum += events[i].name ? strlen(events[i].name) : 0;
	return sum + (machine->host ? strlen(machine->host) : 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("perf.data", MFD_CLOEXEC);
	struct perf_data_fault fault;
	struct perf_data *reader;

	require(fd >= 0);
	require(write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	if (perf_data_open(fd, &reader, &fault) == 0) {
		require(read_records(reader, size) + read_descriptions(reader) < SIZE_MAX);
		perf_data_free(reader);
	} else {
		require(fault.text != NULL);
	}
	close(fd);
	return 0;
}
