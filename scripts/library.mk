# libsample for other programs: what libsample/api/ declares, shared and static. What the rooms share among themselves stays
# within: the version script names what does not, and for the static library all else is made local.

LIBSAMPLE_SOVERSION := 0
LIBSAMPLE_MAP := libsample/api/libsample.map
LIBSAMPLE_HEADERS := $(wildcard libsample/api/libsample/*.h)
LIBSAMPLE_ROOMS := base event stream tally process unwind memory profile image
LIBSAMPLE_LIBS := $(foreach r,$(call reverse,$(LIBSAMPLE_ROOMS)),$(LIBS_$(r)))
LIBSAMPLE_SHARED := $(BUILD)/lib/libsample.so.$(LIBSAMPLE_SOVERSION)
LIBSAMPLE_STATIC := $(BUILD)/lib/libsample.a

shared_objects = $(patsubst %.c,$(BUILD)/shared/%.o,$(call sources,$(1)))
LIBSAMPLE_API := $(call shared_objects,libsample/api)
LIBSAMPLE_INNER := $(BUILD)/shared/rooms.a

OBJCOPY ?= $(shell $(CC) -print-prog-name=objcopy)

.PHONY: libraries
libraries: $(LIBSAMPLE_SHARED) $(LIBSAMPLE_STATIC)

$(BUILD)/shared/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(WARNINGS) -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIC $(CFLAGS) $(CPPFLAGS) -D_GNU_SOURCE \
		-DDCPI_VERSION='"$(VERSION)"' $(DIRECTORIES) -Ilibsample -I. -Ilibsample/api -MMD -MP \
		-c -o $@ $<

$(LIBSAMPLE_INNER): $(foreach r,$(LIBSAMPLE_ROOMS),$(call shared_objects,libsample/$(r)))
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

$(LIBSAMPLE_SHARED): $(LIBSAMPLE_API) $(LIBSAMPLE_INNER) $(LIBSAMPLE_MAP)
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(LIBSAMPLE_MAP) -Wl,-z,relro,-z,now,-z,defs -Wl,--as-needed \
		$(LDFLAGS) -o $@ $(LIBSAMPLE_API) $(LIBSAMPLE_INNER) $(LIBSAMPLE_LIBS)
	ln -sf $(@F) $(@D)/libsample.so

# One object, so that nothing within can meet a name of the program's.
$(LIBSAMPLE_STATIC): $(LIBSAMPLE_API) $(LIBSAMPLE_INNER) $(LIBSAMPLE_MAP)
	@mkdir -p $(@D)
	$(CC) -r -nostdlib -o $(BUILD)/shared/libsample.o $(LIBSAMPLE_API) $(LIBSAMPLE_INNER)
	sed -n 's/^\t\(sample_.*\);$$/\1/p' $(LIBSAMPLE_MAP) > $(BUILD)/shared/libsample.names
	$(OBJCOPY) --keep-global-symbols=$(BUILD)/shared/libsample.names $(BUILD)/shared/libsample.o
	@rm -f $@
	$(AR) rcs $@ $(BUILD)/shared/libsample.o
