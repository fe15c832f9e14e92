// throws.cc - loops that exceptions leave, and that are of objects
#include <cstdio>
#include <map>
#include <stdexcept>
#include <vector>

static __attribute__((noinline)) long
sum_until(const std::vector<long> &numbers, long limit)
{
	long sum = 0;

	for (long number : numbers) {
		sum += number;
		if (sum > limit)
			throw std::runtime_error("enough");
	}
	return sum;
}

int
main()
{
	std::vector<long> numbers(1000);
	std::map<long, long> counts;
	long caught = 0, all = 0;

	for (long i = 0; i < 1000; i++)
		numbers[(size_t)i] = i;
	for (long limit = 1; limit < 1000000; limit *= 10) {
		try {
			all += sum_until(numbers, limit);
		} catch (const std::exception &) {
			caught++;
		}
	}
	for (long number : numbers)
		counts[number % 17]++;
	for (const auto &count : counts)
		all += count.second * count.first;
	std::printf("%ld %ld\n", caught, all);
	return 0;
}
