#!/bin/bash
# service.sh - the package as its user meets it: installed, started, killed, stopped and purged in a booted system
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/container.sh"

obstacle=$(container_obstacle)
if [ -n "$obstacle" ]; then
	skip 'the service runs in a booted container' "$obstacle"
	exit 0
fi
may_sample_or_skip 'the service runs in a booted container' || exit 0

# The packages in the order of their names: dcpi, dcpi-tools, dcpi-web, dcpid. The emulator's is not for a server.
mapfile -t packages < <(find "$build" -maxdepth 1 -name 'dcpi_*.deb' -o -maxdepth 1 -name 'dcpi-tools_*.deb' \
	-o -maxdepth 1 -name 'dcpi-web_*.deb' -o -maxdepth 1 -name 'dcpid_*.deb' | sort -V)
if [ ${#packages[@]} != 4 ]; then
	not_ok 'there are packages to install' "make deb puts them into $build; there are: ${packages[*]}"
	exit 1
fi
# The packages they need are in the kept root, so that nothing is fetched while the container runs.
mapfile -t needs < <(for package in "${packages[@]}"; do dpkg-deb --field "$package" Depends; done | tr ',' '\n' |
	sed 's/^ *//; s/[ |:(].*//' | grep -v -e '^$' -e '^dcpi')
if ! container_root "${needs[@]}"; then
	not_ok 'a root for the container can be made'
	exit 1
fi

inside=$scratch/inside
mkdir "$inside"
for package in "${packages[@]}"; do
	cp "$package" "$inside/$(basename "${package%%_*}").deb"
done
cp "$top/tests/system/service/inside.sh" "$top/tests/system/lib.sh" "$inside"
cp "$build/workloads/shares" "$build/workloads/shares_static" "$build/workloads/code_maker" "$inside"
container_run 300 "$inside"
status=$?
cat "$inside/out" 2>/dev/null
# The last thing the script inside says.
if [ $status != 0 ] || ! grep -q '^# inside: done$' "$inside/out" 2>/dev/null; then
	not_ok 'the container ran to its end' "systemd-nspawn's status: $status" "$(tail -n 30 "$inside/console")" \
		"$(cat "$inside/err" 2>/dev/null)"
fi
check 'nothing of the container is left running' bash -c "! pgrep -f '[m]achine=dcpi-test-$$'"
