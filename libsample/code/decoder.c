#include "code/decoder.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/error.h"
#include "code/decoder_internal.h"

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

#define CACHE_ENTRIES ((size_t)CACHE_SETS * CACHE_WAYS)
#define CACHES_SIZE                                                                                                    \
	(CACHE_ENTRIES * sizeof(struct decode_cache_entry) + FORM_CACHE_SIZE * sizeof(struct form_cache_entry))
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

const char *
architecture_trouble(enum architecture architecture)
{
	if (HAS_RISCV64 || architecture != ARCHITECTURE_RISCV64)
		return NULL;
	return RISCV64_TROUBLE;
}

int
decoder_open_capstone(struct decoder *decoder, cs_arch arch, cs_mode mode)
{
	cs_err err;

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

struct decoder *
decoder_new(enum architecture architecture)
{
	static const struct decoder_architecture *const architectures[ARCHITECTURE_COUNT] = {
		[ARCHITECTURE_X86_64] = &x86_64_architecture,
		[ARCHITECTURE_AARCH64] = &aarch64_architecture,
#if HAS_RISCV64
		[ARCHITECTURE_RISCV64] = &riscv64_architecture,
#endif
	};
	struct decoder *decoder;
	int err;

	if ((unsigned int)architecture >= ARCHITECTURE_COUNT) {
		errno = EINVAL;
		return NULL;
	}
	if (!architectures[architecture]) {
		errno = ENOTSUP;
		return NULL;
	}
	decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return NULL;
	decoder->architecture = architectures[architecture];
	/* Zeros that nobody has to write; and leak checkers need not look there, as it points to nothing allocated. */
	decoder->cache = mmap(NULL, CACHES_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (decoder->cache == MAP_FAILED) {
		free(decoder);
		return NULL;
	}
	decoder->forms = (struct form_cache_entry *)(decoder->cache + CACHE_ENTRIES);
	err = decoder->architecture->open(decoder);
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
	munmap(decoder->cache, CACHES_SIZE);
	free(decoder);
}

bool
decoder_disassemble(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address)
{
	return cs_disasm_iter(decoder->capstone, &bytes, &length, &address, decoder->scratch);
}

/* How well the word at *words names `name`: 0 not at all, more for more of it, most for all. *words: behind it. */
static size_t
match(const char **words, const char *name)
{
	const char *word = *words, *at = word;
	size_t same = 0;

	while (name[same] && name[same] != ' ' && word[same] == name[same])
		same++;
	for (at += same; *at && *at != ' '; at++)
		;
	*words = at + (*at == ' ');
	if (at == word)
		return 0;
	if (at[-1] == '*')
		return same + 1 >= (size_t)(at - word) ? (size_t)(at - word) : 0;
	return same == (size_t)(at - word) && !name[same] ? SIZE_MAX : 0;
}

const struct form *
form_find(const struct form *forms, size_t count, const char *name)
{
	const struct form *found = NULL;
	size_t best = 0;

	for (size_t i = 0; i < count; i++) {
		for (const char *names = forms[i].names; *names;) {
			const size_t matched = match(&names, name);

			if (matched <= best)
				continue;
			best = matched;
			found = &forms[i];
		}
	}
	return found;
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
	form = form_find(decoder->architecture->forms, decoder->architecture->form_count, name);
	if (!form && decoder->architecture == &x86_64_architecture && name[0] == 'v') /* of AVX: that of SSE */
		form = form_find(decoder->architecture->forms, decoder->architecture->form_count, name + 1);
	if (!form)
		form = &unknown;
	if (strlen(name) < sizeof(cached->name)) {
		memcpy(cached->name, name, strlen(name) + 1);
		cached->form = form;
	}
	return form;
}

void
instruction_add_read(struct instruction *instruction, uint8_t reg)
{
	size_t data = (size_t)instruction->read_count - instruction->address_reads;
	uint8_t *known;

	if (reg == REGISTER_NONE || memchr(instruction->reads, reg, data))
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
	if (reg == REGISTER_NONE || instruction_reads(instruction, reg))
		return;
	if (instruction->read_count == INSTRUCTION_READS_MAX)
		return;
	instruction->reads[instruction->read_count++] = reg;
	instruction->address_reads++;
}

void
instruction_add_write(struct instruction *instruction, uint8_t reg)
{
	if (reg == REGISTER_NONE || instruction_writes(instruction, reg))
		return;
	if (instruction->write_count < INSTRUCTION_WRITES_MAX)
		instruction->writes[instruction->write_count++] = reg;
}

void
instruction_add_implicit(struct instruction *instruction, uint32_t reads, uint32_t writes)
{
	for (uint8_t reg = 0; reg < REGISTER_VECTOR; reg++) {
		if (reads >> reg & 1)
			instruction_add_read(instruction, reg);
		if (writes >> reg & 1)
			instruction_add_write(instruction, reg);
	}
}

void
decoder_prefetch(struct decoder *decoder, const uint8_t *bytes, size_t length, struct encoded_instruction *encoded)
{
	uint64_t hash;

	encoded->bytes = bytes;
	encoded->length = length;
	encoded->size = length ? decoder->architecture->measure(encoded) : 0;
	if (!encoded->size)
		return;
	hash = (encoded->key[0] ^ (encoded->key[1] << 29 | encoded->key[1] >> 35)) * 0x9e3779b97f4a7c15ull;
	encoded->cache_set = &decoder->cache[(hash >> 40 & (CACHE_SETS - 1)) * CACHE_WAYS];
	__builtin_prefetch(encoded->cache_set);
}

static const struct decode_cache_entry *
cache_find(const struct encoded_instruction *encoded)
{
	for (unsigned way = 0; way < CACHE_WAYS; way++) {
		const struct decode_cache_entry *entry = &encoded->cache_set[way];

		if (entry->key[0] == encoded->key[0] && entry->key[1] == encoded->key[1] && entry->instruction.size)
			return entry;
	}
	return NULL;
}

/* Decode into a new entry of the cache; NULL: it is no instruction. */
static const struct decode_cache_entry *
cache_fill(struct decoder *decoder, const struct encoded_instruction *encoded)
{
	struct decode_cache_entry *set = encoded->cache_set;
	struct instruction instruction = {.size = (uint8_t)encoded->size};

	if (!decoder->architecture->fill(decoder, encoded, &instruction))
		return NULL;
	/* Code that is more than a few procedures gets to all pages: one call is less than two faults of each, by a
	 * look-up and then by the entry. It fails before Linux 5.14, and nothing depends on it. */
	if (++decoder->cached_count == POPULATE_AT)
		(void)madvise(decoder->cache, CACHES_SIZE, MADV_POPULATE_WRITE);
	memmove(set + 1, set, (CACHE_WAYS - 1) * sizeof(*set));
	memcpy(set->key, encoded->key, sizeof(set->key));
	set->instruction = instruction;
	return set;
}

static size_t
decode_bad(const struct decoder *decoder, const struct encoded_instruction *encoded, uint64_t address,
           struct instruction *instruction)
{
	const size_t size = decoder->architecture == &x86_64_architecture ? 1
	                    : encoded->size                               ? encoded->size
	                                                                  : encoded->length;

	*instruction = (struct instruction){
		.address = address, .size = (uint8_t)size, .class = CLASS_UNKNOWN, .flow = FLOW_NEXT};
	return size;
}

size_t
decoder_decode_encoded(struct decoder *decoder, const struct encoded_instruction *encoded, uint64_t address,
                       struct instruction *instruction)
{
	const struct decode_cache_entry *cached = NULL;

	if (encoded->length == 0)
		return 0;
	if (encoded->size) {
		cached = cache_find(encoded);
		if (!cached)
			cached = cache_fill(decoder, encoded);
	}
	if (!cached)
		return decode_bad(decoder, encoded, address, instruction);
	*instruction = cached->instruction;
	instruction->address = address;
	instruction->target = 0;
	if (instruction_has_target(instruction))
		instruction->target =
			address + (uint64_t)decoder->architecture->distance(encoded, &cached->instruction);
	return instruction->size;
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
	memset(detail, 0, sizeof(*detail));
	return length && decoder->architecture->detail(decoder, bytes, length, address, detail) ? 0 : -DCPI_EDAMAGED;
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
decoder_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address, enum listing_syntax syntax,
             char *buffer, size_t size)
{
	struct text text = {buffer, size, 0};

	if (size == 0)
		return;
	buffer[0] = '\0';
	if (length)
		decoder->architecture->text(decoder, bytes, length, address, syntax, &text);
}
