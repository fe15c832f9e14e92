#!/bin/bash
# dcpiweb.sh - every page of dcpiweb, what it refuses, and that it goes on when databases and clients do not
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# shellcheck source=calc_database.sh
. "$top/tests/system/calc_database.sh"

db=$scratch/db

# serve SENTENCE OPTION... - start dcpiweb at a free port; sets $url, without the slash at its end, and $web, its process
serve()
{
	local log=$scratch/web.log

	: >"$log"
	start dcpiweb --listen 127.0.0.1:0 "${@:2}" >"$log" 2>&1
	web=$started
	if wait_for 5 grep -q '^http' "$log"; then
		ok "$1"
	else
		not_ok "$1" "$(cat "$log")"
	fi
	url=$(sed -n 's|^\(http.*\)/$|\1|p' "$log")
}

# get PATH [OPTION...] - the reply's body, its status in $scratch/code
get()
{
	curl --silent --max-time 30 --output "$scratch/body" --write-out '%{http_code}' "${@:2}" "$url$1" >"$scratch/code" 2>/dev/null
	cat "$scratch/body"
}

# answers SENTENCE CODE TEXT PATH [OPTION...] - the reply has this status, and TEXT
answers()
{
	local body

	body=$(get "$4" "${@:5}" | tr '\0' '?')
	if [ "$(cat "$scratch/code")" != "$2" ]; then
		not_ok "$1" "status $(cat "$scratch/code"), expected $2" "$(cut -c 1-300 <<<"$body" | head -40)"
	elif [[ $body != *"$3"* ]]; then
		not_ok "$1" "does not have '$3':" "$(cut -c 1-300 <<<"$body" | head -40)"
	else
		ok "$1"
	fi
}

# has_code CODE PATH - the reply's status
has_code()
{
	get "$2" >/dev/null
	[ "$(cat "$scratch/code")" = "$1" ]
}

# peak PID - the most memory that the process has had, in kB
peak()
{
	awk '/^VmHWM/ { print $2 }' "/proc/$1/status"
}

# is_whole FILE - HTML whose elements end, each where it may, with one main heading and no markup of others
is_whole()
{
	/usr/bin/python3 - "$1" <<-'END'
		import html.parser, sys

		VOID = {"meta", "link", "input", "br"}

		class Check(html.parser.HTMLParser):
		    def __init__(self):
		        super().__init__()
		        self.open, self.headings, self.ids = [], 0, set()

		    def handle_starttag(self, tag, attributes):
		        names = dict(attributes)
		        if tag == "h1":
		            self.headings += 1
		        if tag == "script" and names.get("src") not in ("/dcpi.js", "/flame.js"):
		            sys.exit("a script that is not ours")
		        if any(name.startswith("on") or name == "style" for name in names):
		            sys.exit(f"{tag} has {attributes}")
		        if names.get("id"):
		            if names["id"] in self.ids:
		                sys.exit(f"two elements have the id {names['id']}")
		            self.ids.add(names["id"])
		        if tag == "th" and "scope" not in names:
		            sys.exit("a heading of a table has no scope")
		        if tag not in VOID:
		            self.open.append(tag)

		    def handle_startendtag(self, tag, attributes):
		        self.handle_starttag(tag, attributes)
		        if tag not in VOID:
		            self.open.pop()

		    def handle_endtag(self, tag):
		        if not self.open or self.open.pop() != tag:
		            sys.exit(f"</{tag}> at {self.getpos()} ends nothing")

		check = Check()
		check.feed(open(sys.argv[1], encoding="utf-8").read())
		if check.open:
		    sys.exit(f"{check.open} do not end")
		if check.headings != 1:
		    sys.exit(f"{check.headings} main headings")
	END
}

# unescaped - standard input, text of HTML, as it is
unescaped()
{
	sed "s/&#39;/'/g; s/&lt;/</g; s/&gt;/>/g; s/&quot;/\"/g; s/&amp;/\&/g"
}

# command_of PATH - the command lines at the end of a page
command_of()
{
	get "$1" | sed -n 's|.*<code>\(dcpi.*\)</code></li>|\1|p' | unescaped
}

# is_complete PATH - the page has all of its reports
is_complete()
{
	! curl --silent --max-time 30 --output "$scratch/body" --dump-header - "$url$1" | grep -qi '^refresh:'
}

# elsewhere PATH - each link at the end of a page is answered with something, and each command line there runs and prints
# what its link to text has. `dcpictl doctor` fails when it found something; `dcpictl status`, when no dcpid runs, which has
# no links then. What is wrong is said.
elsewhere()
{
	local line link command status texts=0 jsons=0

	wait_for 30 is_complete "$1" || echo "$1 reads itself again and again"
	sed -n '/<footer>/,$p' "$scratch/body" | grep '^<li>' >"$scratch/elsewhere"
	while read -r line; do
		rm -f "$scratch/linked"
		while read -r link; do
			get "$link" >/dev/null
			[ "$(cat "$scratch/code")" = 200 ] && [ -s "$scratch/body" ] || echo "$link: status $(cat "$scratch/code")"
			case $link in
			*format=text*)
				texts=$((texts + 1))
				mv "$scratch/body" "$scratch/linked"
				;;
			*format=json*)
				jsons=$((jsons + 1))
				json_holds 'type == "object"' "$scratch/body" >/dev/null || echo "$link is no JSON"
				;;
			*) grep -q '<svg' "$scratch/body" || echo "$link is no picture" ;;
			esac
		done < <(grep -o 'href="[^"]*"' <<<"$line" | sed 's/^href="//; s/"$//' | unescaped)
		command=$(sed -n 's|.*<code>\(.*\)</code></li>|\1|p' <<<"$line" | unescaped)
		(eval "$command") >"$scratch/printed" 2>"$scratch/complaint" </dev/null
		status=$?
		[ $status = 0 ] || [[ $command = dcpictl* && $status = 1 ]] || echo "$command: status $status: $(cat "$scratch/complaint")"
		[ ! -e "$scratch/linked" ] || [[ $command = 'dcpictl '*' doctor' ]] ||
			cmp "$scratch/linked" "$scratch/printed" || echo "$command prints something else than its link"
	done <"$scratch/elsewhere"
	[ $texts -gt 0 ] && [ $jsons -gt 0 ] || echo "$1 has $texts links to text and $jsons to JSON"
}

# page SENTENCE TEXT PATH - it is there, whole, and has TEXT
page()
{
	answers "$1" 200 "$2" "$3"
	check "... and whole" is_whole "$scratch/body"
}

check 'the database is made' "$build/tests/system/make_database" "$db" <<'END'
event cpu-clock cycles ns 4000000 yes -
event page-faults page-faults faults 100 yes -
image user 1111111111111111 /opt/bin/server
image user 2222222222222222 /opt/bin/<script>alert(1)</script>"'&
image kernel - [kernel]
context server /service run1
context <b>bold</b> /user run2
epoch 1795271400 before
count cpu-clock 0 0 0x1000 50000
count cpu-clock 0 1 0x1000 30000
count cpu-clock 1 1 0x2000 15000
count cpu-clock 2 1 0x3000 30000
count page-faults 0 0 0x1000 60
unknown cpu-clock no-process 15000
slice 1795271400 1795272000
count cpu-clock 0 0 0x1000 15000
slice 1795272000 1795272600
symbols 2 0x3000 start_kernel
epoch 1795273000 after
count cpu-clock 0 0 0x1000 40000
count cpu-clock 2 0 0x3000 90000
slice 1795273000 1795273600
END
serve 'dcpiweb says where it listens' --db "$db"

# ---- pages ----

page 'the overview has a time line' '<svg class="timeline"' /
page 'a stretch of time' '15,000 samples' '/?since=@1795272001&until=@1795272599&epoch=all'
page 'stacked by command' '&lt;b&gt;bold&lt;/b&gt;' '/?by=command'
page 'procedures' 'start_kernel</a>' '/procedures?epoch=all'
check 'a row leads to its callers' grep -qF '/calls?epoch=all&amp;image=%5Bkernel%5D&amp;procedure=start_kernel&amp;by=callers">' "$scratch/body"
check 'the form has the host' grep -q 'name="host"' "$scratch/body"
page 'a host' 'start_kernel' '/procedures?epoch=all&host=test*'
answers 'a host that is none' 404 'nowhere' '/procedures?epoch=all&host=nowhere'
page 'images' '/opt/bin/</span>server' '/procedures?by=image'
page 'names of files cannot be markup' '&lt;script&gt;alert(1)' '/procedures?by=image&epoch=all'
page 'runs' '<svg class="strip"' '/stats?label=run*'
page 'epochs as sets' 'start_kernel' /stats
page 'two labels' '<strong>run1</strong>' '/diff?before=run1&after=run2'
check 'a row leads to its procedure in the set that has it' grep -qF \
	'"/calc?label=run2&amp;image=%5Bkernel%5D&amp;procedure=start_kernel">' "$scratch/body"
check 'and to its callers' grep -qF '"/calls?label=run2&amp;image=%5Bkernel%5D&amp;procedure=start_kernel&amp;by=callers">' "$scratch/body"
page 'two times' 'start_kernel' '/diff?before_until=@1795272600&after_since=@1795273000'
page 'the last two epochs' 'start_kernel' /diff
page 'two epochs by name' '<strong>epoch before</strong>' '/diff?before_epoch=before&after_epoch=after'
check 'as of the command line' test "$(command_of '/diff?before_epoch=before&after_epoch=after')" = \
	"dcpidiff --db=$db --limit=50 --set --epoch=before --set --epoch=after"
page 'two commands' '>appeared</td>' '/diff?before_epoch=all&after_epoch=all&before_comm=server&after_comm=%3Cb%3Ebold%3C/b%3E'
answers 'two hosts, one of which is none' 404 'nowhere' '/diff?before_host=nowhere&after_epoch=after'
page 'health' 'What the doctor found' /health

# ---- the same as text, JSON and a command ----

check_equal 'text is what the tool prints' "$(dcpiprof --db "$db" --epoch=all --limit=3)" \
	"$(get '/procedures?epoch=all&limit=3&format=text')"
check_equal 'JSON is what the tool prints' "$(dcpiprof --db "$db" --epoch all --limit 3 --json)" \
	"$(get '/procedures?epoch=all&limit=3&format=json')"
check_equal 'JSON of the time line, too' "$(dcpitimeline --db "$db" --epoch all --by command --limit 7 --json)" \
	"$(get '/?by=command&format=json')"
check_equal 'and of a comparison' "$(dcpidiff --db "$db" --before run1 --after run2 --limit 50 --json)" \
	"$(get '/diff?before=run1&after=run2&format=json')"

for path in / '/?by=command' '/procedures?epoch=all' '/procedures?by=image' '/stats?label=run*' '/diff?before=run1&after=run2' /health; do
	check_equal "links and command lines of $path" '' "$(elsewhere "$path" 2>&1)"
done
check_equal 'the first page links to what each of its reports prints' "$(dcpiprof --db "$db" --by-image --epoch all --limit 8)" \
	"$(get '/?format=text&report=2')"
check_equal 'the command line of a page can be pasted into a shell' \
	"$(dcpiprof --db "$db" --comm "it's" --epoch all --limit 100 2>&1)" \
	"$(eval "$(command_of "/procedures?comm=it's&epoch=all")" 2>&1)"

# ---- two stretches ----

# The first slice has 140,000 samples, 80,000 of them of the server; the second one 15,000, all of the server.
stretches='before_since=@1795271400&before_until=@1795272000&after_since=@1795272000&after_until=@1795272600'
page 'two stretches of one epoch, of which the first' \
	'<strong>since @1795271400 until @1795272000</strong>, 2026-11-21T14:30:00Z to 2026-11-21T14:40:00Z, 140,000 samples' "/diff?$stretches"
check 'and the second' grep -q 'since @1795272000 until @1795272600</strong>, 2026-11-21T14:40:00Z to 2026-11-21T14:50:00Z, 15,000 samples' "$scratch/body"
check 'what grew' grep -q '<td class="number">57.14</td><td class="number">100.00</td><td class="number grew">+42.86</td>.*server' "$scratch/body"
check 'what vanished' grep -q '<td class="number shrank">-21.43</td>.*>vanished</td>.*start_kernel' "$scratch/body"
check 'the form has them' grep -q '<input name="after_until" value="@1795272600"' "$scratch/body"
check_equal 'its JSON is that of dcpidiff' "$(dcpidiff --db "$db" --limit 50 --json --set --since @1795271400 \
	--until @1795272000 --set --since @1795272000 --until @1795272600)" "$(get "/diff?$stretches&format=json")"
check_equal 'its command line prints its text' "$(get "/diff?$stretches&format=text")" "$(eval "$(command_of "/diff?$stretches")")"
page 'a label within each stretch' '<td class="number">40.00</td><td class="number">100.00</td><td class="number grew">+60.00</td>' \
	"/diff?$stretches&before=run2&after=run1"
answers 'a stretch without samples' 404 'no samples in that time' '/diff?before_until=@1795270000&after_since=@1795273000'
answers 'a stretch that is none' 400 '&#39;never&#39; is not a time' '/diff?before_until=never&after_since=@1795273000'
answers 'one stretch alone' 400 'needs two sets' '/diff?after_since=@1795273000'

# ---- a listing, a graph, and source ----

if calc_or_skip 'the listing of a procedure'; then
	calc=$scratch/calc
	check 'a database with code is made' make_calc_database "$calc"
	first_url=$url first=$web
	serve 'it is served' --db "$calc"
	page 'the listing has stalls, and what may have caused them' '<a class="culprit" href="#i1017">↑ 001017</a>' \
		'/calc?procedure=sum&image=libcalc.so&cpu=in-order-2'
	check 'with the source beside it' grep -q 'calc.S:[0-9]*</span> <code>' "$scratch/body"
	check_equal 'its JSON is that of dcpicalc' "$(dcpicalc --db "$calc" --cutoff 0.1 --json --image libcalc.so sum)" \
		"$(get '/calc?procedure=sum&image=libcalc.so&format=json')"
	check_equal 'links and command lines of a listing' '' "$(elsewhere '/calc?procedure=sum&image=libcalc.so&cpu=in-order-2' 2>&1)"
	answers 'a model of a CPU is no file' 400 'cpu is the name of a model' '/calc?procedure=sum&cpu=/etc/passwd'
	answers 'a procedure that is none' 404 'dcpicalc: ' '/calc?procedure=nothing'
	answers 'an option in its place is a procedure that is none' 404 'dcpicalc: ' \
		'/calc?procedure=--graph=/tmp/x.svg'
	if command -v dot >/dev/null; then
		page 'the flow graph has the code of hot blocks' 'add' '/graph?procedure=sum&image=libcalc.so'
		answers 'it is a picture by itself' 200 '</svg>' '/graph?procedure=sum&image=libcalc.so&format=svg'
		check_equal 'links and command lines of a flow graph' '' "$(elsewhere '/graph?procedure=sum&image=libcalc.so' 2>&1)"
		check_equal 'as text it is the listing of the blocks that are drawn' \
			"$(dcpicalc --db "$calc" --cutoff 1 --image libcalc.so sum)" \
			"$(get '/graph?procedure=sum&image=libcalc.so&format=text')"
	else
		skip 'the flow graph' 'graphviz is not installed'
	fi
	stop "$web"
	url=$first_url web=$first
fi

# ---- call stacks ----

answers 'a database without stacks' 404 'dcpiprof: ' /calls
answers 'a flame graph without stacks' 404 'no call stacks in what was selected' /flame
answers 'half of a difference' 400 'needs two sets' '/flame?before=run1'
answers 'callers of nothing' 400 'callers of which procedure?' '/calls?by=callers'
answers 'callees of nothing' 400 'callees of which procedure?' '/calls?by=callees'
answers 'a tree of one procedure' 400 'tree is of all procedures' '/calls?by=tree&procedure=scan'
answers 'a view of stacks that is none' 400 'by is tree, callers, callees or inclusive' '/calls?by=flames'
printf '%s\n' 'event cycles.stacks cycles.stacks cycles 62000 yes -' 'image kernel - [kernel]' 'context server - old' 'context server - new' \
	'epoch 1795271400 two' 'stack cycles.stacks 0 1000 0+0x1000 0+0x2000' 'stack cycles.stacks 1 900 0+0x1000 0+0x3000' \
	'slice 1795271400 1795272000' 'symbols 0 0x1000 outer 0x2000 slow 0x3000 fast' |
	"$build/tests/system/make_database" "$scratch/two"
first_url=$url first=$web
serve 'a database with the stacks of two labels is served' --db "$scratch/two"
page 'what they differ in, as a flame graph' 'slow' '/flame?before=new&after=old'
for path in /flame '/flame?before=new&after=old' /calls; do
	check_equal "links and command lines of $path of two labels" '' "$(elsewhere "$path" 2>&1)"
done
check_equal 'as text it is a tree of each' "$(dcpiprof --db "$scratch/two" --tree --label old --least 0.1)" \
	"$(get '/flame?before=new&after=old&format=text&report=3')"
stop "$web"
url=$first_url web=$first
if perf record -q -e cpu-clock -F 500 -g -o "$scratch/calls.data" -- "$build/workloads/calls" 1 2>/dev/null &&
	dcpimport --db "$scratch/stacks" "$scratch/calls.data" >/dev/null; then
	first_url=$url first=$web
	serve 'a database with stacks is served' --db "$scratch/stacks"
	page 'who calls what, as a tree, with what was inlined' 'mix</a>' /calls
	check 'whose branches open' grep -q '<details open><summary>' "$scratch/body"
	page 'who calls a procedure' '</span> parse' '/calls?procedure=scan'
	check 'it leads to what it calls' grep -qF '/calls?procedure=scan&amp;by=callees">What it calls' "$scratch/body"
	page 'what a procedure calls' '</span> descend' '/calls?by=callees&procedure=build'
	check 'with its share of all' grep -q '% of all are in <strong>build</strong> or in what it calls' "$scratch/body"
	check 'it leads back' grep -qF '/calls?procedure=build&amp;by=callers">Who calls it' "$scratch/body"
	check_equal 'event and cutoff are options of dcpiprof' \
		"$(dcpiprof --db "$scratch/stacks" --callees build --event cpu-clock --least 30 --limit 400 --json)" \
		"$(get '/calls?by=callees&procedure=build&event=cpu-clock&cutoff=30&format=json')"
	answers 'an event without stacks' 400 'page-faults' '/calls?event=page-faults'
	page 'what each calls' 'main</a>' '/calls?by=inclusive'
	check_equal 'its JSON is that of dcpiprof' "$(dcpiprof --db "$scratch/stacks" --callers scan --limit 400 --json)" \
		"$(get '/calls?procedure=scan&format=json')"
	page 'a flame graph' 'class="flame"' /flame
	check 'whose script is a file' grep -q '<script src="/flame.js" defer></script>' "$scratch/body"
	check 'which is there' grep -q 'querySelector("svg.flame")' <(get /flame.js)
	check_equal 'the picture is that of dcpiflame' "$(dcpiflame --db "$scratch/stacks" --no-script --least 1)" \
		"$(get '/flame?cutoff=1&format=svg')"
	check_equal 'as text it is the tree' "$(dcpiprof --db "$scratch/stacks" --tree --least 1)" "$(get '/flame?cutoff=1&format=text')"
	sets='before_epoch=latest&before_until=2100-01-01&after_comm=calls&after_epoch=latest'
	page 'what two sets of stacks differ in' 'class="flame"' "/flame?$sets"
	check_equal 'its picture is that of dcpiflame' "$(dcpiflame --db "$scratch/stacks" --no-script --set --epoch latest \
		--until 2100-01-01 --set --epoch latest --comm calls)" "$(get "/flame?$sets&format=svg")"
	for path in /calls '/calls?by=inclusive' '/calls?procedure=scan' /flame '/flame?cutoff=3'; do
		check_equal "links and command lines of $path" '' "$(elsewhere "$path" 2>&1)"
	done
	stop "$web"
	url=$first_url web=$first
else
	skip 'pages of call stacks' 'perf cannot record a program here'
fi

# ---- what browsers are kept from ----

headers=$(curl --silent --head "$url/" | tr -d '\r')
for header in "Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'" \
	'X-Content-Type-Options: nosniff' 'Referrer-Policy: no-referrer' 'Cross-Origin-Resource-Policy: same-origin'; do
	check "the header ${header%%:*}" grep -qxF "$header" <<<"$headers"
done
check 'no other origin is let in' test "$(grep -ci access-control <<<"$headers")" = 0
get / >/dev/null
check_equal 'HEAD says how long a page is' "Content-Length: $(wc -c <"$scratch/body")" \
	"$(grep -i '^content-length' <<<"$headers")"
check_equal 'and nothing of it' 0 "$(/usr/bin/python3 - "${url##*:}" <<-'END'
	import socket, sys

	client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
	client.sendall(b"HEAD /procedures?epoch=all HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	reply = b""
	while part := client.recv(65536):
	    reply += part
	print(len(reply.split(b"\r\n\r\n", 1)[1]))
	END
)"
answers 'nothing can be sent' 405 'it answers GET and HEAD' / --request POST --data x=y
answers 'nor removed' 405 'it answers GET and HEAD' / --request DELETE
answers 'a name of another site' 421 'start dcpiweb with --host NAME' / --header 'Host: evil.example'
answers 'an address is no name' 200 '<h1>' / --header 'Host: 192.168.1.7:8680'
answers 'no name at all' 400 'no Host header' / --header 'Host:' --http1.0
answers 'no such page' 404 'there is no such page' /nowhere
answers 'nor a way out' 404 'there is no such page' '/..%2f..%2fetc/passwd' --path-as-is

# ---- wrong input ----

# exchange FILE - send it to the server as it is; prints the reply
exchange()
{
	# shellcheck disable=SC2016
	timeout 20 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1"; cat "$2" >&3; cat <&3' - "${url##*:}" "$1" | tr -d '\r'
}

answers 'a field that is none' 400 "field &#39;sinc&#39; that no page knows (did you mean since?)" '/?sinc=1h'
answers 'an escape that is none' 400 'malformed %XX' '/?comm=%zz'
answers 'a byte 0' 400 'a byte 0' '/?comm=a%00b'
answers 'a format that is none' 400 'format is html, text, json or svg' '/?format=xml'
answers 'a report that a page does not have' 400 'the page has no such report' '/?format=text&report=6'
answers 'a picture that it does not have' 400 'the page has no such report' '/?format=svg'
answers 'no procedure' 400 'which procedure?' /calc
answers 'a comparison with one side' 400 'needs two sets' '/diff?before=run1'
answers 'a value that the tool refuses, with its sentence' 400 "dcpiprof: --since &#39;never&#39; is not a time" \
	'/procedures?since=never'
answers 'a command that never ran' 404 'no command matches nobody' '/procedures?comm=nobody'
head -c 1000000 /dev/zero | tr '\0' x >"$scratch/megabyte"
{ printf 'GET /?comm=' && cat "$scratch/megabyte" && printf ' HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'; } >"$scratch/long"
check_equal 'a query of a megabyte is refused with a sentence' 'HTTP/1.1 414 URI Too Long the query is longer than 8192 bytes' \
	"$(exchange "$scratch/long" | sed -n '1p; s/.*\(the query is longer than [0-9]* bytes\).*/\1/p' | paste -sd ' ')"
printf '\026\003\001\000\n\n' >"$scratch/tls"
exchange "$scratch/tls" >/dev/null
answers 'after what is no HTTP the server goes on' 200 '<h1>' /

# ---- clients ----

# not_reading COUNT PATH... - so many clients for each path, each with a small receive buffer, that ask for it and do not
# read; when they have asked, $scratch/asked has a line. Sets $started.
not_reading()
{
	rm -f "$scratch/asked"
	cat >"$scratch/not_reading.py" <<-'END'
		import socket, sys, time

		port, asked, count, *paths = sys.argv[1:]
		clients = []
		for path in int(count) * paths:
		    client = socket.socket()
		    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
		    client.connect(("127.0.0.1", int(port)))
		    client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
		    clients.append(client)
		# the beginning of each reply is there, and stays where it is
		for client in clients:
		    client.recv(1, socket.MSG_PEEK)
		open(asked, "w").write("asked\n")
		time.sleep(60)
	END
	start /usr/bin/python3 "$scratch/not_reading.py" "${url##*:}" "$scratch/asked" "$@"
	wait_for 30 test -s "$scratch/asked" || not_ok 'clients that do not read have asked' "of $1 $2"
}

# who connects and says nothing, or reads nothing, does not keep others waiting
not_reading 50 '/procedures?epoch=all'
answers 'fifty clients that do not read' 200 '<h1>' /procedures
stop "$started"
for i in {1..20}; do
	curl --silent --max-time 30 --output /dev/null --write-out '%{http_code} %{time_total}\n' "$url/procedures?limit=$i" &
done >"$scratch/codes"
wait_for 30 bash -c "[ \$(wc -l <'$scratch/codes') = 20 ]"
check_equal 'twenty clients at once' "$(yes 200 | head -20)" "$(cut -d ' ' -f 1 "$scratch/codes")"
figure "dcpiweb: the last of 20 clients at once waited $(cut -d ' ' -f 2 "$scratch/codes" | sort -n | tail -1) s"
check_at_most 'it stays below 60 MB' 60000 "$(peak "$web")"

# Replies of megabytes, more than the kernel takes for a client that does not read.
{
	long=$(printf 'x%.0s' {1..230})
	printf 'event cpu-clock cycles ns 4000000 yes -\nimage kernel - [kernel]\ncontext server - -\nepoch 1795271400 large\n'
	printf 'count cpu-clock 0 0 0x%x00 10\n' {1..20000}
	printf 'slice 1795271400 1795272000\nsymbols 0'
	for i in {1..20000}; do
		printf ' 0x%x00 p%d_%s' "$i" "$i" "$long"
	done
	echo
} | "$build/tests/system/make_database" "$scratch/large"
first_url=$url first=$web
serve 'a database with many procedures is served' --db "$scratch/large"
all='/procedures?limit=20000'
get "$all&format=json" >/dev/null
check_at_least 'its JSON has megabytes' 6000000 "$(wc -c <"$scratch/body")"
not_reading 50 "$all&format=json"
answers 'fifty clients that do not read them' 200 '<h1>' '/procedures?limit=20'
check_equal 'one that reads has the report' "$(dcpiprof --db "$scratch/large" --limit 20000 --json | cksum)" \
	"$(get "$all&format=json" | cksum)"
check_at_most 'they share one copy: it stays below 60 MB' 60000 "$(peak "$web")"
figure "dcpiweb: at most $(peak "$web") kB with 50 clients that do not read 7 MB each"
stop "$started"
# Each of these is a report of its own: three of 16 MiB may wait.
mapfile -t reports < <(printf '/procedures?limit=%d&format=json\n' {19001..19050})
not_reading 1 "${reports[@]:0:4}"
first_clients=$started
answers 'a large reply is refused then' 503 'other clients have not read' '/procedures?limit=18000&format=json' --dump-header "$scratch/headers"
check 'with the time after which they are cut off' grep -q '^Retry-After: 20' "$scratch/headers"
not_reading 1 "${reports[@]:4}"
answers 'fifty that do not read reports of their own' 200 '<h1>' '/procedures?limit=21'
# 16 MiB kept, 16 MiB waiting, and 8 MiB for each tool that runs: as many as there are CPUs, eight at most
check_at_most 'it stays below 150 MB' 150000 "$(peak "$web")"
figure "dcpiweb: at most $(peak "$web") kB with 50 clients that do not read, of a report each"
stop "$started"
stop "$first_clients"
wait_for 10 has_code 200 '/procedures?limit=18000&format=json'
check 'when they have left, it is sent' has_code 200 '/procedures?limit=18000&format=json'
stop "$web"
url=$first_url web=$first

# ---- databases ----

check 'the database is compacted' dcpictl --db "$db" compact
answers 'a compacted database' 200 'start_kernel' '/procedures?epoch=all'
mv "$db" "$scratch/away"
answers 'a database that vanished' 503 'cannot open the profile database' '/procedures?epoch=all'
answers 'also on the overview' 503 'cannot open the profile database' /
mv "$scratch/away" "$db"
answers 'and is back' 200 'start_kernel' '/procedures?epoch=all'
cp -r "$db" "$scratch/copy"
/usr/bin/python3 - "$db/data.mdb" <<'END'
import sys

data = bytearray(open(sys.argv[1], "rb").read())
at = data.find(b"schema")
while at >= 0:
    data[at + 7] = 99 # behind the name and the format of the value
    at = data.find(b"schema", at + 1)
open(sys.argv[1], "wb").write(data)
END
answers 'a database of a newer schema' 503 'newer' '/procedures?epoch=all&limit=6'
head -c 3000 /dev/urandom | dd of="$db/data.mdb" bs=1 seek=0 conv=notrunc status=none
answers 'a damaged database' 503 'dcpictl' '/procedures?epoch=all&limit=7'
cp "$scratch/copy/data.mdb" "$db/data.mdb"
answers 'after all of that the server goes on' 200 'start_kernel' '/procedures?epoch=all&limit=8'
stop "$web"
check_equal 'it ends by SIGTERM' 0 $?

# ---- where it listens ----

start dcpiweb --db "$db" --listen "unix:$scratch/socket" >"$scratch/web.log" 2>&1
wait_for 5 grep -q '^unix:' "$scratch/web.log"
check_equal 'at a Unix socket' 200 "$(curl --silent --output /dev/null --write-out '%{http_code}' --unix-socket "$scratch/socket" http://localhost/)"
check_equal 'which is for its user and group' 660 "$(stat -c %a "$scratch/socket")"
stop "$started"
serve 'a name of this machine may be given' --db "$db" --host profiles.example
answers 'and is answered' 200 '<h1>' / --header 'Host: profiles.example'
check_fails 'a place that is taken' 1 'Address already in use (does another dcpiweb run?' dcpiweb --listen "${url#http://}"
stop "$web"
check_fails 'a place that is none' 2 '--listen takes ADDRESS:PORT' dcpiweb --listen localhost
check_fails 'a name with a port' 2 '--host takes a name, without a port' dcpiweb --host a:80
serve 'the service'"'"'s database needs no --db'
get / >/dev/null
check 'nor has its command line one' grep -q '<code>dcpiprof --by-image --epoch=all' "$scratch/body"
stop "$web"
if command -v systemd-socket-activate >/dev/null; then
	start systemd-socket-activate --listen "$scratch/activated" "$build/bin/dcpiweb" --db "$db" >"$scratch/activate.log" 2>&1
	wait_for 5 test -S "$scratch/activated"
	check_equal "at systemd's socket" 200 "$(curl --silent --max-time 20 --output /dev/null --write-out '%{http_code}' --unix-socket "$scratch/activated" http://localhost/health)"
	stop "$started"
else
	skip "systemd's socket" 'systemd-socket-activate is not installed'
fi

[ $failures = 0 ]
