# shellcheck shell=bash
# shellcheck disable=SC2154 # what lib.sh sets
# container.sh - a booted Debian for system tests; sourced after lib.sh
#
# The root is made once by debootstrap and kept below $DCPI_TEST_CACHE; every boot sees it through an overlay that is
# thrown away. What is to run inside comes in by a bind mount and its words go out the same way; the container ends by
# itself when that is done. No machine is registered and no unit of this host is used.

cache=${DCPI_TEST_CACHE:-/var/cache/dcpi-tests}

# Why a container cannot be booted here; nothing when it can.
container_obstacle()
{
	[ "$(id -u)" = 0 ] || { echo 'not root'; return; }
	command -v systemd-nspawn >/dev/null || { echo 'there is no systemd-nspawn'; return; }
	command -v debootstrap >/dev/null || { echo 'there is no debootstrap'; return; }
	unshare --mount --pid --fork true 2>/dev/null || echo 'namespaces are not permitted here'
}

# The archive this machine installs from; nothing when it says none, and then debootstrap has a default.
archive_of_host()
{
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' 2>/dev/null |
		awk '$1 == "bookworm" && $2 == "main" { print $3; exit }'
}

# container_root PACKAGE... - make the root that has these packages, or find it; sets $root
container_root()
{
	local packages key

	packages=$(printf '%s\n' systemd systemd-sysv "$@" | sort -u | paste -sd,)
	key=$(printf '%s' "bookworm $packages" | sha256sum | cut -c 1-12)
	root=$cache/root-$key
	mkdir -p "$cache" || return
	exec {cache_lock}>"$cache/lock"
	flock "$cache_lock" || return
	[ ! -e "$root" ] || return 0
	# What another list of packages left behind, or a run that was ended, is not worth its space.
	rm -rf "$cache"/root-*
	# shellcheck disable=SC2046 # nothing, or one word
	if ! debootstrap --variant=minbase --include="$packages" bookworm "$root.part" $(archive_of_host) \
		>"$cache/debootstrap.log" 2>&1; then
		tail -n 5 "$cache/debootstrap.log" | sed 's/^/# /'
		return 1
	fi
	rm -rf "$root.part"/var/cache/apt/archives/*.deb
	mv "$root.part" "$root"
}

# container_run SECONDS FOLDER - boot $root and run FOLDER/inside.sh in it (FOLDER is /mnt/inside there); its output is
# in FOLDER/out and FOLDER/err, the console's in FOLDER/console
container_run()
{
	local seconds=$1 folder=$2 unit=$root/etc/systemd/system/inside.service

	cat >"$unit" <<-'END'
		[Unit]
		Description=what this container was booted for
		After=multi-user.target

		[Service]
		Type=oneshot
		ExecStart=/bin/bash /mnt/inside/inside.sh
		ExecStopPost=/bin/systemctl --no-block poweroff
		StandardOutput=file:/mnt/inside/out
		StandardError=file:/mnt/inside/err
	END
	mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
	ln -sf ../inside.service "$root/etc/systemd/system/multi-user.target.wants/inside.service"
	start timeout --kill-after=20 "$seconds" systemd-nspawn --quiet --directory="$root" --volatile=overlay --keep-unit \
		--register=no --boot --capability=all --system-call-filter=perf_event_open --console=pipe \
		--machine="dcpi-test-$$" --bind="$folder:/mnt/inside" </dev/null >"$folder/console" 2>&1
	wait "$started"
}
