// call_tree_exceptions.cc - work while a C++ exception is thrown, passes a frame, and is caught; linked into call_tree
#include "call_tree_exceptions.h"

#include "burn.h"

#define NOT_INLINE __attribute__((noinline, noclone))

static volatile int sink; // what follows a call keeps it from being a tail call

extern "C" {

NOT_INLINE void
work_in_handler_of_exception(double seconds)
{
	burn(seconds, 9);
	sink = sink + 1;
}

NOT_INLINE void
work_in_cleanup(double seconds)
{
	burn(seconds, 10);
	sink = sink + 1;
}

NOT_INLINE void
throw_exception(int depth)
{
	if (depth == 0)
		throw sink;
	throw_exception(depth - 1);
	sink = sink + 1;
}

void
in_handler_of_exception(double seconds)
{
	try {
		throw_exception(5);
	} catch (int) {
		work_in_handler_of_exception(seconds);
	}
	sink = sink + 1;
}

} // extern "C"

namespace
{
struct cleanup {
	double seconds;

	~cleanup()
	{
		work_in_cleanup(seconds);
	}
};
} // namespace

extern "C" {

// The landing pad of this frame, which compilers put into a part of its own (pass_cleanup.cold), runs the destructor.
NOT_INLINE void
pass_cleanup(double seconds)
{
	cleanup object = {seconds};

	throw_exception(5);
	object.seconds = 0;
}

void
in_cleanup(double seconds)
{
	try {
		pass_cleanup(seconds);
	} catch (int) {
		sink = sink + 1;
	}
	sink = sink + 1;
}

void
in_throw(double seconds)
{
	const double end = burn_clock() + seconds;

	while (burn_clock() < end)
		for (int i = 0; i < 100; i++) {
			try {
				throw_exception(5);
			} catch (int) {
				sink = sink + 1;
			}
		}
}

} // extern "C"
