// templates.cc - templates SECONDS: C++ whose symbols need demangling
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace workload
{
static volatile uint64_t sink;

template <typename Value> class Heap
{
	std::vector<Value> values;

      public:
	__attribute__((noinline)) void push(const Value &value)
	{
		values.push_back(value);
		for (size_t at = values.size() - 1; at > 0 && values[(at - 1) / 2] < values[at]; at = (at - 1) / 2)
			std::swap(values[at], values[(at - 1) / 2]);
	}

	__attribute__((noinline)) Value pop()
	{
		Value top = values.front();

		std::swap(values.front(), values.back());
		values.pop_back();
		for (size_t at = 0;;) {
			size_t child = 2 * at + 1;

			if (child >= values.size())
				return top;
			if (child + 1 < values.size() && values[child] < values[child + 1])
				child++;
			if (!(values[at] < values[child]))
				return top;
			std::swap(values[at], values[child]);
			at = child;
		}
	}
};

template <typename Value, typename Make>
__attribute__((noinline)) uint64_t
sort_with_heap(size_t count, Make make)
{
	Heap<Value> heap;
	uint64_t random = 88172645463325252, order = 0;

	for (size_t i = 0; i < count; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		heap.push(make(random));
	}
	for (size_t i = 0; i < count; i++)
		order = order * 31 + std::hash<Value>{}(heap.pop());
	return order;
}
} // namespace workload

int
main(int argc, char **argv)
{
	time_t end = time(nullptr) + (argc > 1 ? strtol(argv[1], nullptr, 10) : 1);

	while (time(nullptr) < end) {
		workload::sink = workload::sort_with_heap<uint64_t>(20000, [](uint64_t value) { return value; });
		workload::sink = workload::sort_with_heap<std::string>(
			2000, [](uint64_t value) { return std::to_string(value); });
	}
	return 0;
}
