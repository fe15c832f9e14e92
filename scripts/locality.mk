# What programs are compiled and linked with for dcpiloc: a plugin of GCC, for the version that $(CC) has, and a library.

GCC_VERSION := $(firstword $(subst ., ,$(shell $(CC) -dumpversion 2>/dev/null)))
GCC_HEADERS := $(shell $(CC) -print-file-name=plugin 2>/dev/null)/include
LOCALITY_LIBRARY := $(BUILD)/lib/dcpi/libdcpi-locality.so
# Only GCC has it, and only with the headers of its plugins (gcc-NN-plugin-dev).
LOCALITY_PASS := $(if $(wildcard $(GCC_HEADERS)/gcc-plugin.h),$(BUILD)/lib/dcpi/dcpi-locality-gcc$(GCC_VERSION).so)
# The same plugin: by this name it looks at the source, not at what the optimizer made of it.
LOCALITY_SOURCE_PASS := $(LOCALITY_PASS:.so=-source.so)

# As GCC itself is compiled: without run-time types. Its headers have warnings of their own.
$(LOCALITY_PASS): compiler/pass.cc compiler/calls.h
	@mkdir -p $(@D)
	$(patsubst %gcc,%g++,$(CC)) -std=gnu++17 -Wall -Wextra -O2 -fPIC -fvisibility=hidden -fno-rtti -fno-exceptions -shared \
		-I. -isystem $(GCC_HEADERS) -o $@ $<

$(LOCALITY_SOURCE_PASS): $(LOCALITY_PASS)
	@rm -f $@ && cp $< $@

$(LOCALITY_LIBRARY): compiler/runtime.c compiler/calls.h libsample/base/mapped_room.h libsample/locality/record.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(WARNINGS) -O2 -fPIC -fvisibility=hidden $(CPPFLAGS) -D_GNU_SOURCE -Ilibsample -I. -shared \
		-Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS) -o $@ $< -lpthread
