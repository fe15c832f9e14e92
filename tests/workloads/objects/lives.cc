/*
 * lives - objects of C++, of children and of threads, each of which is used from another core
 *
 * lives MODE: vector, child, exec, threads, mapping. The accesses are what dcpimem must find; it prints a sum.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

static const int ROUNDS = 400000; /* so many that it is known that both threads want the line */

struct Account {
	uint64_t balance;
	uint64_t bytes[31];
};

/* Two threads add to one word. */
static void
contend(uint64_t *word)
{
	std::vector<std::thread> threads;
	std::atomic<int> ready{0};

	for (int i = 0; i < 2; i++)
		threads.emplace_back([word, &ready] {
			ready++;
			while (ready < 2)
				std::this_thread::yield();
			for (int k = 0; k < ROUNDS; k++)
				__atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
		});
	for (auto &thread : threads)
		thread.join();
}

NOINLINE static std::unique_ptr<Account[]>
make_accounts(size_t count)
{
	return std::unique_ptr<Account[]>(new Account[count]());
}

NOINLINE static uint64_t *
make_word(uint64_t value)
{
	auto *word = static_cast<uint64_t *>(malloc(64 * sizeof(uint64_t)));

	word[0] = value;
	return word;
}

NOINLINE static uint64_t *
map_word(size_t bytes)
{
	return static_cast<uint64_t *>(
		mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

int
main(int argc, char **argv)
{
	const std::string mode = argc > 1 ? argv[1] : "";
	uint64_t sum = 0;

	if (mode == "vector") {
		auto accounts = make_accounts(100);

		contend(&accounts[7].balance);
		sum = accounts[7].balance;
	} else if (mode == "child") {
		uint64_t *word = make_word(1);

		if (fork() == 0) { /* what its parent made */
			contend(word);
			_exit(0);
		}
		wait(nullptr);
		sum = word[0];
	} else if (mode == "exec") {
		execl(argv[0], argv[0], "vector", static_cast<char *>(nullptr));
	} else if (mode == "threads") {
		for (int i = 0; i < 40; i++) {
			uint64_t *word = make_word(0);

			contend(word);
			sum += word[0];
			free(word);
		}
	} else if (mode == "mapping") {
		uint64_t *word = map_word(1 << 20);

		contend(word + 4096);
		munmap(word, 1 << 19);
		contend(word + (1 << 17) - 512);
		sum = word[(1 << 17) - 512];
	} else {
		fprintf(stderr, "usage: lives vector|child|exec|threads|mapping\n");
		return 2;
	}
	printf("%llu\n", static_cast<unsigned long long>(sum));
	return 0;
}
