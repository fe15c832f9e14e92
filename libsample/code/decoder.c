#include "code/decoder.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "code/decoder_internal.h"
#include "code/forms.h"

/* rax, rcx, rdx, rsi, rdi, r8 to r11 */
#define X86_64_CALL_CHANGES UINT32_C(0x0fc7)
/* x0 to x18, x30 */
#define AARCH64_CALL_CHANGES UINT32_C(0x4007ffff)
/* ra, t0 to t6, a0 to a7 */
#define RISCV64_CALL_CHANGES UINT32_C(0xf003fce2)

/*
 * dcpi-capture decodes what its own machine executes, and is not linked with capstone where that is no aarch64: its
 * 77,000 relocations took nearly half of the time of a small capture. Then these are NULL.
 */
#pragma weak cs_open
#pragma weak cs_option
#pragma weak cs_malloc
#pragma weak cs_free
#pragma weak cs_close
#pragma weak cs_disasm_iter

#define TEXT_OF(number)          #number
#define VERSION_OF(major, minor) TEXT_OF(major) "." TEXT_OF(minor)
#define CAPSTONE_VERSION         VERSION_OF(CS_API_MAJOR, CS_API_MINOR)
#define RISCV64_TROUBLE                                                                                                \
	"programs of riscv64 are decoded by capstone 5, and this is capstone " CAPSTONE_VERSION                        \
	" (as in Debian 12): run it on Debian 13"

#define POPULATE_AT 64 /* instructions in the cache */

int
architecture_of_machine(uint16_t e_machine, enum architecture *architecture)
{
	switch (e_machine) {
	case EM_X86_64:
		*architecture = ARCHITECTURE_X86_64;
		return 0;
	case EM_AARCH64:
		*architecture = ARCHITECTURE_AARCH64;
		return 0;
	case EM_RISCV:
		*architecture = ARCHITECTURE_RISCV64;
		return 0;
	default:
		return -ENOTSUP;
	}
}

const struct architecture_registers *
architecture_registers(enum architecture architecture)
{
	static const struct architecture_registers registers[ARCHITECTURE_COUNT] = {
		[ARCHITECTURE_X86_64] = {.stack = 4, .frame = 5, .call_changes = X86_64_CALL_CHANGES},
		[ARCHITECTURE_AARCH64] = {.stack = 31, .frame = 29, .call_changes = AARCH64_CALL_CHANGES},
		[ARCHITECTURE_RISCV64] = {.stack = 2, .frame = 8, .call_changes = RISCV64_CALL_CHANGES},
	};

	return &registers[architecture];
}

static int
open_all(struct decoder *decoder)
{
	cs_arch arch = CS_ARCH_ARM64;
	cs_mode mode = CS_MODE_LITTLE_ENDIAN;
	cs_err err;

	if (decoder->architecture == ARCHITECTURE_X86_64)
		return x86_64_open(decoder);
	if (decoder->architecture == ARCHITECTURE_RISCV64) {
#if HAS_RISCV64
		arch = CS_ARCH_RISCV;
		mode = CS_MODE_RISCV64 | CS_MODE_RISCVC;
#else
		return -ENOTSUP;
#endif
	}
	if (!cs_open)
		return -ENOTSUP;
	err = cs_open(arch, mode, &decoder->capstone);
	if (err != CS_ERR_OK) {
		decoder->capstone = 0;
		return err == CS_ERR_MEM ? -ENOMEM : -ENOTSUP;
	}
	cs_option(decoder->capstone, CS_OPT_DETAIL, CS_OPT_ON);
	decoder->scratch = cs_malloc(decoder->capstone);
	return decoder->scratch ? 0 : -ENOMEM;
}

const char *
architecture_trouble(enum architecture architecture)
{
	if (HAS_RISCV64 || architecture != ARCHITECTURE_RISCV64)
		return NULL;
	return RISCV64_TROUBLE;
}

/* A constant where there is none, so that calls of riscv64's functions are left out. */
static bool
is_riscv64(const struct decoder *decoder)
{
	return HAS_RISCV64 && decoder->architecture == ARCHITECTURE_RISCV64;
}

struct decoder *
decoder_new(enum architecture architecture)
{
	struct decoder *decoder;
	int err;

	if ((unsigned int)architecture >= ARCHITECTURE_COUNT) {
		errno = EINVAL;
		return NULL;
	}
	decoder = mmap(NULL, sizeof(*decoder), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (decoder == MAP_FAILED)
		return NULL;
	decoder->architecture = architecture;
	err = open_all(decoder);
	if (!err)
		return decoder;
	decoder_free(decoder);
	errno = -err;
	return NULL;
}

void
decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->scratch)
		cs_free(decoder->scratch, 1);
	if (decoder->capstone)
		cs_close(&decoder->capstone);
	munmap(decoder, sizeof(*decoder));
}

bool
decoder_disassemble(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address)
{
	return cs_disasm_iter(decoder->capstone, &bytes, &length, &address, decoder->scratch);
}

void
decoder_cache_prefetch(struct decoder *decoder, struct encoded_instruction *encoded)
{
	const uint64_t low = encoded->key[0], high = encoded->key[1];
	const uint64_t hash = (low ^ (high << 29 | high >> 35)) * 0x9e3779b97f4a7c15ull;

	encoded->cache_set = &decoder->cache[(hash >> 40 & (CACHE_SETS - 1)) * CACHE_WAYS];
	__builtin_prefetch(encoded->cache_set);
}

const struct decode_cache_entry *
decoder_cache_find(const struct encoded_instruction *encoded)
{
	for (unsigned way = 0; way < CACHE_WAYS; way++) {
		const struct decode_cache_entry *entry = &encoded->cache_set[way];

		if (entry->key[0] == encoded->key[0] && entry->key[1] == encoded->key[1] && entry->instruction.size)
			return entry;
	}
	return NULL;
}

struct decode_cache_entry *
decoder_cache_insert(struct decoder *decoder, const struct encoded_instruction *encoded)
{
	struct decode_cache_entry *set = encoded->cache_set;

	/* Code that is more than a few procedures gets to all pages: one call is less than two faults of each, by a
	 * look-up and then by the entry. It fails before Linux 5.14, and nothing depends on it. */
	if (++decoder->cached_count == POPULATE_AT)
		(void)madvise(decoder, sizeof(*decoder), MADV_POPULATE_WRITE);
	memmove(set + 1, set, (CACHE_WAYS - 1) * sizeof(*set));
	memset(set, 0, sizeof(*set));
	memcpy(set->key, encoded->key, sizeof(set->key));
	return set;
}

const struct form *
decoder_form(struct decoder *decoder, const char *name)
{
	static const struct form unknown = {"", CLASS_SYSTEM, ACCESS_READ, 0};
	const struct form *form;
	struct form_cache_entry *cached;
	uint32_t hash = 5381;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	cached = &decoder->forms[hash & (FORM_CACHE_SIZE - 1)];
	if (cached->form && strcmp(cached->name, name) == 0)
		return cached->form;
	if (decoder->architecture == ARCHITECTURE_X86_64)
		form = x86_64_form(name);
	else if (is_riscv64(decoder))
		form = riscv64_form(name);
	else
		form = aarch64_form(name);
	if (!form)
		form = &unknown;
	if (strlen(name) < sizeof(cached->name)) {
		memcpy(cached->name, name, strlen(name) + 1);
		cached->form = form;
	}
	return form;
}

static bool
contains(const uint8_t *registers, size_t count, uint8_t reg)
{
	return memchr(registers, reg, count) != NULL;
}

void
instruction_add_read(struct instruction *instruction, uint8_t reg)
{
	size_t data = (size_t)instruction->read_count - instruction->address_reads;
	uint8_t *known;

	if (reg == REGISTER_NONE || contains(instruction->reads, data, reg))
		return;
	/* What was only an address is data now. */
	known = memchr(instruction->reads + data, reg, instruction->address_reads);
	if (known) {
		memmove(instruction->reads + data + 1, instruction->reads + data,
		        (size_t)(known - (instruction->reads + data)));
		instruction->reads[data] = reg;
		instruction->address_reads--;
		return;
	}
	if (instruction->read_count == INSTRUCTION_READS_MAX)
		return;
	memmove(instruction->reads + data + 1, instruction->reads + data, instruction->address_reads);
	instruction->reads[data] = reg;
	instruction->read_count++;
}

void
instruction_add_address(struct instruction *instruction, uint8_t reg)
{
	if (reg == REGISTER_NONE || contains(instruction->reads, instruction->read_count, reg))
		return;
	if (instruction->read_count == INSTRUCTION_READS_MAX)
		return;
	instruction->reads[instruction->read_count++] = reg;
	instruction->address_reads++;
}

void
instruction_add_write(struct instruction *instruction, uint8_t reg)
{
	if (reg == REGISTER_NONE || contains(instruction->writes, instruction->write_count, reg))
		return;
	if (instruction->write_count < INSTRUCTION_WRITES_MAX)
		instruction->writes[instruction->write_count++] = reg;
}

void
decoder_prefetch(struct decoder *decoder, const uint8_t *bytes, size_t length, struct encoded_instruction *encoded)
{
	encoded->bytes = bytes;
	encoded->length = length;
	if (length == 0)
		return;
	if (decoder->architecture == ARCHITECTURE_X86_64)
		x86_64_prefetch(decoder, encoded);
	else if (is_riscv64(decoder))
		riscv64_prefetch(decoder, encoded);
	else
		aarch64_prefetch(decoder, encoded);
}

size_t
decoder_decode_encoded(struct decoder *decoder, const struct encoded_instruction *encoded, uint64_t address,
                       struct instruction *instruction)
{
	if (encoded->length == 0)
		return 0;
	if (decoder->architecture == ARCHITECTURE_X86_64)
		return x86_64_decode(decoder, encoded, address, instruction);
	if (is_riscv64(decoder))
		return riscv64_decode(decoder, encoded, address, instruction);
	return aarch64_decode(decoder, encoded, address, instruction);
}

size_t
decoder_decode_one(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                   struct instruction *instruction)
{
	struct encoded_instruction encoded;

	decoder_prefetch(decoder, bytes, length, &encoded);
	return decoder_decode_encoded(decoder, &encoded, address, instruction);
}

void
instruction_list_free(struct instruction_list *list)
{
	free(list->instructions);
	*list = (struct instruction_list){NULL};
}

int
decoder_decode(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
               struct instruction_list *list)
{
	size_t before = list->count, at = 0;

	while (at < length) {
		struct instruction *grown =
			array_grow(list->instructions, &list->capacity, list->count + 1, sizeof(*list->instructions));

		if (!grown) {
			list->count = before;
			return -ENOMEM;
		}
		list->instructions = grown;
		at += decoder_decode_one(decoder, bytes + at, length - at, address + at, &grown[list->count++]);
	}
	return 0;
}

int
decoder_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
               struct instruction_detail *detail)
{
	if (decoder->architecture == ARCHITECTURE_X86_64)
		return x86_64_detail(decoder, bytes, length, address, detail);
	if (is_riscv64(decoder))
		return riscv64_detail(decoder, bytes, length, address, detail);
	return aarch64_detail(decoder, bytes, length, address, detail);
}

void
text_put(struct text *text, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text->start + text->at, text->size - text->at, format, arguments);
	va_end(arguments);
	if (n < 0)
		return;
	text->at += (size_t)n < text->size - text->at ? (size_t)n : text->size - text->at - 1;
}

void
listing_splice(char *text, size_t size, char *at, size_t length, const char *by)
{
	const size_t by_length = strlen(by), rest = strlen(at + length) + 1;

	if ((size_t)(at - text) + by_length + rest > size)
		return;
	memmove(at + by_length, at + length, rest);
	memcpy(at, by, by_length);
}

bool
decoder_capstone_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
                      struct listing_parts *parts)
{
	const cs_insn *instruction = decoder->scratch;

	if (!decoder_disassemble(decoder, bytes, length, address))
		return false;
	snprintf(parts->name, sizeof(parts->name), "%s", instruction->mnemonic);
	snprintf(parts->operands, sizeof(parts->operands), "%s", instruction->op_str);
	return true;
}

void
decoder_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address, enum listing_syntax syntax,
             char *buffer, size_t size)
{
	struct text text = {buffer, size, 0};

	if (size == 0)
		return;
	buffer[0] = '\0';
	if (length == 0)
		return;
	if (decoder->architecture == ARCHITECTURE_X86_64)
		x86_64_text(decoder, bytes, length, address, syntax, &text);
	else if (is_riscv64(decoder))
		riscv64_text(decoder, bytes, length, address, &text);
	else
		aarch64_text(decoder, bytes, length, address, &text);
}
