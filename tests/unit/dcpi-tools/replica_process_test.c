/*
 * What the replica executes in the place of a child that goes round in one of the loops below. Their
 * instructions have labels, and what must follow what is written down by hand.
 */
#include "tests/unit/test.h"

#if defined(__x86_64__)
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "dcpi-tools/x/replica_process.h"

#define STEPS    300
#define LIMIT_NS (5 * SECOND_NS) /* of a machine that is busy with other things */

/* Every second time round it calls `leaf`. */
__asm__(".text\n"
        ".globl subject_round\nsubject_round:\n"
        ".globl round_add\nround_add: add $1, %rax\n"
        ".globl round_test\nround_test: test $1, %al\n"
        ".globl round_jz\nround_jz: jz round_jmp\n"
        ".globl round_call\nround_call: call *%rbx\n"
        ".globl round_jmp\nround_jmp: jmp round_add\n"
        ".globl leaf\nleaf: incq (%rdi)\n"
        ".globl leaf_ret\nleaf_ret: ret\n");
/* Ends up at `wrong` unless vectors and the thread's pointer are those that it had. */
__asm__(".globl checks\nchecks:\n"
        "	mov $3, %eax\n"
        "	cvtsi2sd %eax, %xmm5\n"
        "	mov %fs:0, %rsi\n"
        ".globl checks_round\nchecks_round:\n"
        "	cvttsd2si %xmm5, %eax\n"
        "	cmp $3, %eax\n"
        "	jne wrong\n"
        "	cmp %fs:0, %rsi\n"
        "	jne wrong\n"
        "	jmp checks_round\n"
        ".globl wrong\nwrong: jmp wrong\n");
/* A system call, or a fault behind two instructions that are no branch, once somebody says so. */
__asm__(".globl calls\ncalls:\n"
        "1:	cmpq $0, 8(%rdi)\n"
        "	je 1b\n"
        "	mov $39, %eax\n"
        ".globl calls_call\ncalls_call: syscall\n"
        "	jmp calls\n");
__asm__(".globl faults\nfaults:\n"
        "1:	cmpq $0, 8(%rdi)\n"
        "	je 1b\n"
        "	xor %eax, %eax\n"
        "	nop\n"
        ".globl faults_load\nfaults_load: mov (%rax), %eax\n"
        "	jmp faults\n");
/* What repeats itself, and what lies in two pages. */
__asm__(".globl repeats\nrepeats:\n"
        "	mov %rdi, %rdx\n"
        ".globl repeats_round\nrepeats_round:\n"
        "	mov %rdx, %rdi\n"
        "	mov $100, %ecx\n"
        ".globl repeats_rep\nrepeats_rep: rep stosb\n"
        ".globl repeats_next\nrepeats_next: jmp repeats_far\n"
        ".p2align 12\n"
        ".skip 4094, 0x90\n"
        ".globl repeats_far\nrepeats_far: mov $1000000, %eax\n"
        ".globl repeats_back\nrepeats_back: jmp repeats_round\n"
        ".globl subjects_end\nsubjects_end:\n");

typedef void loop_body(uint64_t *memory, void *unused, void *more, void *called);
extern loop_body subject_round, checks, calls, faults, repeats;
extern const char round_add[], round_test[], round_jz[], round_call[], round_jmp[], leaf[], leaf_ret[], checks_round[],
	wrong[], calls_call[], faults_load[], repeats_rep[], repeats_next[], repeats_far[], repeats_back[],
	subjects_end[];

static struct {
	pid_t pid;
	uint64_t *memory; /* shared with the child; [511]: it has begun */
	struct replica_process *replica;
	struct stopped_thread thread;
	struct burst burst;
} scene;

static __attribute__((noreturn)) void
be_subject(loop_body *loop)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	scene.memory[511] = 1;
	__asm__ volatile("jmp *%0" : : "a"(loop), "b"(leaf), "D"(scene.memory) : "memory");
	abort();
}

static void
begin(loop_body *loop)
{
	scene.memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(scene.memory, MAP_FAILED);
	scene.pid = fork();
	if (scene.pid == 0)
		be_subject(loop);
	assert_true(scene.pid > 0);
	while (!__atomic_load_n(&scene.memory[511], __ATOMIC_ACQUIRE))
		usleep(1000);
	scene.replica = replica_process_new(scene.pid);
	assert_non_null(scene.replica);
}

static int
end(void **state)
{
	(void)state;
	replica_process_free(scene.replica);
	kill(scene.pid, SIGKILL);
	while (waitpid(scene.pid, NULL, 0) < 0 && errno == EINTR)
		;
	munmap(scene.memory, 4096);
	memset(&scene, 0, sizeof(scene));
	return 0;
}

/* Stop it in its loop, where it will be soon. */
static void
stop(void)
{
	const struct user_regs_struct *registers = &scene.thread.registers;

	for (;;) {
		const int err = stopped_thread_stop(scene.pid, &scene.thread);

		if (err == -EBUSY) {
			do {
				usleep(1000);
				stopped_thread_reap();
			} while (running_tracer(scene.pid, scene.pid) == getpid());
			continue;
		}
		assert_int_equal(err, 0);
		if (registers->rip >= (uintptr_t)subject_round && registers->rip < (uintptr_t)subjects_end)
			return;
		stopped_thread_release(&scene.thread);
		usleep(1000);
	}
}

static void
execute(void)
{
	assert_int_equal(replica_process_execute(scene.replica, &scene.thread, STEPS, LIMIT_NS, &scene.burst), 0);
}

/* The places are then what the child was going to execute. */
static void
take(void)
{
	stop();
	execute();
	stopped_thread_release(&scene.thread);
}

static bool
is_at(size_t i, const char *place)
{
	return scene.burst.places[i] == (uintptr_t)place;
}

static void
a_burst_goes_where_the_thread_would(void **state)
{
	size_t taken = 0, passed = 0, last_taken = 2;

	(void)state;
	begin(subject_round);
	take();
	assert_int_equal(scene.burst.count, STEPS);
	assert_int_equal(scene.burst.end, REPLICA_END_STEPS);
	for (size_t i = 0; i < STEPS; i++) {
		if (is_at(i, round_add)) {
			assert_true(is_at(i + 1, round_test));
		} else if (is_at(i, round_test)) {
			assert_true(is_at(i + 1, round_jz));
		} else if (is_at(i, round_jz)) {
			const bool is_taken = is_at(i + 1, round_jmp);

			assert_true(is_taken || is_at(i + 1, round_call));
			assert_true(is_taken != last_taken);
			last_taken = is_taken;
			taken += is_taken;
			passed += !is_taken;
		} else if (is_at(i, round_call)) {
			assert_true(is_at(i + 1, leaf));
		} else if (is_at(i, leaf)) {
			assert_true(is_at(i + 1, leaf_ret));
		} else if (is_at(i, leaf_ret)) {
			assert_true(is_at(i + 1, round_jmp));
		} else {
			assert_true(is_at(i, round_jmp));
			assert_true(is_at(i + 1, round_add));
		}
	}
	assert_true(taken >= STEPS / 12 && passed >= STEPS / 12);
}

static void
memory_of_the_process_is_not_written(void **state)
{
	uint64_t before;

	(void)state;
	begin(subject_round);
	stop();
	before = scene.memory[0];
	execute();
	assert_int_equal(scene.burst.count, STEPS);
	assert_int_equal(scene.memory[0], before);
	stopped_thread_release(&scene.thread);
}

static void
a_second_burst_sees_the_memory_of_then(void **state)
{
	(void)state;
	begin(subject_round);
	take();
	usleep(5000);
	take();
	assert_int_equal(scene.burst.count, STEPS);
}

static void
vectors_and_the_pointer_of_the_thread_are_taken_over(void **state)
{
	(void)state;
	begin(checks);
	take();
	assert_int_equal(scene.burst.count, STEPS);
	for (size_t i = 0; i <= STEPS; i++)
		assert_false(is_at(i, wrong));
}

/* What the child would execute, were the loop that it is in over. */
static void
take_behind_loop(void)
{
	stop();
	scene.memory[1] = 1;
	execute();
	scene.memory[1] = 0;
	stopped_thread_release(&scene.thread);
}

static void
a_burst_ends_before_a_system_call(void **state)
{
	(void)state;
	begin(calls);
	take_behind_loop();
	assert_int_equal(scene.burst.end, REPLICA_END_CALL);
	assert_true(is_at(scene.burst.count, calls_call));
}

static void
a_burst_ends_before_what_faults(void **state)
{
	(void)state;
	begin(faults);
	take_behind_loop();
	assert_int_equal(scene.burst.end, REPLICA_END_FAULT);
	assert_true(is_at(scene.burst.count, faults_load));
	assert_in_range(scene.burst.count, 4, 5); /* from cmpq or from je, which goes back once more */
}

static void
what_repeats_itself_is_one_instruction(void **state)
{
	size_t count = 0;

	(void)state;
	begin(repeats);
	take();
	assert_int_equal(scene.burst.count, STEPS);
	for (size_t i = 0; i < STEPS; i++) {
		if (!is_at(i, repeats_rep))
			continue;
		assert_true(is_at(i + 1, repeats_next));
		assert_true(i + 2 > STEPS || is_at(i + 2, repeats_far));
		assert_true(i + 3 > STEPS || is_at(i + 3, repeats_back)); /* behind one that lies in two pages */
		count++;
	}
	assert_in_range(count, STEPS / 6 - 1, STEPS / 6 + 1);
}

static void
a_replica_process_that_is_killed_is_broken_and_harms_nobody(void **state)
{
	int status;

	(void)state;
	begin(subject_round);
	take();
	stop();
	assert_int_equal(system("pkill -KILL -P $PPID dcpi-replica"), 0);
	assert_int_equal(replica_process_execute(scene.replica, &scene.thread, STEPS, LIMIT_NS, &scene.burst), -EPIPE);
	stopped_thread_release(&scene.thread);
	usleep(10000);
	assert_int_equal(waitpid(scene.pid, &status, WNOHANG), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_burst_goes_where_the_thread_would, end),
		cmocka_unit_test_teardown(memory_of_the_process_is_not_written, end),
		cmocka_unit_test_teardown(a_second_burst_sees_the_memory_of_then, end),
		cmocka_unit_test_teardown(vectors_and_the_pointer_of_the_thread_are_taken_over, end),
		cmocka_unit_test_teardown(a_burst_ends_before_a_system_call, end),
		cmocka_unit_test_teardown(a_burst_ends_before_what_faults, end),
		cmocka_unit_test_teardown(what_repeats_itself_is_one_instruction, end),
		cmocka_unit_test_teardown(a_replica_process_that_is_killed_is_broken_and_harms_nobody, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int
main(void)
{
	return 0;
}
#endif
