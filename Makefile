# dcpi - see README.md. `make help` lists the targets.
#
# Everything is built below $(BUILD). Each room of libsample/ becomes an archive; the order of ROOMS is the order of
# docs/design.md: a room may use the ones before it, and unit tests link no further, so a breach does not link.

BUILD ?= build
CC ?= gcc
VERSION := 0.2.0

CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
	-Wno-missing-field-initializers
HARDENING := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
SANITIZE ?=
ifneq ($(SANITIZE),)
HARDENING := -fno-omit-frame-pointer -fsanitize=$(SANITIZE) -fno-sanitize-recover=all
endif
# Where what is installed is looked for.
DIRECTORIES = -DDCPI_CPU_DIRECTORY='"$(datadir)/dcpi/cpus"' -DDCPI_MACHINE_DIRECTORY='"$(datadir)/dcpi/machines"' \
	-DDCPI_SCRIPT_DIRECTORY='"$(datadir)/dcpi/scripts"'
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(HARDENING) $(CFLAGS) $(CPPFLAGS) -D_GNU_SOURCE \
	-DDCPI_VERSION='"$(VERSION)"' $(DIRECTORIES) -Ilibsample -I. -Ilibsample/api -I$(BUILD)/generated -MMD -MP
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)

prefix ?= /usr
sbindir ?= $(prefix)/sbin
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib/$(shell $(CC) -print-multiarch)
includedir ?= $(prefix)/include
datadir ?= $(prefix)/share
mandir ?= $(prefix)/share/man
plugindir ?= $(prefix)/lib/dcpi
docdir ?= $(prefix)/share/doc/dcpi
sysconfdir ?= /etc
completiondir ?= $(prefix)/share/bash-completion/completions
unitdir ?= /lib/systemd/system
sysusersdir ?= /usr/lib/sysusers.d
tmpfilesdir ?= /usr/lib/tmpfiles.d

ROOMS := base event stream tally process unwind memory profile image code machine analysis locality api salvage control
DAEMON_ROOMS := base event stream tally process unwind memory profile control

# What each room needs from outside. The daemon must not link what image/ and code/ need.
LIBS_base := -lconfig
LIBS_event :=
LIBS_stream := -lzstd
LIBS_process :=
LIBS_unwind :=
LIBS_memory :=
LIBS_tally :=
LIBS_profile := -llmdb -lzstd
LIBS_image := -ldw -lelf -llzma -liberty
# capstone's functions are weak (code/decoder.c): where libraries are linked as needed, none would be.
LIBS_code := -Wl,--push-state,--no-as-needed -lcapstone -Wl,--pop-state -lZydis -lZycore -lm
LIBS_machine :=
LIBS_analysis := -llbfgs -lm -lpthread
LIBS_locality :=
LIBS_api :=
LIBS_salvage :=
LIBS_control := -ljansson
LIBS_DAEMON := -levent_core -levent_pthreads -ljansson -lpthread
LIBS_TOOLS := -ljansson
LIBS_WEB := -levent_extra -levent_core
LIBS_MEM := -llua5.4

comma := ,
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
sources = $(sort $(wildcard $(1)/*.c))
archive = $(BUILD)/lib/libdcpi-$(1).a
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
up_to = $(if $(filter $(2),$(firstword $(1))),$(2),$(firstword $(1)) $(call up_to,$(wordlist 2,$(words $(1)),$(1)),$(2)))
archives = $(foreach r,$(call reverse,$(1)),$(call archive,$(r)))
room_libs = $(foreach r,$(call reverse,$(1)),$(LIBS_$(r)))

DAEMON_SOURCES := $(call sources,collectord) capture/protocol.c
TOOL_COMMON := $(call sources,dcpi-tools/common)
TOOLS := $(patsubst dcpi-tools/%.c,%,$(call sources,dcpi-tools))
PROGRAMS := $(addprefix $(BUILD)/bin/,$(if $(wildcard collectord/main.c),dcpid) $(TOOLS))

.DEFAULT_GOAL := all
# How long x86's instructions are, without a library.
X86_ENCODING := libsample/code/x86_64_encoding.c

# What executes in a thread's place for dcpix --bursts: a program without a library, where nobody else is (replica.h).
REPLICA := $(BUILD)/lib/dcpi/dcpi-replica
REPLICA_MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
REPLICA_SOURCES := $(wildcard dcpi-tools/x/replica/*_$(REPLICA_MACHINE).c)
ifeq ($(REPLICA_MACHINE),x86_64)
REPLICA_SOURCES += $(X86_ENCODING)
endif
REPLICA_START := $(if $(filter aarch64,$(REPLICA_MACHINE)),0x2d5c000000,0x2d5c00000000)

# What reads images for dcpid, locked up.
CAPTURE := $(BUILD)/lib/dcpi/dcpi-capture
CAPTURE_ROOMS := $(call up_to,$(ROOMS),code)
LIBS_CAPTURE := -lseccomp

include scripts/library.mk
include scripts/emulator.mk
include scripts/tracker.mk
include scripts/locality.mk

.PHONY: all help programs units fuzzers bench pipeline-cost-figures capture-cost-figures bench-emulator bench-web bench-stacks bench-tracker bench-locality benches soak growth workloads manuals clean
.SECONDARY:

all: programs $(PLUGINS) $(TRACKER) $(LOCALITY_LIBRARY) $(LOCALITY_PASS) $(LOCALITY_SOURCE_PASS) libraries manuals

# Without what emulators load, what other programs link, and what people read.
programs: $(PROGRAMS) $(REPLICA) $(CAPTURE)

help:
	@echo 'make                  programs and manual pages into $(BUILD)/'
	@echo 'make units            unit tests into $(BUILD)/tests/unit/'
	@echo 'make fuzzers          fuzz targets (clang) into $(BUILD)/tests/fuzz/'
	@echo 'make benches          measurements of single rooms into $(BUILD)/bench/'
	@echo 'make bench            dcpid beside perf record (12 minutes, a quiet machine) into docs/benchmarks.md'
	@echo 'make pipeline-cost-figures  instructions a sample of each stage of dcpid into tests/pipeline_cost/expected'
	@echo 'make capture-cost-figures   instructions of dcpi-capture for an image into tests/capture_cost/expected'
	@echo 'make bench-emulator   dcpiemu beside qemu-user and cachegrind (15 minutes, a quiet machine) into docs/benchmarks.md'
	@echo 'make soak             dcpid under everything at once for an hour (SOAK_MINUTES) into docs/benchmarks.md'
	@echo 'make bench-web        how long pages take on a month of samples into docs/benchmarks.md'
	@echo 'make bench-stacks     what call stacks cost beside perf into docs/benchmarks.md'
	@echo 'make bench-tracker    what recording memory objects costs beside heaptrack into docs/benchmarks.md'
	@echo 'make bench-locality   what dcpiloc costs programs beside cachegrind into docs/benchmarks.md'
	@echo 'make growth           a year of samples of a large machine into docs/benchmarks.md'
	@echo 'make accuracy         estimated beside exact frequencies of 16 programs (20 minutes) into docs/accuracy.md'
	@echo 'make emulated-accuracy  what is inferred of emulated programs beside the truth (a minute) into docs/accuracy.md'
	@echo 'make workloads        the programs that system tests sample'
	@echo 'make lint             clang-format, clang-tidy, cppcheck, shellcheck'
	@echo 'make install DESTDIR= install below DESTDIR'
	@echo 'make deb              the Debian package into $(BUILD)/'
	@echo 'SANITIZE=address,undefined BUILD=build-asan make units    the same, sanitized'

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/replica/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(WARNINGS) -O2 -g -ffreestanding -fno-stack-protector \
		$(if $(findstring clang,$(CC)),,-fno-tree-loop-distribute-patterns) \
		-mgeneral-regs-only -fPIE -D_GNU_SOURCE -Ilibsample -I. -MMD -MP -c -o $@ $<

$(REPLICA): $(patsubst %.c,$(BUILD)/replica/%.o,$(REPLICA_SOURCES))
	@mkdir -p $(@D)
	$(CC) -static -nostdlib -Wl,--no-relax,-Ttext-segment=$(REPLICA_START),-z,noexecstack -o $@ $^

# It decodes its own machine's code only.
CAPTURE_ROOM_LIBS = $(if $(filter aarch64,$(REPLICA_MACHINE)),$(call room_libs,$(CAPTURE_ROOMS)),\
	$(filter-out -lcapstone,$(call room_libs,$(CAPTURE_ROOMS))))
$(CAPTURE): $(call objects,$(call sources,capture)) $(call archives,$(CAPTURE_ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CAPTURE_ROOM_LIBS) $(LIBS_CAPTURE)

define room_rules
$(call archive,$(1)): $(call objects,$(call sources,libsample/$(1)))
	@mkdir -p $$(@D)
	@rm -f $$@
	$(AR) rcs $$@ $$^

$(BUILD)/tests/unit/$(1)/%: $(BUILD)/obj/tests/unit/$(1)/%.o $(call archives,$(call up_to,$(ROOMS),$(1)))
	@mkdir -p $$(@D)
	$(CC) $$(ALL_LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $(call room_libs,$(call up_to,$(ROOMS),$(1))) \
		-lcmocka -lpthread
endef
$(foreach r,$(ROOMS),$(eval $(call room_rules,$(r))))

$(BUILD)/bin/dcpid: $(call objects,$(DAEMON_SOURCES)) $(call archives,$(DAEMON_ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(DAEMON_ROOMS)) $(LIBS_DAEMON)

$(addprefix $(BUILD)/bin/,$(TOOLS)): $(BUILD)/bin/%: $(BUILD)/obj/dcpi-tools/%.o $(call objects,$(TOOL_COMMON)) \
		$(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(call room_libs,$(ROOMS)) $(LIBS_TOOLS)

# A tool that grew has a folder.
CTL_OBJECTS := $(call objects,$(call sources,dcpi-tools/ctl) $(call sources,dcpi-tools/ctl/doctor))
$(BUILD)/bin/dcpictl: $(CTL_OBJECTS)
LABEL_OBJECTS := $(call objects,$(call sources,dcpi-tools/label))
$(BUILD)/bin/dcpilabel: $(LABEL_OBJECTS) $(CTL_OBJECTS)
EMULATED_OBJECTS := $(call objects,$(call sources,dcpi-tools/emulated) emulator/program.c)
X_OBJECTS := $(call objects,$(call sources,dcpi-tools/x)) $(EMULATED_OBJECTS)
$(BUILD)/bin/dcpix: $(X_OBJECTS)
EMU_OBJECTS := $(call objects,$(call sources,dcpi-tools/emu) $(call sources,dcpi-tools/emu/calibrate) emulator/setup.c) $(EMULATED_OBJECTS)
$(BUILD)/bin/dcpiemu: $(EMU_OBJECTS)
MEM_OBJECTS := $(call objects,$(call sources,dcpi-tools/mem)) $(EMU_OBJECTS)
DIFF_OBJECTS := $(call objects,$(call sources,dcpi-tools/diff))
$(BUILD)/bin/dcpidiff: $(DIFF_OBJECTS)
FLAME_OBJECTS := $(call objects,$(call sources,dcpi-tools/flame) dcpi-tools/diff/compare.c)
$(BUILD)/bin/dcpiflame: $(FLAME_OBJECTS)
$(BUILD)/obj/dcpi-tools/flame/svg.o: dcpi-tools/flame/flame.js
# Strides are what dcpiloc's records say.
CALC_OBJECTS := $(call objects,$(call sources,dcpi-tools/calc) $(addprefix dcpi-tools/loc/,cover.c profile.c strides.c))
$(BUILD)/bin/dcpicalc: $(CALC_OBJECTS)
PROF_OBJECTS := $(call objects,$(call sources,dcpi-tools/prof))
$(BUILD)/bin/dcpiprof: $(PROF_OBJECTS)
IMPORT_OBJECTS := $(call objects,$(call sources,dcpi-tools/import))
$(BUILD)/bin/dcpimport: $(IMPORT_OBJECTS)
$(BUILD)/bin/dcpimem: $(MEM_OBJECTS) $(IMPORT_OBJECTS)
$(BUILD)/bin/dcpimem: LIBS_TOOLS += $(LIBS_MEM)
LOC_OBJECTS := $(call objects,$(call sources,dcpi-tools/loc) $(call sources,emulator/model)) $(EMULATED_OBJECTS)
$(BUILD)/bin/dcpiloc: $(LOC_OBJECTS)
TOPSTALLS_OBJECTS := $(call objects,$(call sources,dcpi-tools/topstalls))
$(BUILD)/bin/dcpitopstalls: $(TOPSTALLS_OBJECTS)
STATS_OBJECTS := $(call objects,$(call sources,dcpi-tools/stats))
$(BUILD)/bin/dcpistats: $(STATS_OBJECTS)
WEB_OBJECTS := $(call objects,$(call sources,dcpi-tools/web))
$(BUILD)/bin/dcpiweb: $(WEB_OBJECTS)
$(BUILD)/bin/dcpiweb: LIBS_TOOLS += $(LIBS_WEB)
$(BUILD)/obj/dcpi-tools/web/assets.o: $(wildcard dcpi-tools/web/*.css dcpi-tools/web/*.js dcpi-tools/web/*.svg) dcpi-tools/flame/flame.js

# Sources that are made: what packs the messages of pprof's format.
PPROF_MESSAGES := $(BUILD)/generated/dcpi-tools/export/profile.pb-c
$(PPROF_MESSAGES).h: dcpi-tools/export/profile.proto
	@mkdir -p $(@D)
	protoc-c --c_out=$(BUILD)/generated $<
$(PPROF_MESSAGES).c: $(PPROF_MESSAGES).h
$(BUILD)/obj/dcpi-tools/export/profile.pb-c.o: $(PPROF_MESSAGES).c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<
$(BUILD)/obj/dcpi-tools/export/pprof.o $(BUILD)/lint/dcpi-tools/export/pprof.tidy: $(PPROF_MESSAGES).h
EXPORT_OBJECTS := $(call objects,$(call sources,dcpi-tools/export)) $(BUILD)/obj/dcpi-tools/export/profile.pb-c.o
$(BUILD)/bin/dcpiexport: $(EXPORT_OBJECTS)
$(BUILD)/bin/dcpiexport: LIBS_TOOLS += -lprotobuf-c -lz
TAR_OBJECTS := $(call objects,$(call sources,dcpi-tools/tar))
$(BUILD)/bin/dcpitar: $(TAR_OBJECTS)
$(BUILD)/bin/dcpitar: LIBS_TOOLS += -larchive

$(BUILD)/tests/unit/collectord/%: $(BUILD)/obj/tests/unit/collectord/%.o \
		$(call objects,$(filter-out collectord/main.c,$(DAEMON_SOURCES))) $(call archives,$(DAEMON_ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(DAEMON_ROOMS)) $(LIBS_DAEMON) -lcmocka

$(addprefix $(BUILD)/tests/unit/collectord/,capture_child_test code_namer_test): | $(CAPTURE)

$(BUILD)/tests/unit/capture/%: $(BUILD)/obj/tests/unit/capture/%.o \
		$(call objects,$(filter-out capture/main.c,$(call sources,capture))) $(call archives,$(CAPTURE_ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(CAPTURE_ROOMS)) $(LIBS_CAPTURE) -lcmocka -lpthread

$(BUILD)/tests/unit/dcpi-tools/%: $(BUILD)/obj/tests/unit/dcpi-tools/%.o $(call objects,$(TOOL_COMMON)) \
		$(CTL_OBJECTS) $(CALC_OBJECTS) $(X_OBJECTS) $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(call room_libs,$(ROOMS)) $(LIBS_TOOLS) -lcmocka

$(addprefix $(BUILD)/tests/unit/dcpi-tools/,counts_read_test emulated_profile_test record_read_test): $(EMULATOR_OBJECTS)

EMU_TESTS := record_read emu_command sweep emulation_report emulated_profile calibrate chase machines
$(EMU_TESTS:%=$(BUILD)/tests/unit/dcpi-tools/%_test): $(EMU_OBJECTS)
MEM_TESTS := $(addprefix $(BUILD)/tests/unit/dcpi-tools/mem_,collect_test faults_test format_test names_test perf_collect_test script_profile_test source_test \
	spe_areas_test spe_live_test word_trials_test)
$(MEM_TESTS): $(MEM_OBJECTS) $(IMPORT_OBJECTS)
$(MEM_TESTS): LIBS_TOOLS += $(LIBS_MEM)
$(addprefix $(BUILD)/tests/unit/dcpi-tools/,cover_test trace_read_test): $(LOC_OBJECTS)
$(BUILD)/tests/unit/dcpi-tools/trace_read_test: $(EMULATOR_OBJECTS) $(call objects,emulator/locality/tracing.c)
$(BUILD)/tests/unit/dcpi-tools/series_test: $(LABEL_OBJECTS)
$(addprefix $(BUILD)/tests/unit/dcpi-tools/,perf_import_test import_events_test import_tables_test build_ids_test): $(IMPORT_OBJECTS)
$(BUILD)/tests/unit/dcpi-tools/rows_test: $(call objects,dcpi-tools/stats/rows.c)
$(BUILD)/tests/unit/dcpi-tools/top_instructions_test: $(call objects,dcpi-tools/topstalls/top_instructions.c)
$(BUILD)/tests/unit/dcpi-tools/archive_test: $(call objects,dcpi-tools/tar/archive.c)
$(BUILD)/tests/unit/dcpi-tools/archive_test: LIBS_TOOLS += -larchive
$(BUILD)/tests/unit/dcpi-tools/strings_test: $(call objects,dcpi-tools/export/strings.c)
$(BUILD)/tests/unit/dcpi-tools/call_report_test: $(call objects,dcpi-tools/prof/call_report.c)
$(BUILD)/tests/unit/dcpi-tools/compare_test: $(call objects,dcpi-tools/diff/compare.c)
$(BUILD)/tests/unit/dcpi-tools/flame_graph_test: $(FLAME_OBJECTS)
$(BUILD)/tests/unit/dcpi-tools/match_test: $(call objects,dcpi-tools/diff/match.c)

WEB_TESTS := $(addprefix $(BUILD)/tests/unit/dcpi-tools/,web_query_test web_html_test web_reports_test web_server_test)
$(WEB_TESTS): $(WEB_OBJECTS)
$(WEB_TESTS): LIBS_TOOLS += $(LIBS_WEB)

# What the replica consists of but for what calls the kernel.
ifeq ($(REPLICA_MACHINE),x86_64)
$(BUILD)/tests/unit/dcpi-tools/branch_x86_64_test: $(call objects,dcpi-tools/x/replica/branch_x86_64.c)
endif

# It is looked for beside the program that starts it.
$(BUILD)/tests/unit/lib/dcpi/dcpi-replica: $(REPLICA)
	@mkdir -p $(@D)
	cp $< $@
$(BUILD)/tests/unit/dcpi-tools/replica_process_test: | $(BUILD)/tests/unit/lib/dcpi/dcpi-replica

UNIT_SOURCES := $(sort $(wildcard tests/unit/*/*_test.c))
UNITS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(UNIT_SOURCES))
units: $(UNITS)
# Memory that ends.
$(BUILD)/tests/unit/tally/tally_test: ALL_LDFLAGS += -Wl,--wrap=calloc,--wrap=aligned_alloc
$(BUILD)/tests/unit/collectord/starved_test: ALL_LDFLAGS += -Wl,--wrap=tally_add

# Databases that tests of the tools read.
$(BUILD)/tests/system/make_database: $(BUILD)/obj/tests/system/make_database.o $(call archives,$(DAEMON_ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(DAEMON_ROOMS))
workloads: $(BUILD)/tests/system/make_database

SHOWERS := $(addprefix $(BUILD)/tests/system/,show_counts show_edges show_stacks hold_reader hung_mount many_processes ready_time)
$(SHOWERS): $(BUILD)/tests/system/%: $(BUILD)/obj/tests/system/%.o $(call archives,$(DAEMON_ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(DAEMON_ROOMS))
workloads: $(SHOWERS)

# The objects that the tracker recorded.
SHOW_OBJECTS := $(BUILD)/tests/system/show_objects
$(SHOW_OBJECTS): $(BUILD)/obj/tests/system/show_objects.o $(call archives,base memory)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^
workloads: $(SHOW_OBJECTS)

# What perf would have recorded of its accesses to memory.
MEM_RECORDING := $(BUILD)/tests/system/mem_recording
$(MEM_RECORDING): $(BUILD)/obj/tests/system/mem_recording.o
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^
workloads: $(MEM_RECORDING)

# What Arm's SPE wrote into a recording.
SHOW_ACCESSES := $(BUILD)/tests/system/show_accesses
$(SHOW_ACCESSES): $(BUILD)/obj/tests/system/show_accesses.o $(MEM_OBJECTS) $(IMPORT_OBJECTS) $(call objects,$(TOOL_COMMON)) \
		$(CTL_OBJECTS) $(X_OBJECTS) $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(call room_libs,$(ROOMS)) $(LIBS_TOOLS)
$(SHOW_ACCESSES): LIBS_TOOLS += $(LIBS_MEM)
workloads: $(SHOW_ACCESSES)

# The flow graphs of any program.
$(BUILD)/tests/system/flow_graphs: $(BUILD)/obj/tests/system/flow_graphs.o $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(ROOMS))
workloads: $(BUILD)/tests/system/flow_graphs

# Stacks that gdb unwound, too.
$(BUILD)/tests/system/unwind_replay: $(BUILD)/obj/tests/system/unwind_replay.o $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(ROOMS))
workloads: $(BUILD)/tests/system/unwind_replay

# Stacks of a database.
$(BUILD)/tests/system/stack_list: $(BUILD)/obj/tests/system/stack_list.o $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(ROOMS))
workloads: $(BUILD)/tests/system/stack_list

# Samples of any program.
$(BUILD)/tests/system/sample_files: $(BUILD)/obj/tests/system/sample_files.o $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(ROOMS))
workloads: $(BUILD)/tests/system/sample_files

# Best cases, for a comparison with llvm-mca and with this CPU.
workloads: $(BUILD)/bench/best_case

# Instructions of real programs, for a test to compare.
$(BUILD)/tests/system/decode_list: $(BUILD)/obj/tests/system/decode_list.o $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(ROOMS))
workloads: $(BUILD)/tests/system/decode_list

# Disks that a crash could have left.
$(BUILD)/tests/system/crash_images: $(BUILD)/obj/tests/faults/crash_images.o $(call archives,$(DAEMON_ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(DAEMON_ROOMS))
workloads: $(BUILD)/tests/system/crash_images

# What dcpid's own pipeline costs, on recorded rings. Everything outside of it is played.
PIPELINE_REPLAY := $(BUILD)/tests/pipeline_cost/replay
$(PIPELINE_REPLAY): ALL_LDFLAGS += $(addprefix -Wl$(comma)--wrap=,machine_clock_ns machine_cpu_time_ns capture_child_find \
	capture_child_start kernel_text_run worker_start tgkill pthread_cond_timedwait pthread_cond_broadcast)
$(PIPELINE_REPLAY): $(BUILD)/obj/tests/pipeline_cost/replay.o \
		$(call objects,$(filter-out collectord/main.c,$(DAEMON_SOURCES))) $(call archives,$(DAEMON_ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(DAEMON_ROOMS)) $(LIBS_DAEMON)
workloads: $(PIPELINE_REPLAY)
pipeline-cost-figures: $(PIPELINE_REPLAY)
	tests/system/pipeline_cost.sh --renew

# What dcpi-capture is asked, for tests that count what it executes.
CAPTURE_REQUEST := $(BUILD)/tests/capture_cost/request
$(CAPTURE_REQUEST): $(BUILD)/obj/tests/capture_cost/request.o $(BUILD)/obj/capture/protocol.o \
		$(call archives,$(CAPTURE_ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(CAPTURE_ROOMS))
CAPTURE_UNLOCKED := $(BUILD)/tests/capture_cost/unlocked
$(CAPTURE_UNLOCKED): ALL_LDFLAGS += -Wl,--wrap=jail_enter
$(CAPTURE_UNLOCKED): $(BUILD)/obj/tests/capture_cost/unlocked.o $(call objects,$(call sources,capture)) \
		$(call archives,$(CAPTURE_ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CAPTURE_ROOM_LIBS) $(LIBS_CAPTURE)
workloads: $(CAPTURE_REQUEST) $(CAPTURE_UNLOCKED)
capture-cost-figures: $(CAPTURE_REQUEST) $(CAPTURE_UNLOCKED) $(CAPTURE)
	tests/system/capture_cost.sh --renew

# Fuzz targets: one per tests/fuzz/NAME_fuzz.c, corpus in tests/fuzz/corpus/NAME/. Always clang, in a build folder of their own:
# make fuzzers BUILD=build-fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/fuzz/*_fuzz.c)))
fuzzers: $(FUZZERS)
$(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(call objects,$(filter-out collectord/main.c,$(DAEMON_SOURCES))) \
		$(call archives,$(DAEMON_ROOMS))
	@mkdir -p $(@D)
	$(CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(call room_libs,$(DAEMON_ROOMS)) $(LIBS_DAEMON)

# Measurements of one room alone; `make benches`, then run them by hand on a quiet machine.
# What runs machine code of its own runs on the CPU that it is for.
NOT_HERE := $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),,bench/block_cycles.c)
BENCHES := $(patsubst %.c,$(BUILD)/%,$(filter-out $(NOT_HERE),$(sort $(wildcard bench/*.c))))
benches: $(BENCHES)
workloads: $(filter %/block_cycles,$(BENCHES))
$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(ROOMS)) -lm

$(BUILD)/bench/growth_bench: $(BUILD)/obj/bench/growth_bench.o \
		$(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard bench/year/*.c))) $(BUILD)/obj/collectord/flush_retention.o \
		$(BUILD)/obj/collectord/machine.o $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(ROOMS)) -lm

$(BUILD)/bench/capture_bench: $(BUILD)/obj/bench/capture_bench.o $(BUILD)/obj/capture/protocol.o \
		$(BUILD)/obj/collectord/capture_child.o $(BUILD)/obj/collectord/machine.o $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(ROOMS)) -lm

$(BUILD)/bench/block_cycles: $(BUILD)/obj/bench/block_cycles.o \
		$(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard bench/silicon/*.c))) $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(ROOMS)) -lm

$(BUILD)/bench/memory_cycles: $(BUILD)/obj/dcpi-tools/emu/calibrate/chase.o
$(BUILD)/bench/emulator_setup: $(BUILD)/obj/emulator/setup.o

# What each part of dcpiemu's model costs; a quarter of an hour on a quiet machine.
bench-emulator: all benches workloads
	bench/emulator --write docs/benchmarks.md $(BENCH_OPTIONS)

# What it costs beside `perf record`, into docs/benchmarks.md; about twelve minutes on a quiet machine.
BENCH_OPTIONS ?=
bench: all benches workloads
	bench/beside_perf --write docs/benchmarks.md $(BENCH_OPTIONS)

# Does anything grow? An hour, or so many minutes as SOAK_MINUTES says.
SOAK_OPTIONS ?=
soak: all workloads
	bench/soak --write docs/benchmarks.md --picture docs/soak.svg --csv $(BUILD)/soak.csv $(SOAK_OPTIONS)

# How large does it get? A year of a machine with 64 CPUs, in some minutes.
growth: all benches
	bench/growth --write docs/benchmarks.md --picture docs/growth.svg

# How long dcpiweb's pages take on a month of samples; ten minutes.
bench-web: all workloads
	bench/web --write docs/benchmarks.md

# What call stacks cost, beside perf's; fifteen minutes on a quiet machine.
bench-stacks: all workloads
	bench/stacks --write docs/benchmarks.md

# What describing loops costs programs, beside cachegrind, and real packages; fifteen minutes, with network.
bench-locality: all
	bench/locality --write docs/benchmarks.md
	bench/locality_exact --write docs/benchmarks.md
	bench/locality_packages --write docs/benchmarks.md

# What recording memory objects costs, beside heaptrack; some minutes.
bench-tracker: all workloads
	bench/tracker --write docs/benchmarks.md

# The rooms that the daemon does not link have fuzz targets of their own.
IMAGE_FUZZERS := $(addprefix $(BUILD)/tests/fuzz/,capture_fuzz symbols_fuzz lines_fuzz access_type_fuzz demangle_fuzz decoder_fuzz flow_graph_fuzz pipeline_fuzz machine_fuzz analysis_fuzz \
	run_time_code_fuzz salvage_fuzz unwind_build_fuzz memory_profile_fuzz object_log_fuzz spe_fuzz locality_record_fuzz \
	locality_rows_fuzz)
$(IMAGE_FUZZERS): $(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(call room_libs,$(ROOMS))

# And so have the tools.
TOOL_FUZZERS := $(addprefix $(BUILD)/tests/fuzz/,time_text_fuzz status_fuzz counts_file_fuzz trace_file_fuzz record_file_fuzz thread_list_fuzz import_fuzz mem_import_fuzz archive_fuzz web_query_fuzz)
$(TOOL_FUZZERS): $(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(call objects,$(TOOL_COMMON)) $(CTL_OBJECTS) \
		$(X_OBJECTS) $(IMPORT_OBJECTS) $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) -fsanitize=fuzzer,address,undefined -o $@ $(filter %.o,$^) $(filter %.a,$^) $(call room_libs,$(ROOMS)) $(LIBS_TOOLS)

$(BUILD)/tests/fuzz/record_file_fuzz: $(call objects,dcpi-tools/emu/record_read.c)
$(BUILD)/tests/fuzz/trace_file_fuzz: $(call objects,dcpi-tools/loc/trace_read.c)
$(BUILD)/tests/fuzz/mem_import_fuzz: $(MEM_OBJECTS)
$(BUILD)/tests/fuzz/mem_import_fuzz: LIBS_TOOLS += $(LIBS_MEM)
$(BUILD)/tests/fuzz/thread_list_fuzz: $(call objects,dcpi-tools/emu/command.c emulator/setup.c)
$(BUILD)/tests/fuzz/archive_fuzz: $(call objects,dcpi-tools/tar/archive.c)
$(BUILD)/tests/fuzz/archive_fuzz: LIBS_TOOLS += -larchive
$(BUILD)/tests/fuzz/web_query_fuzz: $(WEB_OBJECTS)
$(BUILD)/tests/fuzz/web_query_fuzz: LIBS_TOOLS += $(LIBS_WEB)

MANUALS := $(patsubst man/%.scd,$(BUILD)/man/%,$(wildcard man/*.scd))
manuals: $(MANUALS)
$(BUILD)/man/%: man/%.scd
	@mkdir -p $(@D)
	scdoc < $< > $@

-include tests/workloads/workloads.mk
-include tests/accuracy/accuracy.mk
-include scripts/install.mk
-include scripts/lint.mk

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj $(BUILD)/plugin $(BUILD)/replica $(BUILD)/shared $(BUILD)/tracker -name '*.d' 2>/dev/null)
