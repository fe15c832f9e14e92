# make install, make deb, make lintian. Everything goes below $(DESTDIR); a configuration that is there is kept.

INSTALL_PROGRAM := install -m 755
INSTALL_DATA := install -m 644
SYSTEMD_UNITS := dcpid.service dcpid-textfile.service dcpid-textfile.timer dcpiweb.service dcpiweb.socket
ARCHITECTURE := $(shell dpkg --print-architecture 2>/dev/null)
DEBS := $(patsubst %,$(BUILD)/%_$(VERSION)_$(ARCHITECTURE).deb,dcpid dcpi-tools dcpi-emulator dcpi-web libsample0 libsample-dev) \
	$(BUILD)/dcpi_$(VERSION)_all.deb
DEB_TREE := $(BUILD)/deb/dcpi-$(VERSION)

.PHONY: install deb lintian

install: all
	install -d $(addprefix $(DESTDIR),$(sbindir) $(bindir) $(plugindir) $(completiondir) $(docdir) $(sysconfdir)/dcpi \
		$(unitdir) $(sysusersdir) $(tmpfilesdir) $(datadir)/dcpi/cpus $(datadir)/dcpi/machines $(datadir)/dcpi/scripts \
		$(mandir)/man1 $(mandir)/man5 $(mandir)/man8 \
		$(includedir)/libsample $(libdir)/pkgconfig)
	$(INSTALL_PROGRAM) $(BUILD)/bin/dcpid $(DESTDIR)$(sbindir)
	$(INSTALL_PROGRAM) $(addprefix $(BUILD)/bin/,$(TOOLS)) $(DESTDIR)$(bindir)
	$(INSTALL_DATA) $(PLUGINS) $(TRACKER) $(LOCALITY_LIBRARY) $(LOCALITY_PASS) $(LOCALITY_SOURCE_PASS) $(DESTDIR)$(plugindir)
	$(INSTALL_PROGRAM) $(REPLICA) $(CAPTURE) $(DESTDIR)$(plugindir)
	$(INSTALL_DATA) $(LIBSAMPLE_SHARED) $(LIBSAMPLE_STATIC) $(DESTDIR)$(libdir)
	ln -sf $(notdir $(LIBSAMPLE_SHARED)) $(DESTDIR)$(libdir)/libsample.so
	$(INSTALL_DATA) $(LIBSAMPLE_HEADERS) $(DESTDIR)$(includedir)/libsample
	sed 's|@prefix@|$(prefix)|; s|@includedir@|$(includedir)|; s|@libdir@|$(libdir)|; s|@version@|$(VERSION)|; s|@private@|$(sort $(LIBSAMPLE_LIBS))|' \
		libsample/api/libsample.pc.in > $(DESTDIR)$(libdir)/pkgconfig/libsample.pc
	chmod 644 $(DESTDIR)$(libdir)/pkgconfig/libsample.pc
	$(foreach n,1 5 8,$(INSTALL_DATA) $(filter %.$(n),$(MANUALS)) $(DESTDIR)$(mandir)/man$(n) &&) true
	$(INSTALL_DATA) $(wildcard completions/*) $(DESTDIR)$(completiondir)
	$(INSTALL_DATA) $(wildcard config/cpus/*.conf) $(DESTDIR)$(datadir)/dcpi/cpus
	$(INSTALL_DATA) $(wildcard config/machines/*.conf) $(DESTDIR)$(datadir)/dcpi/machines
	$(INSTALL_DATA) $(wildcard config/scripts/*.lua) $(DESTDIR)$(datadir)/dcpi/scripts
	$(INSTALL_DATA) README.md docs/tour.md $(DESTDIR)$(docdir)
	$(INSTALL_DATA) systemd/dcpid.sysusers $(DESTDIR)$(sysusersdir)/dcpid.conf
	$(INSTALL_DATA) systemd/dcpiweb.sysusers $(DESTDIR)$(sysusersdir)/dcpiweb.conf
	$(INSTALL_DATA) systemd/dcpid.tmpfiles $(DESTDIR)$(tmpfilesdir)/dcpid.conf
	$(foreach u,$(SYSTEMD_UNITS),sed 's|/usr/sbin/|$(sbindir)/|; s|/usr/bin/|$(bindir)/|' systemd/$(u) \
		> $(DESTDIR)$(unitdir)/$(u) && chmod 644 $(DESTDIR)$(unitdir)/$(u) &&) true
	[ -e $(DESTDIR)$(sysconfdir)/dcpi/dcpid.conf ] || \
		$(INSTALL_DATA) config/dcpid.conf $(DESTDIR)$(sysconfdir)/dcpi/dcpid.conf

# Built in a copy, so that nothing of it is left in the tree, and in the environment of a package, not of this make.
deb:
	rm -rf $(BUILD)/deb
	mkdir -p $(DEB_TREE)
	tar -c --exclude-vcs --exclude='./build' --exclude='./build-*' . | tar -x -C $(DEB_TREE)
	cd $(DEB_TREE) && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS DEB_BUILD_OPTIONS="nocheck parallel=$(shell nproc)" \
		dpkg-buildpackage -b -us -uc > ../build.log 2>&1 || { cat ../build.log; exit 1; }
	rm -f $(BUILD)/*.deb
	mv $(addprefix $(BUILD)/deb/,$(notdir $(DEBS))) $(BUILD)

lintian:
	lintian --allow-root --tag-display-limit 0 --fail-on error,warning $(DEBS)
