#include "dcpi-tools/x/replica/memory_x86_64.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "dcpi-tools/x/replica/kernel_x86_64.h"
#include "dcpi-tools/x/replica/replica.h"

#define ADDRESSES_END UINT64_C(0x7ffffffff000)
#define PAGES_MAX     512
#define PROTECTION    (PROT_READ | PROT_WRITE | PROT_EXEC)

static struct {
	uint64_t pages[PAGES_MAX];
	size_t count;
} memory;

bool
memory_has_page(uint64_t address)
{
	const uint64_t page = address & ~(MEMORY_PAGE - 1);

	for (size_t i = memory.count; i-- > 0;)
		if (memory.pages[i] == page)
			return true;
	if (memory.count == PAGES_MAX || (page >= REPLICA_START && page < REPLICA_END) || page >= ADDRESSES_END)
		return false;
	if (kernel_call(SYS_mmap, page, MEMORY_PAGE, PROTECTION, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1,
	                0) != (long)page)
		return false;
	if (kernel_call(SYS_pread64, REPLICA_MEMORY, page, MEMORY_PAGE, page, 0, 0) != (long)MEMORY_PAGE) {
		kernel_call(SYS_munmap, page, MEMORY_PAGE, 0, 0, 0, 0);
		return false;
	}
	memory.pages[memory.count++] = page;
	return true;
}

static bool
has_pages(uint64_t address, uint64_t size)
{
	return memory_has_page(address) && memory_has_page(address + size - 1);
}

bool
memory_read(uint64_t address, uint64_t *value)
{
	if (!has_pages(address, sizeof(*value)))
		return false;
	copy_bytes(value, (const void *)(uintptr_t)address, sizeof(*value));
	return true;
}

bool
memory_write(uint64_t address, uint64_t value)
{
	if (!has_pages(address, sizeof(value)))
		return false;
	copy_bytes((void *)(uintptr_t)address, &value, sizeof(value));
	return true;
}

void
memory_drop(void)
{
	memory.count = 0;
	kernel_call(SYS_munmap, 0, REPLICA_START, 0, 0, 0, 0);
	kernel_call(SYS_munmap, REPLICA_END, ADDRESSES_END - REPLICA_END, 0, 0, 0, 0);
}
