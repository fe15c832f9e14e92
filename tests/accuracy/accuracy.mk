# What `make accuracy` measures: programs of ours, and small ones around Debian's own static libraries - as they were
# compiled for the distribution, with all their symbols. They are workloads: not hardened, not sanitized.

ACCURACY_LIBRARIES := bzip2 lua lzma sqlite zlib zstd
ACCURACY_PROGRAMS := $(addprefix $(BUILD)/accuracy/,kernels gigahertz $(ACCURACY_LIBRARIES))
ACCURACY_LIBS_bzip2 := -l:libbz2.a
ACCURACY_LIBS_lua := -l:liblua5.4.a -lm
ACCURACY_LIBS_lzma := -l:liblzma.a -lpthread
ACCURACY_LIBS_sqlite := -l:libsqlite3.a -lm
ACCURACY_LIBS_zlib := -l:libz.a
ACCURACY_LIBS_zstd := -l:libzstd.a

$(BUILD)/accuracy/%: tests/accuracy/programs/%.c $(wildcard tests/accuracy/programs/*.h)
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -o $@ $(filter %.c,$^) $(ACCURACY_LIBS_$*)

$(BUILD)/accuracy/kernels: tests/accuracy/programs/kernels_order.c tests/accuracy/programs/kernels_text.c

JUDGES := $(addprefix $(BUILD)/tests/accuracy/,accuracy inferred)
$(JUDGES): $(BUILD)/tests/accuracy/%: $(BUILD)/obj/tests/accuracy/%.o $(call objects,$(TOOL_COMMON)) \
		$(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(call room_libs,$(ROOMS)) $(LIBS_TOOLS)
$(BUILD)/tests/accuracy/accuracy: $(call objects,$(addprefix tests/accuracy/,recording.c report.c score.c specimen.c))
$(BUILD)/tests/accuracy/inferred: $(call objects,tests/accuracy/recorded_stalls.c tests/accuracy/verdict.c)

# What the system tests need.
workloads: $(addprefix $(BUILD)/accuracy/,kernels gigahertz zlib) $(JUDGES)

# Twenty minutes.
ACCURACY_OPTIONS ?=
.PHONY: accuracy
accuracy: all $(ACCURACY_PROGRAMS) $(BUILD)/tests/accuracy/accuracy
	tests/accuracy/measure --write docs/accuracy.md $(ACCURACY_OPTIONS)

# What is inferred of emulated programs; a minute.
EMULATED_PROGRAMS := $(addprefix $(BUILD)/accuracy/,kernels bzip2 lua sqlite zlib)
.PHONY: emulated-accuracy
emulated-accuracy: all $(EMULATED_PROGRAMS) $(BUILD)/tests/accuracy/inferred
	tests/accuracy/emulated --write docs/accuracy.md $(ACCURACY_OPTIONS)

# What tests keep of it.
$(BUILD)/tests/unit/analysis/frequency_recorded_test: $(call objects,tests/accuracy/score.c tests/accuracy/specimen.c)
$(BUILD)/tests/unit/analysis/accuracy_specimen_test: $(call objects,tests/accuracy/specimen.c)
$(BUILD)/tests/unit/analysis/accuracy_score_test: $(call objects,tests/accuracy/score.c)
$(BUILD)/tests/unit/analysis/accuracy_verdict_test: $(call objects,tests/accuracy/verdict.c)
$(BUILD)/tests/unit/dcpi-tools/emulated_profile_test: $(call objects,tests/accuracy/recorded_stalls.c tests/accuracy/verdict.c)
