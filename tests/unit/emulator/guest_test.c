/* Tests of emulator/guest.h. This program stands for the emulator, and its memory is the guest's. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emulator/guest.h"

#define EXECVE_X86_64    59
#define CLONE_X86_64     56
#define MMAP_X86_64      9
#define SETUID_X86_64    105
#define SETRESUID_X86_64 117

struct image_notes {
	unsigned images, not_followed;
	char path[PATH_MAX]; /* of the image that came last */
};

static int
add_image(void *context, const struct record_mmap *file)
{
	struct image_notes *notes = context;

	notes->images++;
	snprintf(notes->path, sizeof(notes->path), "%s", file->path);
	return 0;
}

static void
not_followed(void *context)
{
	struct image_notes *notes = context;

	notes->not_followed++;
}

static int
self(void)
{
	return 1;
}

static struct guest *
make_guest(const char *target, struct image_notes *notes)
{
	struct guest *guest = calloc(1, sizeof(*guest));

	assert_non_null(guest);
	assert_int_equal(guest_init(guest, target, 0, NULL, (const void *)(uintptr_t)self), 0);
	assert_int_equal(guest_tell(guest, add_image, not_followed, notes), 0);
	return guest;
}

static void
end_guest(struct guest *guest)
{
	guest_fini(guest);
	free(guest);
}

static uint32_t
image_of(struct guest *guest, const void *bytes, size_t size, uint64_t *offset)
{
	static struct translation translation;

	translation = (struct translation){.bytes = bytes, .size = size, .guest_base = 0x5000};
	guest_take_block(guest, &translation);
	*offset = translation.block.offset;
	return translation.block.image;
}

/* A page in the file `name`, mapped. */
static const uint8_t *
map_page(char *name, uint8_t byte)
{
	uint8_t page[4096];
	void *mapped;
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	memset(page, byte, sizeof(page));
	assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	mapped = mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_true(mapped != MAP_FAILED);
	close(fd);
	return mapped;
}

static void
a_target_that_is_not_known_is_refused(void **state)
{
	static struct guest guest;

	(void)state;
	assert_int_equal(guest_init(&guest, "m68k", 0, NULL, (const void *)(uintptr_t)self), -ENOSYS);
}

static void
only_x86_64_is_x86(void **state)
{
	struct image_notes notes = {0};
	struct guest *guest = make_guest("x86_64", &notes);

	(void)state;
	assert_true(guest->is_x86);
	end_guest(guest);
	guest = make_guest("riscv64", &notes);
	assert_false(guest->is_x86);
	end_guest(guest);
}

static void
a_block_gets_the_file_and_offset_of_its_code(void **state)
{
	char name[] = "/tmp/guest_test.XXXXXX";
	struct image_notes notes = {0};
	const uint8_t *page = map_page(name, 0x90);
	struct guest *guest = make_guest("x86_64", &notes);
	uint64_t offset;

	(void)state;
	assert_int_equal(image_of(guest, page + 0x123, 5, &offset), 1);
	assert_int_equal(offset, 0x123);
	assert_string_equal(notes.path, name);
	assert_int_equal(guest_base(guest), 0x5000);
	assert_int_equal(image_of(guest, page + 0x200, 5, &offset), 1);
	assert_int_equal(notes.images, 1);
	unlink(name);
	end_guest(guest);
}

static void
code_that_was_changed_is_no_file_s(void **state)
{
	char name[] = "/tmp/guest_test.XXXXXX";
	struct image_notes notes = {0};
	uint8_t *page = (uint8_t *)(uintptr_t)map_page(name, 0x90);
	struct guest *guest = make_guest("x86_64", &notes);
	uint64_t offset;

	(void)state;
	page[0x124] = 0xcc;
	assert_int_equal(image_of(guest, page + 0x123, 5, &offset), 0);
	assert_int_equal(offset, 0);
	unlink(name);
	end_guest(guest);
}

static atomic_bool has_begun;

static void *
begin_late(void *guest)
{
	usleep(20000);
	atomic_store(&has_begun, true);
	guest_thread_began(guest);
	return NULL;
}

/* With interface 2 QEMU tells of a thread on the thread itself. */
static void
a_thread_has_begun_when_its_clone_returns(void **state)
{
	const uint64_t arguments[5] = {CLONE_VM | CLONE_THREAD};
	struct image_notes notes = {0};
	struct guest *guest = make_guest("x86_64", &notes);
	pthread_t child;

	(void)state;
	guest_call_began(guest, CLONE_X86_64, arguments);
	assert_int_equal(pthread_create(&child, NULL, begin_late, guest), 0);
	guest_call_ended(guest, 0, CLONE_X86_64, 1234);
	assert_true(atomic_load(&has_begun));
	pthread_join(child, NULL);
	/* one that fails has no thread to wait for, and the next can */
	guest_call_began(guest, CLONE_X86_64, arguments);
	guest_call_ended(guest, 0, CLONE_X86_64, -11);
	guest_call_began(guest, CLONE_X86_64, arguments);
	guest_call_ended(guest, 0, CLONE_X86_64, -11);
	end_guest(guest);
}

static void
what_is_mapped_later_is_found_when_the_call_has_ended(void **state)
{
	char first_name[] = "/tmp/guest_test.XXXXXX", later_name[] = "/tmp/guest_test.XXXXXX";
	struct image_notes notes = {0};
	const uint8_t *first = map_page(first_name, 0x90), *later;
	struct guest *guest = make_guest("x86_64", &notes);
	uint64_t offset;

	(void)state;
	assert_int_equal(image_of(guest, first, 5, &offset), 1);
	later = map_page(later_name, 0xc3);
	guest_call_ended(guest, 0, MMAP_X86_64 + 1, 0);
	assert_int_equal(image_of(guest, later, 5, &offset), 0);
	guest_call_ended(guest, 0, MMAP_X86_64, 0);
	assert_int_equal(image_of(guest, later, 5, &offset), 2);
	assert_string_equal(notes.path, later_name);
	unlink(first_name);
	unlink(later_name);
	end_guest(guest);
}

/* Nothing that the emulator could execute: the kernel tries. */
static void
a_program_that_leaves_the_emulator_is_told_of(void **state)
{
	char name[] = "/tmp/guest_test.XXXXXX";
	struct image_notes notes = {0};
	struct guest *guest = make_guest("x86_64", &notes);
	const uint64_t arguments[5] = {(uintptr_t)name};
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "nothing", 7), 7);
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	guest_call_began(guest, EXECVE_X86_64 + 1, arguments);
	assert_int_equal(notes.not_followed, 0);
	guest_call_began(guest, EXECVE_X86_64, arguments);
	assert_int_equal(notes.not_followed, 1);
	unlink(name);
	end_guest(guest);
}

static void
the_user_that_a_process_becomes_is_the_effective_one(void **state)
{
	const uint64_t arguments[3] = {1, 2, 3}, stays[3] = {1, UINT32_MAX, 3};
	struct image_notes notes = {0};
	struct guest *guest = make_guest("x86_64", &notes);
	uid_t user = 0;

	(void)state;
	assert_true(guest_call_sets_user(guest, SETUID_X86_64, arguments, &user));
	assert_int_equal(user, 1);
	assert_true(guest_call_sets_user(guest, SETRESUID_X86_64, arguments, &user));
	assert_int_equal(user, 2);
	assert_false(guest_call_sets_user(guest, SETRESUID_X86_64, stays, &user));
	assert_false(guest_call_sets_user(guest, MMAP_X86_64, arguments, &user));
	end_guest(guest);
}

static void
handle(int signal)
{
	(void)signal;
}

static void
assert_handler(int signal, void (*handler)(int))
{
	struct sigaction action;

	assert_int_equal(sigaction(signal, NULL, &action), 0);
	assert_true(action.sa_handler == handler);
}

static void
what_was_ignored_is_so_again_once(void **state)
{
	uint32_t signals;

	(void)state;
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_DFL);
	signals = guest_read_ignored_signals();
	assert_int_equal(signals & (1U << (SIGHUP - 1)), 1U << (SIGHUP - 1));
	assert_int_equal(signals & (1U << (SIGPIPE - 1)), 1U << (SIGPIPE - 1));
	assert_int_equal(signals & (1U << (SIGUSR1 - 1)), 0);
	signal(SIGHUP, handle);
	signal(SIGPIPE, handle);
	signal(SIGUSR1, handle);
	guest_ignore_signals(&signals);
	assert_handler(SIGHUP, SIG_IGN);
	assert_handler(SIGPIPE, SIG_IGN);
	assert_handler(SIGUSR1, handle);
	signal(SIGHUP, handle); /* by the guest */
	guest_ignore_signals(&signals);
	assert_handler(SIGHUP, handle);
}

/* The emulator needs to see them. */
static void
faults_are_left_alone(void **state)
{
	uint32_t signals;

	(void)state;
	signal(SIGSEGV, SIG_IGN);
	signals = guest_read_ignored_signals();
	signal(SIGSEGV, handle);
	guest_ignore_signals(&signals);
	assert_handler(SIGSEGV, handle);
	signal(SIGSEGV, SIG_DFL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_that_is_not_known_is_refused),
		cmocka_unit_test(only_x86_64_is_x86),
		cmocka_unit_test(a_block_gets_the_file_and_offset_of_its_code),
		cmocka_unit_test(code_that_was_changed_is_no_file_s),
		cmocka_unit_test(what_is_mapped_later_is_found_when_the_call_has_ended),
		cmocka_unit_test(a_thread_has_begun_when_its_clone_returns),
		cmocka_unit_test(a_program_that_leaves_the_emulator_is_told_of),
		cmocka_unit_test(the_user_that_a_process_becomes_is_the_effective_one),
		cmocka_unit_test(what_was_ignored_is_so_again_once),
		cmocka_unit_test(faults_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
