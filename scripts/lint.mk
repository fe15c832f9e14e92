# make lint: what tools have to say about the sources; all of it is an error. clang-tidy looks again only at files that
# changed, or whose headers did: its stamps are below $(BUILD)/lint/.

LINT_SOURCES := $(shell find bench capture collectord compiler dcpi-tools emulator libsample tests tracker -name '*.c' 2>/dev/null | sort)
LINT_HEADERS := $(shell find bench capture collectord compiler dcpi-tools emulator libsample tests tracker -name '*.h' 2>/dev/null | sort)
LINT_SHELL := $(shell grep -lrE '^\#!/bin/(ba)?sh|^\# shellcheck shell' bench scripts tests/accuracy tests/numa tests/pipeline_cost tests/pmu tests/system \
	tests/workloads completions .ci debian 2>/dev/null | sort)

.PHONY: lint lint-format lint-tidy lint-cppcheck lint-shell lint-names rooms
lint: lint-format lint-tidy lint-cppcheck lint-shell lint-names

lint-format:
	clang-format --dry-run -Werror $(LINT_SOURCES) $(LINT_HEADERS) $(wildcard tests/workloads/*.cc) compiler/pass.cc

# How much of each function's paths is looked at: four times as much, which is what it does unless told, takes four times
# as long, most of it in a few functions.
TIDY_PATHS := -Xclang -analyzer-config -Xclang max-nodes=50000

lint-tidy: $(LINT_SOURCES:%.c=$(BUILD)/lint/%.tidy)
$(BUILD)/lint/%.tidy: %.c $(wildcard .clang-tidy */.clang-tidy libsample/*/.clang-tidy)
	@mkdir -p $(@D)
	clang-tidy --quiet $< -- $(filter-out -MMD -MP,$(ALL_CFLAGS)) -Itests/workloads $(TIDY_PATHS) >$@.log 2>&1 || \
		{ grep -A 2 -E '(error|warning):' $@.log; echo 'The way there: $@.log'; exit 1; }
	@clang -MM -MP -MT $@ -MF $@.d $(filter-out -MMD -MP,$(ALL_CFLAGS)) $<
	@touch $@
-include $(shell find $(BUILD)/lint -name '*.tidy.d' 2>/dev/null)

# The workloads do strange things to memory on purpose.
lint-cppcheck:
	@mkdir -p $(BUILD)/lint/cppcheck
	cppcheck --quiet --enable=warning,performance,portability --suppressions-list=scripts/cppcheck-suppressions \
		--error-exitcode=1 --std=c11 --library=posix --cppcheck-build-dir=$(BUILD)/lint/cppcheck -j$(shell nproc) \
		--library=scripts/cppcheck-jansson.cfg -Ilibsample -I. -D_GNU_SOURCE \
		$(filter-out tests/workloads/%,$(LINT_SOURCES))

lint-shell:
	shellcheck -x $(LINT_SHELL)

# Global names and tags that two files define, and includes that the order of the rooms forbids. Reads the object of every
# source of the product, plugins included; tags are unique in tests and benchmarks, too.
NAMED_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out tests/% bench/%,$(LINT_SOURCES)))
lint-names: $(NAMED_OBJECTS)
	scripts/names $(BUILD)
	scripts/rooms --check

# The picture of the rooms in docs/design.md: an arrow that others imply is left out (tred).
rooms:
	@mkdir -p $(BUILD)
	scripts/rooms >$(BUILD)/rooms.dot
	tred $(BUILD)/rooms.dot >$(BUILD)/rooms.reduced.dot
	dot -Tsvg -o docs/rooms.svg $(BUILD)/rooms.reduced.dot
