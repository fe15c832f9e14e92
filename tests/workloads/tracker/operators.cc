// operators.cc - as objects.c, with the operators of C++: a program, or a library that a program of C opens
//
// Without a main() of its own (-DLIBRARY) it has use_operators(), which prints nothing.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

struct alignas(128) wide_object {
	char bytes[256];
};

struct small_object {
	int number[4];
	~small_object()
	{
		number[0] = 1;
	} // so that an array knows its length
};

struct living_operator {
	const void *address;
	std::size_t size;
};

static living_operator lives[64];
static unsigned life_count;

static void
keep(const void *address, std::size_t size)
{
	lives[life_count++] = living_operator{address, size};
}

static volatile std::size_t too_much = SIZE_MAX / 4;

static bool
throws()
{
	try {
		char *volatile made = new char[too_much];
		delete[] made;
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

// Each form once, kept, and once ended. False: something is not as without the tracker.
static bool
use_each()
{
	keep(new small_object, sizeof(small_object));
	keep(reinterpret_cast<char *>(new small_object[3]) - sizeof(std::size_t),
	     3 * sizeof(small_object) + sizeof(std::size_t));
	keep(new (std::nothrow) int, sizeof(int));
	keep(new (std::nothrow) int[7], 7 * sizeof(int));
	keep(new wide_object, sizeof(wide_object));
	keep(new wide_object[2], 2 * sizeof(wide_object));
	keep(new (std::nothrow) wide_object, sizeof(wide_object));
	keep(new (std::nothrow) wide_object[2], 2 * sizeof(wide_object));
	delete new small_object;
	delete[] new small_object[3];
	delete new wide_object;
	delete[] new wide_object[2];
	operator delete(operator new(5));
	operator delete(operator new(5), std::nothrow);
	operator delete[](operator new[](5), std::nothrow);
	operator delete (operator new (500, std::align_val_t{64}), std::align_val_t{64});
	operator delete[](operator new[](500, std::align_val_t{64}), std::align_val_t{64});
	operator delete (operator new (500, std::align_val_t{64}), 500, std::align_val_t{64});
	operator delete[](operator new[](500, std::align_val_t{64}), 500, std::align_val_t{64});
	if (!throws() || new (std::nothrow) char[too_much])
		return false;
	for (int i = 0; i < 1000; i++) {
		std::vector<int> numbers;

		for (int k = 0; k < i; k++)
			numbers.push_back(k);
	}
	keep(new double, sizeof(double)); // after an exception, too
	return true;
}

#ifdef LIBRARY
extern "C" int use_operators();
extern "C" int
use_operators()
{
	return use_each() ? 0 : 1;
}
#else
static void
mark(unsigned pages)
{
	mmap(nullptr, pages * 4096UL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int
main()
{
	char line[80];

	if (throws()) { // the memory in which an exception lies is made once
		mark(1234);
		if (!use_each())
			return 1;
		mark(1235);
	}
	for (unsigned i = 0; i < life_count; i++) {
		const int length = snprintf(line, sizeof(line), "%lx %zu heap\n",
		                            static_cast<unsigned long>(reinterpret_cast<uintptr_t>(lives[i].address)),
		                            lives[i].size);

		if (write(1, line, static_cast<std::size_t>(length)) != length)
			return 1;
	}
	return 0;
}
#endif
