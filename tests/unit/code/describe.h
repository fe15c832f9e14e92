/*
 * describe.h - an instruction in words, to be compared whole with what is expected
 *
 * "integer: rax rcx -> rax flags": class, registers read, registers written. Registers that only make an address are in
 * brackets. Behind a comma what else is true: "loads 8", "stores 8", "wide", "clears", "landing pad", and what it does
 * to the flow: "branch 1040".
 */
#ifndef DCPI_TESTS_CODE_DESCRIBE_H
#define DCPI_TESTS_CODE_DESCRIBE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "code/decoder.h"

struct example {
	const char *hex, *assembly, *expected;
};

static const char *const class_names[CLASS_COUNT] = {
	[CLASS_NOP] = "nop",
	[CLASS_INTEGER] = "integer",
	[CLASS_SHIFT] = "shift",
	[CLASS_ADDRESS] = "address",
	[CLASS_MOVE] = "move",
	[CLASS_SELECT] = "select",
	[CLASS_MULTIPLY] = "multiply",
	[CLASS_DIVIDE] = "divide",
	[CLASS_BIT] = "bit",
	[CLASS_LOAD] = "load",
	[CLASS_STORE] = "store",
	[CLASS_PREFETCH] = "prefetch",
	[CLASS_ATOMIC] = "atomic",
	[CLASS_BARRIER] = "barrier",
	[CLASS_BRANCH] = "branch",
	[CLASS_JUMP] = "jump",
	[CLASS_CALL] = "call",
	[CLASS_RETURN] = "return",
	[CLASS_FLOAT_ADD] = "float add",
	[CLASS_FLOAT_MULTIPLY] = "float multiply",
	[CLASS_FLOAT_FUSED] = "float fused",
	[CLASS_FLOAT_DIVIDE] = "float divide",
	[CLASS_FLOAT_ROOT] = "float root",
	[CLASS_FLOAT_COMPARE] = "float compare",
	[CLASS_FLOAT_CONVERT] = "float convert",
	[CLASS_FLOAT_MOVE] = "float move",
	[CLASS_VECTOR_INTEGER] = "vector integer",
	[CLASS_VECTOR_MULTIPLY] = "vector multiply",
	[CLASS_VECTOR_SHUFFLE] = "shuffle",
	[CLASS_CRYPTO] = "crypto",
	[CLASS_STRING] = "string",
	[CLASS_SYSTEM] = "system",
	[CLASS_UNKNOWN] = "unknown",
};

static const char *const flow_names[] = {
	[FLOW_NEXT] = "",           [FLOW_BRANCH] = ", branch",
	[FLOW_JUMP] = ", jump",     [FLOW_JUMP_INDIRECT] = ", jump indirect",
	[FLOW_CALL] = ", call",     [FLOW_CALL_INDIRECT] = ", call indirect",
	[FLOW_RETURN] = ", return", [FLOW_STOP] = ", stop",
};

static inline void
describe_register(enum architecture architecture, uint8_t reg, char *text, size_t size)
{
	static const char *const names[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	                                      "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

	if (reg == REGISTER_FLAGS)
		snprintf(text, size, "flags");
	else if (reg == REGISTER_X87)
		snprintf(text, size, "x87");
	else if (reg >= REGISTER_MASK)
		snprintf(text, size, "k%d", reg - REGISTER_MASK);
	else if (reg >= REGISTER_VECTOR)
		snprintf(text, size, "v%d", reg - REGISTER_VECTOR);
	else if (architecture == ARCHITECTURE_X86_64)
		snprintf(text, size, "%s", names[reg & 15]);
	else if (reg == 31)
		snprintf(text, size, "sp");
	else
		snprintf(text, size, "x%d", reg);
}

static inline void
describe(enum architecture architecture, const struct instruction *instruction, char text[512])
{
	size_t data = (size_t)instruction->read_count - instruction->address_reads;
	char name[16];
	FILE *out = fmemopen(text, 512, "w");

	assert_non_null(out);
	fprintf(out, "%s:", class_names[instruction->class]);
	for (size_t i = 0; i < instruction->read_count; i++) {
		describe_register(architecture, instruction->reads[i], name, sizeof(name));
		fprintf(out, "%s%s", i == data ? " [" : " ", name);
	}
	fprintf(out, "%s", instruction->address_reads ? "]" : "");
	fprintf(out, "%s", instruction->write_count ? " ->" : "");
	for (size_t i = 0; i < instruction->write_count; i++) {
		describe_register(architecture, instruction->writes[i], name, sizeof(name));
		fprintf(out, " %s", name);
	}
	fprintf(out, "%s%s", instruction->loads ? ", loads" : "", instruction->stores ? ", stores" : "");
	if (instruction->access_size)
		fprintf(out, " %d", instruction->access_size);
	fprintf(out, "%s%s", instruction->is_scaled ? ", scaled" : "", instruction->extends_sign ? ", signed" : "");
	fprintf(out, "%s%s%s", instruction->is_wide ? ", wide" : "", instruction->clears ? ", clears" : "",
	        instruction->is_landing_pad ? ", landing pad" : "");
	fprintf(out, "%s", flow_names[instruction->flow]);
	if (instruction->target)
		fprintf(out, " %llx", (unsigned long long)instruction->target);
	fclose(out);
}

static inline size_t
bytes_of_hex(const char *hex, uint8_t *bytes, size_t size)
{
	size_t count = 0;

	while (*hex && count < size) {
		char *end;

		bytes[count++] = (uint8_t)strtoul(hex, &end, 16);
		hex = end + (*end == ' ');
	}
	return count;
}

/* Every example is one instruction at 0x1000, all of its bytes, and described as expected. */
static inline void
check_examples(enum architecture architecture, const struct example *examples, size_t count)
{
	struct decoder *decoder = decoder_new(architecture);
	size_t wrong = 0;

	assert_non_null(decoder);
	for (size_t i = 0; i < count; i++) {
		struct instruction instruction;
		uint8_t bytes[16];
		char text[512];
		size_t size = bytes_of_hex(examples[i].hex, bytes, sizeof(bytes));

		assert_int_equal(decoder_decode_one(decoder, bytes, size, 0x1000, &instruction), size);
		describe(architecture, &instruction, text);
		if (strcmp(text, examples[i].expected) == 0)
			continue;
		print_error("%s\n  is       %s\n  expected %s\n", examples[i].assembly, text, examples[i].expected);
		wrong++;
	}
	decoder_free(decoder);
	assert_int_equal(wrong, 0);
}

#define CHECK_EXAMPLES(architecture, examples)                                                                         \
	check_examples(architecture, examples, sizeof(examples) / sizeof((examples)[0]))

#endif
