# What dcpimem preloads into programs: it says when their memory objects begin and end. A library of its own, which needs
# nothing but the C library and the unwinder. What reads its log in the process itself is libsample's.

TRACKER := $(BUILD)/lib/dcpi/libdcpi-objects.so
TRACKER_OBJECTS := $(patsubst %.c,$(BUILD)/tracker/%.o,$(call sources,tracker) \
	$(addprefix libsample/memory/,live_objects.c object_event.c object_log.c object_map.c))

# -fno-builtin: the compiler must not take what these functions do for what malloc() does. Frame addresses are compared.
$(BUILD)/tracker/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(WARNINGS) -O2 -fPIC -fvisibility=hidden -fno-builtin -fexceptions -fno-omit-frame-pointer \
		-fno-stack-protector $(CPPFLAGS) -D_GNU_SOURCE -Ilibsample -I. -MMD -MP -c -o $@ $<

$(TRACKER): $(TRACKER_OBJECTS)
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS) -o $@ $^ -lgcc_s -lpthread -ldl
