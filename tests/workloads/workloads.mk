# Programs that system tests and scripts/quickstart sample, into $(BUILD)/workloads/. They are not sanitized and not
# hardened: what is sampled should look like what users build. One .c or .cc file is one program unless listed here.

WORKLOAD_CFLAGS := -O2 -g -std=gnu11 $(WARNINGS) -D_GNU_SOURCE
WORKLOAD_CXXFLAGS := -O2 -g -std=gnu++17 -Wall -Wextra -Wshadow
workload = $(BUILD)/workloads/$(1)

WORKLOADS := $(filter-out heat burn_library huge_text clock_shim,$(patsubst tests/workloads/%.c,%,$(wildcard tests/workloads/*.c))) \
	$(filter-out call_tree_exceptions,$(patsubst tests/workloads/%.cc,%,$(wildcard tests/workloads/*.cc)))
workloads: $(addprefix $(BUILD)/workloads/,$(WORKLOADS) libheat.so libburn_a.so libburn_b.so shares_static executions_static executions_static_pie \
	libexecutions_a.so libexecutions_b.so clock_shim.so)

$(call workload,%): tests/workloads/%.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -o $@ $<

$(call workload,%): tests/workloads/%.cc
	@mkdir -p $(@D)
	$(CXX) $(WORKLOAD_CXXFLAGS) -o $@ $<

$(call workload,clock_shim.so): tests/workloads/clock_shim.c
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -shared -fPIC -o $@ $<

# Recursion stays recursion.
$(call workload,calls): tests/workloads/calls.c
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls -o $@ $<

$(call workload,shares_static): tests/workloads/shares.c
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -static -o $@ $<

$(call workload,executions_static): tests/workloads/executions.c
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -static -o $@ $<

$(call workload,executions_static_pie): tests/workloads/executions.c
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -static-pie -fPIE -o $@ $<

$(call workload,libexecutions_%.so): tests/workloads/executions.c
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -shared -fPIC -Wl,-soname,$(@F) -o $@ $<

$(call workload,libheat.so): tests/workloads/heat.c tests/workloads/heat.h
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -shared -fPIC -Wl,-soname,libheat.so -o $@ $<

$(call workload,library_user): tests/workloads/library_user.c $(call workload,libheat.so)
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -o $@ $^ -Wl,-rpath,'$$ORIGIN'

$(call workload,libburn_%.so): tests/workloads/burn_library.c tests/workloads/burn.h
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -DBURN=burn_$* -shared -fPIC -Wl,-soname,libburn_$*.so -o $@ $<

# Its huge page of text must lie on such a page's boundary wherever it is loaded.
$(call workload,places): tests/workloads/places.c tests/workloads/huge_text.c tests/workloads/burn.h
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -no-pie -o $@ $(filter %.c,$^)

# Preloaded into programs to disturb them.
workloads: $(call workload,fail_nth.so) $(call workload,fail_disk.so) $(call workload,record_writes.so)
$(call workload,%.so): tests/faults/%.c tests/faults/disk_log.h
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -Wno-missing-prototypes -shared -fPIC -o $@ $<

# It opens events as dcpid does, with the same code.
$(call workload,record_rings): $(BUILD)/obj/tests/workloads/record_rings.o $(call archives,base event)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^

# What emulators run: threads by OpenMP or their own.
EMULATED := $(patsubst tests/workloads/emulated/%.c,$(BUILD)/workloads/emulated/%,$(wildcard tests/workloads/emulated/*.c))
workloads: $(EMULATED)
$(EMULATED): $(call workload,emulated/%): tests/workloads/emulated/%.c tests/workloads/emulated/emulated.h
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -fopenmp -pthread -o $@ $<

# Objects of memory whose right placement is known.
OBJECTS := $(patsubst tests/workloads/objects/%.c,$(BUILD)/workloads/objects/%,$(wildcard tests/workloads/objects/*.c))
workloads: $(OBJECTS)
$(OBJECTS): $(call workload,objects/%): tests/workloads/objects/%.c tests/workloads/objects/objects.h tests/workloads/emulated/emulated.h
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -I. -pthread -fno-ipa-icf -o $@ $<
workloads: $(call workload,objects/lives)
$(call workload,objects/lives): tests/workloads/objects/lives.cc
	@mkdir -p $(@D)
	$(CXX) $(WORKLOAD_CXXFLAGS) -fno-ipa-icf -pthread -o $@ $<

$(call workload,call_tree_exceptions.o): tests/workloads/call_tree_exceptions.cc tests/workloads/call_tree_exceptions.h tests/workloads/burn.h
	@mkdir -p $(@D)
	$(CXX) $(WORKLOAD_CXXFLAGS) -c -o $@ $<

$(call workload,call_tree): tests/workloads/call_tree.c $(call workload,call_tree_exceptions.o) tests/workloads/burn.h
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -pthread -o $@ $(filter %.c %.o,$^) -lstdc++

# What the tracker is preloaded into.
workloads: $(addprefix $(BUILD)/workloads/tracker/,objects objects_static operators opener liboperators.so)
$(BUILD)/workloads/tracker/%: WORKLOAD_CFLAGS += -fno-builtin # no object may be optimized away
$(BUILD)/workloads/tracker/%: WORKLOAD_CXXFLAGS += -fno-allocation-dce
$(addprefix $(BUILD)/workloads/tracker/,objects opener): $(call workload,tracker/%): tests/workloads/tracker/%.c
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -pthread -o $@ $<

$(call workload,tracker/objects_static): tests/workloads/tracker/objects.c
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_CFLAGS) -pthread -static -o $@ $<

$(call workload,tracker/operators): tests/workloads/tracker/operators.cc
	@mkdir -p $(@D)
	$(CXX) $(WORKLOAD_CXXFLAGS) -o $@ $<

$(call workload,tracker/liboperators.so): tests/workloads/tracker/operators.cc
	@mkdir -p $(@D)
	$(CXX) $(WORKLOAD_CXXFLAGS) -DLIBRARY -shared -fPIC -o $@ $<
