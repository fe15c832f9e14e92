#!/bin/bash
# inside.sh - the part of service.sh that runs inside the booted container, as root
# shellcheck source=../lib.sh
source /mnt/inside/lib.sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive

as()
{
	local user=$1

	shift
	runuser -u "$user" -- "$@"
}

main_pid()
{
	systemctl show --property=MainPID --value dcpid
}

# Samples of all events that dcpiprof --json reports for image $1, in all epochs.
samples_of()
{
	dcpiprof --json --epoch all --image "$1" | tr -d ' \n' | grep -o '"counts":{[^}]*}' | grep -o ':[0-9]\+' | tr -d : |
		awk '{ sum += $1 } END { print sum + 0 }'
}

# is_more SENTENCE SMALLER LARGER
is_more()
{
	if [ "$3" -gt "$2" ]; then
		ok "$1"
	else
		not_ok "$1" "$3 is not more than $2"
	fi
}

warnings()
{
	journalctl --quiet --no-pager --output=cat --priority=warning _SYSTEMD_UNIT=dcpid.service
}

# What the daemon says of the machine, not of itself: that a container does not see all processes, and what only happens
# where others take all of the CPU. Which processes are new is lost when dcpid does not run for long, the kernel's
# interrupts take longer, a reader is put off in the middle. Whole sentences: what it says more is a complaint.
of_the_machine='^(this is a pid namespace: samples of processes outside it stay unknown'\
'|records about processes were lost, their buffer was full \(sideband_ring_kib\); /proc was read again: done'\
'|kernel\.perf_event_max_sample_rate is now [0-9]+'\
'|process [0-9]+ reads the database and does not go on: the file grows until it does, or ends)$'

# What the daemon itself said at warning level or above, and what systemd said about its unit.
complaints()
{
	warnings | grep -Ev "$of_the_machine"
	journalctl --quiet --no-pager --output=cat --priority=warning UNIT=dcpid.service
}

# What was one package: here it is made of the new ones, with what a user changed in its configuration.
make_the_old_package()
{
	local tree=/tmp/old

	dpkg-deb -x /mnt/inside/dcpid.deb $tree && dpkg-deb -x /mnt/inside/dcpi-tools.deb $tree &&
		rm -r $tree/usr/share/doc && dpkg-deb -e /mnt/inside/dcpid.deb $tree/DEBIAN && rm $tree/DEBIAN/md5sums &&
		sed -i 's/^Package: .*/Package: dcpi/; s/^Version: .*/Version: 0.1.0/; /^\(Breaks\|Replaces\|Suggests\): /d' \
			$tree/DEBIAN/control && dpkg-deb -b $tree /tmp/old.deb
}

test_upgrade()
{
	local pid

	check 'the old single package can be made' make_the_old_package
	check 'and installed' apt-get install -y /tmp/old.deb
	echo '# changed by its user' >>/etc/dcpi/dcpid.conf
	check 'its daemon runs' systemctl start dcpid
	pid=$(main_pid)
	check 'an upgrade of dcpi brings the daemon and the reports' apt-get install -y --no-install-recommends \
		-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \
		/mnt/inside/dcpi.deb /mnt/inside/dcpid.deb /mnt/inside/dcpi-tools.deb
	check_equal 'the daemon belongs to dcpid' dcpid "$(dpkg -S /usr/sbin/dcpid | cut -d : -f 1)"
	check_equal 'what its user changed is kept' '# changed by its user' "$(tail -n 1 /etc/dcpi/dcpid.conf)"
	check_equal 'the daemon runs on, from the new package' active "$(systemctl is-active dcpid)"
	check 'started anew' test "$(main_pid)" != "$pid"
	check 'the transitional package may go' apt-get purge -y dcpi
	check 'and takes nothing with it' test -x /usr/sbin/dcpid
	check 'the rest goes' apt-get purge -y dcpid dcpi-tools
	rm -r /tmp/old /tmp/old.deb
}

test_install()
{
	local said

	said=$(apt-get install -y --no-install-recommends /mnt/inside/dcpid.deb 2>&1)
	check_equal 'apt installs the daemon, and one line says how to begin' 1 \
		"$(grep -c '^dcpid: "systemctl enable --now dcpid" begins to sample' <<<"$said")"
	check_fails 'alone: reports are another package' 127 '' dcpiprof --version
	check 'its reports are installed' apt-get install -y --no-install-recommends /mnt/inside/dcpi-tools.deb
	check_equal 'the service waits to be started' inactive "$(systemctl is-active dcpid)"
	check_equal 'the database belongs to dcpi alone' 'dcpi dcpi 750' "$(stat -c '%U %G %a' /var/lib/dcpi)"
	check 'the unit has no mistakes' systemd-analyze verify --man=no dcpid.service
	useradd --no-create-home --groups dcpi insider
	useradd --no-create-home outsider
}

test_start()
{
	check 'systemctl start dcpid succeeds' systemctl start dcpid
	check_equal 'it runs as user dcpi' dcpi "$(stat -c %U "/proc/$(main_pid)")"
	/mnt/inside/shares 3
	check 'dcpictl flush writes what was sampled' dcpictl flush
	is_more 'the work done is in the profile' 100 "$(samples_of shares)"
	check 'its hottest procedure is named' bash -c 'dcpiprof --image shares | grep -w share_of_60'
	check 'dcpictl status answers' dcpictl status
	check 'what a sample costs was measured' bash -c 'dcpictl status --json | grep "\"cost_ns\": *[1-9]"'
	dcpiprof | sed -n 's/^Samples: */# FIGURE service: /p'
}

test_users()
{
	check 'a user in group dcpi sees the profile' as insider dcpiprof
	check 'a user in group dcpi sees the status' as insider dcpictl status
	check_fails 'another user is refused the profile and told why' 1 'are you in group dcpi?' as outsider dcpiprof
	check_fails 'another user is refused the control socket' 1 'Permission denied' as outsider dcpictl status
	check_fails 'the doctor tells another user how to join the group' 1 'usermod -aG dcpi outsider' \
		as outsider dcpictl doctor
	check 'the doctor sees what a user of the group may see' bash -c \
		'runuser -u insider -- dcpictl doctor | grep "dcpid counts"'
}

# The service's daemon is another user than those whose processes it labels, and may look into none of them.
test_labels()
{
	check_equal 'a user in group dcpi labels a program, which is its own' insider "$(as insider dcpictl label theirs -- id -un)"
	check 'the samples carry the label' bash -c '
		runuser -u insider -- dcpictl label work -- /mnt/inside/shares 1 && dcpiprof --label work --image shares'
	check_fails 'another user is refused, and nothing is run' 125 'Permission denied' as outsider dcpictl label theirs -- id
	start as insider dcpictl label lasting -- timeout 300 sh -c 'while :; do /mnt/inside/shares 1; done'
	wait_for 20 bash -c 'dcpictl flush && dcpiprof --label lasting --image shares'
	check 'the service is started anew' systemctl restart dcpid
	check 'which process has which label is not forgotten' test -e /run/dcpid/control.labels
	check 'what runs on keeps its label' wait_for 30 bash -c 'dcpictl flush && dcpiprof --label lasting --image shares'
	stop "$started"
}

# What a process told is read as another user, by a process that is locked up in what the unit allows. It must live when
# it is looked at: those that it comes from are root's, and that a file is its own could then not be told.
test_run_time_code()
{
	start as outsider /mnt/inside/code_maker map 15
	check 'code that a process made has the names that it told' wait_for 40 bash -c '
		dcpictl flush && dcpiprof --epoch all --image "[[]jit:code_maker]" | grep "hot loop"'
	stop "$started"
}

# In what the unit allows, the file is found by its process, and read by one that is locked up.
test_capture()
{
	cp /mnt/inside/shares_static /var/tmp/doomed
	start timeout 120 sh -c 'cd /var/tmp && exec ./doomed 100'
	wait_for 20 pgrep -x doomed
	sleep 1
	rm /var/tmp/doomed
	check 'a program that was deleted while it ran has its names' wait_for 40 bash -c '
		dcpictl flush && dcpiprof --image doomed | grep -w share_of_60'
	# of a large program text is taken where samples were: its names came with the flush that told where
	check 'its code is explained' wait_for 40 bash -c 'dcpictl flush && dcpicalc --image doomed share_of_60'
	pkill -x doomed
	stop "$started" 2>/dev/null
	check 'and when it is over, too' dcpicalc --image doomed share_of_60
}

test_kill()
{
	local before=$1 pid

	pid=$(main_pid)
	systemctl kill -s KILL dcpid
	check 'killed, it is started again' wait_for 15 bash -c \
		"[ \$(systemctl show -p MainPID --value dcpid) != $pid ] && systemctl is-active dcpid"
	check 'killed, its database is whole' dcpictl check
	is_more 'killed, what was flushed is still there' "$((before - 1))" "$(samples_of shares)"
}

textfile_says()
{
	systemctl start dcpid-textfile.service && grep -qx "dcpi_up $1" /var/lib/prometheus/node-exporter/dcpi.prom
}

test_textfile()
{
	local directory=/var/lib/prometheus/node-exporter

	check 'the units of the text file have no mistakes' \
		systemd-analyze verify --man=no dcpid-textfile.service dcpid-textfile.timer
	mkdir -p $directory
	chown nobody: $directory
	check 'the timer of the text file starts' systemctl start dcpid-textfile.timer
	check 'and makes it' wait_for 30 grep -qx 'dcpi_up 1' $directory/dcpi.prom
	systemctl stop dcpid-textfile.timer
	check 'all may read it' as outsider test -r $directory/dcpi.prom
	check 'its samples are those of the daemon' grep -q '^dcpi_samples_total{event="[^"]*"} [1-9]' $directory/dcpi.prom
	check 'it is written by hand as well' textfile_says 1
	systemctl stop dcpid
	check 'a daemon that is down is reported' textfile_says 0
	systemctl start dcpid
}

# ask PLACE PATH [HOST] - the reply of a web server at a Unix socket, or at a port of this machine
ask()
{
	perl -MIO::Socket::UNIX -MIO::Socket::INET -e '
		my ($place, $path, $host) = @ARGV;
		my $socket = $place =~ m{^/} ? IO::Socket::UNIX->new(Peer => $place)
			: IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $place);
		$socket or die "cannot connect: $!\n";
		print $socket "GET $path HTTP/1.1\r\nHost: $host\r\nConnection: close\r\n\r\n";
		print while <$socket>;' "$1" "$2" "${3:-localhost}" | tr -d '\r'
}

web_pid()
{
	systemctl show --property=MainPID --value dcpiweb.service
}

test_web()
{
	local drop_in=/run/systemd/system/dcpiweb.socket.d port=$((20000 + RANDOM % 10000))

	check 'the pages are installed' apt-get install -y --no-install-recommends /mnt/inside/dcpi-web.deb
	check 'their units have no mistakes' systemd-analyze verify --man=no dcpiweb.service dcpiweb.socket
	check_equal 'nobody listens until it is asked for' inactive "$(systemctl is-active dcpiweb.socket)"
	check_equal 'it is for users of this machine' 'Listen=127.0.0.1:8680 (Stream)' "$(systemctl show --property=Listen dcpiweb.socket)"
	# the network is the host's, which may have a dcpiweb of its own
	mkdir -p $drop_in
	printf '[Socket]\nListenStream=\nListenStream=127.0.0.1:%d\n' "$port" >$drop_in/port.conf
	systemctl daemon-reload
	check 'systemctl start dcpiweb.socket succeeds' systemctl start dcpiweb.socket
	check_equal 'the server waits for somebody' inactive "$(systemctl is-active dcpiweb.service)"
	{ declare -f ask && echo 'ask "$@"'; } >/tmp/ask # for other users
	as outsider bash /tmp/ask "$port" '/procedures?epoch=all&image=shares' >/tmp/page
	check_equal 'a page comes' 'HTTP/1.1 200 OK' "$(head -n 1 /tmp/page)"
	check 'with what was sampled' grep -q '>share_of_60</a>' /tmp/page
	check_equal 'its server is user dcpiweb' dcpiweb "$(stat -c %U "/proc/$(web_pid)")"
	check 'the flow of a procedure is explained in what the unit allows' \
		grep -q '% of the time\|</strong> of the time' <(ask "$port" '/calc?procedure=share_of_60&image=shares&epoch=all')
	ask "$port" /health >/tmp/page
	check 'it talks to the daemon' grep -q 'has collected since' /tmp/page
	check 'and sees that the daemon runs' bash -c '! grep "dcpid is not running" /tmp/page'
	check 'a name of another site is refused' grep -q '^HTTP/1.1 421' <(ask "$port" / evil.example)
	systemctl kill -s KILL dcpiweb.service
	check 'killed, it is there for the next' wait_for 10 bash -c "bash /tmp/ask $port /health | grep '^HTTP/1.1 200'"
	check_at_most 'systemd-analyze finds an exposure of at most 1.5' 1.5 "$(systemd-analyze security --no-pager dcpiweb |
		sed -n 's/.*exposure level for dcpiweb.service: \([0-9.]*\).*/\1/p')"

	# as the manual says, for the group alone
	systemctl stop dcpiweb.socket dcpiweb.service
	rm $drop_in/port.conf
	printf '[Socket]\nListenStream=\nListenStream=/run/dcpiweb/socket\nSocketGroup=dcpi\nSocketMode=0660\n' >$drop_in/group.conf
	systemctl daemon-reload
	check 'a Unix socket for the group' systemctl start dcpiweb.socket
	check_equal 'a user in group dcpi sees the profile' 'HTTP/1.1 200 OK' \
		"$(as insider bash /tmp/ask /run/dcpiweb/socket '/procedures?epoch=all' | head -n 1)"
	check_fails 'another user gets nothing' 1 'Permission denied' as outsider \
		perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => "/run/dcpiweb/socket") or do { print "$!"; exit 1 }'
	systemctl stop dcpiweb.socket dcpiweb.service
	rm -r $drop_in /tmp/ask /tmp/page
	systemctl daemon-reload
}

test_reload_and_stop()
{
	check 'systemctl reload succeeds' systemctl reload dcpid
	check_equal 'it is still running' active "$(systemctl is-active dcpid)"
	/mnt/inside/shares_static 2
	check 'systemctl stop succeeds' systemctl stop dcpid
	is_more 'stopped, it flushed what it had' 100 "$(samples_of shares_static)"
	check 'stopped, its database is whole' dcpictl check
	check_equal 'it ended with success' success "$(systemctl show --property=Result --value dcpid)"
}

test_journal()
{
	local known

	# the journal is read at all: what is always said here is there
	check 'the journal has what dcpid says of a container' grep -q '^this is a pid namespace' <(warnings)
	known=$(warnings | grep -E "$of_the_machine" | grep -vc '^this is a pid namespace')
	[ "$known" = 0 ] || figure "$known warnings of a machine that is busy"
	# systemd warns of the kill that this test did itself.
	check_equal 'the journal has no complaint' 'dcpid.service: Main process exited, code=killed, status=9/KILL
dcpid.service: Failed with result '"'signal'." "$(complaints)"
}

test_exposure()
{
	local exposure

	exposure=$(systemd-analyze security --no-pager dcpid | sed -n 's/.*exposure level for dcpid.service: \([0-9.]*\).*/\1/p')
	check_at_most 'systemd-analyze finds an exposure of at most 1.3' 1.3 "$exposure"
	figure "exposure of the service: $exposure"
	check_equal 'no call of it writes into, or takes from, another process' '' \
		"$(systemctl show --property=SystemCallFilter --value dcpid | tr ' ' '\n' |
			grep -xE 'ptrace|process_vm_(readv|writev)|pidfd_getfd|kcmp|userfaultfd')"
	check_equal 'but it may sample' perf_event_open \
		"$(systemctl show --property=SystemCallFilter --value dcpid | tr ' ' '\n' | grep -x perf_event_open)"
	check_equal 'it has a weight among services, for processors and for disks' '200 50' \
		"$(systemctl show --property=CPUWeight --value dcpid) $(systemctl show --property=IOWeight --value dcpid)"
	check_at_most 'and of the text file one as well' 2.0 "$(systemd-analyze security --no-pager dcpid-textfile |
		sed -n 's/.*exposure level for dcpid-textfile.service: \([0-9.]*\).*/\1/p')"
}

says_trouble()
{
	dcpictl status --json | grep -q "$1"
}

# The unit may not make its directory again: whoever reads what it says can, and it goes on with what it counted.
test_removed_directory()
{
	local pid command

	systemctl start dcpid
	check 'it has a database' dcpictl flush
	pid=$(main_pid)
	rm -rf /var/lib/dcpi
	check 'a removed directory is said' wait_for 60 says_trouble 'the directory was removed'
	command=$(dcpictl status --json | sed -n "s/.*may not make it again: '\([^']*\)'.*/\1/p")
	check_equal 'with the command that makes it again' 'install -d -m 0750 -o dcpi -g dcpi /var/lib/dcpi' "$command"
	/mnt/inside/shares 2
	check 'the command works' bash -c "$command"
	check 'the service goes on by itself' wait_for 60 test -s /var/lib/dcpi/data.mdb
	check 'it is no trouble any more' wait_for 60 bash -c '! dcpictl status --json | grep "may not make it again"'
	check_equal 'it is the same process' "$pid" "$(main_pid)"
	dcpictl flush
	is_more 'what it counted meanwhile is there' 100 "$(samples_of shares)"
	check 'the new database is whole' dcpictl check
	systemctl stop dcpid
}

test_wrong_configuration()
{
	printf 'nonsense = ;\n' >/etc/dcpi/dcpid.conf
	check_fails 'a wrong configuration does not start' 1 '' systemctl start dcpid
	sleep 3
	check_fails 'the doctor knows that it failed' 1 'journalctl -u dcpid' dcpictl doctor
	check_equal 'and is not tried again and again' 'failed 0' \
		"$(systemctl is-active dcpid) $(systemctl show --property=NRestarts --value dcpid)"
}

test_purge()
{
	check 'apt purges the packages' apt-get purge -y dcpid dcpi-tools dcpi-web
	check_equal 'nothing of it is left' '' "$(find / -xdev -name '*dcpi*' -not -path '/proc/*' -not -path '/sys/*')"
	check_fails 'its user is gone' 2 '' getent passwd dcpi
	check_fails 'and that of the pages' 2 '' getent passwd dcpiweb
}

test_upgrade
test_install
test_start
test_users
test_labels
test_run_time_code
test_capture
test_kill "$(samples_of shares)"
test_textfile
test_web
test_reload_and_stop
test_journal
test_exposure
test_removed_directory
test_wrong_configuration
test_purge
echo '# inside: done'
