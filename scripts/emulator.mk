# What QEMU's emulators load: counts for dcpix, timing for dcpiemu, trace for dcpiloc. Found beside the programs, as ../lib/dcpi/ from where
# they are. The parts of them that do not call the emulator are tested by tests/unit/emulator/ and read by the tools.

PLUGINS := $(BUILD)/lib/dcpi/dcpi-counts.so $(if $(wildcard emulator/timing/plugin.c),$(BUILD)/lib/dcpi/dcpi-timing.so) \
	$(BUILD)/lib/dcpi/dcpi-trace.so

plugin_objects = $(patsubst %.c,$(BUILD)/plugin/%.o,$(1))
COUNTS_SOURCES := $(call sources,emulator) $(call sources,emulator/counts) $(X86_ENCODING) \
	$(addprefix libsample/process/,build_id.c mapped_file.c proc.c)
TRACE_SOURCES := $(call sources,emulator) $(call sources,emulator/locality) $(X86_ENCODING) \
	$(addprefix libsample/process/,build_id.c mapped_file.c proc.c) $(addprefix libsample/locality/,line_set.c scores.c)
TIMING_PARTS := $(foreach f,block model clock record timing,$(call sources,emulator/$(f)))
TIMING_ROOMS := $(call up_to,$(ROOMS),machine)
TIMING_INNER := $(BUILD)/plugin/rooms.a

# Those that call the emulator are linked nowhere else.
EMULATOR_ENTRIES := emulator/translation.c emulator/counts/counts.c emulator/timing/instrument.c \
	emulator/timing/plugin.c
EMULATOR_OBJECTS := $(call objects,$(filter-out $(EMULATOR_ENTRIES),$(call sources,emulator) $(call sources,emulator/counts) \
	$(TIMING_PARTS)))

# What is done at each access crosses files: optimized as a whole, programs are emulated an eighth faster. Two fields that
# are written at once are read one by one a moment later, for which the host waits: a twentieth. In one partition,
# as what goes on in another file stays near: in several, one function more moved others apart, and a program was a tenth slower.
PLUGIN_FLAGS := -O3 $(if $(findstring clang,$(CC)),-fno-slp-vectorize,-fno-tree-slp-vectorize -flto=auto -flto-partition=one)

$(BUILD)/plugin/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(WARNINGS) -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIC -fvisibility=hidden $(CFLAGS) $(PLUGIN_FLAGS) $(CPPFLAGS) \
		-D_GNU_SOURCE -DDCPI_VERSION='"$(VERSION)"' $(DIRECTORIES) -Ilibsample -I. -MMD -MP -c -o $@ $<

$(BUILD)/lib/dcpi/dcpi-counts.so: $(call plugin_objects,$(COUNTS_SOURCES))
	@mkdir -p $(@D)
	$(CC) $(PLUGIN_FLAGS) -shared -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS) -o $@ $^

$(BUILD)/lib/dcpi/dcpi-trace.so: $(call plugin_objects,$(TRACE_SOURCES))
	@mkdir -p $(@D)
	$(CC) $(PLUGIN_FLAGS) -shared -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS) -o $@ $^

$(TIMING_INNER): $(foreach r,$(TIMING_ROOMS),$(call plugin_objects,$(call sources,libsample/$(r))))
	@mkdir -p $(@D)
	@rm -f $@
	$(if $(findstring clang,$(CC)),$(AR),gcc-ar) rcs $@ $^

$(BUILD)/lib/dcpi/dcpi-timing.so: $(call plugin_objects,$(call sources,emulator) $(TIMING_PARTS)) $(TIMING_INNER)
	@mkdir -p $(@D)
	$(CC) $(PLUGIN_FLAGS) -shared -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS) -o $@ $^ $(call room_libs,$(TIMING_ROOMS)) -lpthread

# What the plugins consist of but for what calls the emulator.
$(BUILD)/tests/unit/emulator/%: $(BUILD)/obj/tests/unit/emulator/%.o $(EMULATOR_OBJECTS) $(call archives,$(TIMING_ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(TIMING_ROOMS)) -lcmocka -lpthread

$(BUILD)/tests/unit/emulator/tracing_test: $(call objects,emulator/locality/tracing.c) $(call archive,locality)

# How fast blocks are prepared.
$(addprefix $(BUILD)/bench/,blocks_bench model_bench): $(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(EMULATOR_OBJECTS) $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(ROOMS)) -lm -lpthread

$(BUILD)/tests/fuzz/blocks_fuzz: $(BUILD)/obj/tests/fuzz/blocks_fuzz.o $(EMULATOR_OBJECTS) $(call archives,$(ROOMS))
	@mkdir -p $(@D)
	$(CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(call room_libs,$(ROOMS)) -lpthread

# Compares what blocks say of instructions with what the emulator does.
BLOCKS_PLUGIN := $(BUILD)/tests/system/blocks_plugin.so
$(BLOCKS_PLUGIN): $(call plugin_objects,tests/system/blocks_plugin.c $(call sources,emulator) $(call sources,emulator/block)) $(TIMING_INNER)
	@mkdir -p $(@D)
	$(CC) $(PLUGIN_FLAGS) -shared -Wl,--as-needed $(LDFLAGS) -o $@ $^ $(call room_libs,$(TIMING_ROOMS)) -lpthread
workloads: $(BLOCKS_PLUGIN)

# What a program fetches, loads and stores, and whether the model's caches and TLBs are the reference on it.
TRACE_PLUGIN := $(BUILD)/tests/system/trace_plugin.so
$(TRACE_PLUGIN): $(call plugin_objects,tests/system/trace_plugin.c emulator/plugin_api.c)
	@mkdir -p $(@D)
	$(CC) -shared -Wl,--as-needed $(LDFLAGS) -o $@ $^
workloads: $(TRACE_PLUGIN)

COMPARE_TRACE := $(BUILD)/tests/system/compare_trace
$(COMPARE_TRACE): $(BUILD)/obj/tests/system/compare_trace.o $(EMULATOR_OBJECTS) $(call archives,$(TIMING_ROOMS))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call room_libs,$(TIMING_ROOMS)) -lpthread
workloads: $(COMPARE_TRACE)
