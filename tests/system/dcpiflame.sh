#!/bin/bash
# dcpiflame.sh - flame graphs of recordings: frames are as wide as dcpiprof's tree says, of a program whose calls are
# known; what two recordings differ in has its colours; a browser zooms and searches; names are text, whatever is in them
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

db=$scratch/db

command -v perf >/dev/null || {
	skip 'flame graphs of what perf records here' 'perf is not installed'
	exit 0
}

# record NAME PROGRAM ARGUMENT... - into the database, as an epoch with that label
record()
{
	perf record -q -e cpu-clock -F 500 -g -o "$scratch/$1.data" -- "${@:2}" &&
		dcpimport --db "$db" --label "$1" "$scratch/$1.data" >/dev/null
}

# frames SVG - a line for each frame: depth, x, width, fill, name, image, and last the samples
frames()
{
	/usr/bin/python3 - "$1" <<'END'
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
top = None
for group in tree.parse(sys.argv[1]).getroot().iter(SVG + "g"):
    rect, title = group.find(SVG + "rect"), group.find(SVG + "title").text.split("\n")
    top = int(rect.get("y")) if top is None else top
    depth = (int(rect.get("y")) - top) // 18
    print(depth, rect.get("x"), rect.get("width"), rect.get("fill"), title[0], title[1] or "-", title[2].split()[0], sep="\t")
END
}

# fill_of FILE NAME CALLER - the colour of a procedure below another, of those that frames() printed
fill_of()
{
	awk -F '\t' -v name="$2" -v caller="$3" '$5 == caller { depth = $1 } $5 == name && $1 == depth + 1 { print $4; exit }' "$1"
}

# What there is to see of one: rows of dcpiprof's tree are in the order of the picture, but for those that are left out.
look_at_one()
{
	dcpiflame --db "$db" --epoch known "$scratch/known.svg" || return
	frames "$scratch/known.svg" >"$scratch/known"
	check 'there is a white ground' has_white_ground "$scratch/known.svg"
	dcpiprof --db "$db" --epoch known --tree --least 0.1 --json |
		jq -r '.samples as $all | .rows[] | select(.left_out == null) | [.level + 1, .procedure, .samples,
			.samples * 1200 / $all] | @tsv' | sort >"$scratch/wanted"
	check 'the tree has main, build and descend' test "$(cut -f 2 "$scratch/wanted" | grep -cE '^(main|build|descend)$')" -ge 6
	check_equal 'frames are the rows of the tree, with as many samples' "$(cut -f 1-3 "$scratch/wanted" | sort)" \
		"$(awk -F '\t' -v OFS='\t' '$1 > 0 { print $1, $5, $7 }' "$scratch/known" | sort)"
	check_equal 'each as wide as its share' '' "$(awk -F '\t' '
		NR == FNR { width[$1 FS $2 FS $3] = $4; next }
		$1 > 0 { d = $3 - width[$1 FS $5 FS $7]; if (d > 0.006 || d < -0.006) print }' "$scratch/wanted" "$scratch/known")"
	check_equal 'each within its caller' '' "$(awk -F '\t' '
		{ x[$1, ++count[$1]] = $2; end[$1, count[$1]] = $2 + $3 }
		END {
			for (depth = 1; depth in count; depth++)
				for (i = 1; i <= count[depth]; i++) {
					for (k = inside = 0; !inside && ++k <= count[depth - 1];)
						inside = x[depth, i] > x[depth - 1, k] - 0.02 && end[depth, i] < end[depth - 1, k] + 0.02
					if (!inside)
						print depth, x[depth, i], end[depth, i]
				}
		}' "$scratch/known")"
	check_equal 'the file is what standard output is, byte for byte' '' \
		"$(dcpiflame --db "$db" --epoch known | cmp - "$scratch/known.svg" 2>&1)"
	check_equal 'nothing is loaded from elsewhere' '' "$(grep -oE '(href|src|url)[=(] *.?(http|//|file)[^ ]*' "$scratch/known.svg")"
	dcpiflame --db "$db" --epoch known --no-script "$scratch/plain.svg"
	check_equal 'without the script, the picture is the same' "$(sed '/<script>/,/<\/script>/d' "$scratch/known.svg")" \
		"$(cat "$scratch/plain.svg")"
	dcpiflame --db "$db" --epoch known --least 20 "$scratch/large.svg"
	check_equal 'small frames are left out' "$(awk -F '\t' '$3 >= 240' "$scratch/known")" "$(frames "$scratch/large.svg")"
	check_equal 'all epochs are one set' "$(dcpiprof --db "$db" --epoch all --tree --json | jq .samples)" \
		"$(dcpiflame --db "$db" --epoch all | sed -n 's/.*Call stacks of \([0-9]*\) samples (.*/\1/p')"
}

look_at_difference()
{
	local red='#(f69a8b|ee6a58)' blue='#(9bbcf0|6b9ae6)' # with a chance of at most a thousandth

	dcpiflame --db "$db" --epoch known --versus deeper "$scratch/difference.svg" || return
	frames "$scratch/difference.svg" >"$scratch/difference"
	check 'build, which calls descend eight times, is red' grep -qxE "$red" <<<"$(fill_of "$scratch/difference" build main)"
	check 'parse, whose share shrank, is blue' grep -qxE "$blue" <<<"$(fill_of "$scratch/difference" parse main)"
	check_equal 'main, which is all of both, is grey' '#d9d9d9' "$(fill_of "$scratch/difference" main __libc_start_call_main)"
	check_equal 'frames are as wide as in the second set' \
		"$(dcpiflame --db "$db" --epoch deeper --no-script - >"$scratch/deeper.svg"; frames "$scratch/deeper.svg" | cut -f 1-3,5-7 | sort)" \
		"$(cut -f 1-3,5-7 "$scratch/difference" | sort)"
	dcpiflame --db "$db" --epoch deeper --epoch known "$scratch/back.svg"
	frames "$scratch/back.svg" >"$scratch/back"
	check 'the other way around, parse grew' grep -qxE "$red" <<<"$(fill_of "$scratch/back" parse main)"
	check 'and four calls are gone' grep -qE '; [1-9][0-9.]+% of before in stacks that are gone' "$scratch/back.svg"
	dcpiflame --db "$db" --epoch known --epoch known "$scratch/equal.svg"
	check_equal 'of a recording and itself, nothing is coloured' '' \
		"$(frames "$scratch/equal.svg" | awk -F '\t' '$4 != "#d9d9d9" && $4 !~ /^url/')"
	dcpiflame --db "$db" --set --epoch known --set --epoch deeper "$scratch/sets.svg"
	check_equal 'sets may be named by --set' "$(cat "$scratch/difference")" "$(frames "$scratch/sets.svg")"
}

# A program's file may have any name.
look_at_names()
{
	local program=$scratch/$'a<b>&amp;"\x01\x1b]]>'

	cp "$build/workloads/calls" "$program" && perf record -q -e cpu-clock -F 500 -g -o "$scratch/names.data" -- "$program" 0.5 &&
		dcpimport --db "$scratch/names" "$scratch/names.data" >/dev/null
	dcpiflame --db "$scratch/names" "$scratch/names.svg"
	check_equal 'a name with markup and control characters is text' 'a<b>&amp;"\x01\x1b]]>' \
		"$(frames "$scratch/names.svg" | awk -F '\t' '$5 == "main" { sub(/.*\//, "", $6); print $6; exit }')"
	perf record -q -e cpu-clock -F 500 -g -o "$scratch/deep.data" -- "$build/workloads/calls" 0.5 300 &&
		dcpimport --db "$scratch/deep" "$scratch/deep.data" >/dev/null
	dcpiflame --db "$scratch/deep" "$scratch/deep.svg"
	check_equal 'stacks without their end are hatched, with the cause' 'url(#flame-hatch)' \
		"$(frames "$scratch/deep.svg" | awk -F '\t' '$5 == "[truncated: depth]" { print $4 }')"
}

look_at_bad_input()
{
	check_fails 'a folder that is not there' 1 "$scratch/none/f.svg: cannot write the flame graph: No such file" \
		dcpiflame --db "$db" "$scratch/none/f.svg"
	check_fails 'a directory' 1 'Is a directory' dcpiflame --db "$db" "$scratch"
	echo kept >"$scratch/kept.svg"
	check_fails 'an image that is none' 4 "did you mean calls?" dcpiflame --db "$db" --image callz "$scratch/kept.svg"
	check_equal 'a file stays what it was when there is no picture' kept "$(cat "$scratch/kept.svg")"
	check_fails 'a full disk' 1 'cannot write the flame graph: No space left' dcpiflame --db "$db" /dev/full
	check_fails 'three sets' 2 '3 sets of samples were named, and 2 are all that can be compared' \
		dcpiflame --db "$db" --epoch 1 --epoch 2 --epoch 3
	check_fails 'a comparison with nothing' 2 'name that one by --epoch before it' dcpiflame --db "$db" --versus 2
	check_fails 'two files' 2 'a flame graph is written into one file' dcpiflame --db "$db" a.svg b.svg
	check_fails 'a share that is none' 2 'least' dcpiflame --db "$db" --least 101
	check_fails 'an epoch that is none' 4 'nowhere' dcpiflame --db "$db" --epoch nowhere
	perf record -q -e cpu-clock -F 500 -o "$scratch/flat.data" -- "$build/workloads/calls" 0.3 &&
		dcpimport --db "$scratch/flat" "$scratch/flat.data" >/dev/null
	check_fails 'a profile without stacks' 4 "no call stacks in what was selected: dcpid takes them (stacks.rate in dcpid.conf), and dcpimport those that 'perf record -g'" \
		dcpiflame --db "$scratch/flat"
}

look_in_browser()
{
	local port=$((20000 + $$ % 10000))

	start env HOME="$scratch" chromedriver --port=$port >"$scratch/driver.log" 2>&1
	wait_for 10 curl --silent --fail "http://127.0.0.1:$port/status" || {
		not_ok 'the driver of the browser starts' "$(cat "$scratch/driver.log")"
		return
	}
	/usr/bin/python3 - "http://127.0.0.1:$port" "file://$scratch/known.svg" "file://$scratch/plain.svg" >"$scratch/said" 2>"$scratch/errors" <<'END'
import json
import sys
import time
import urllib.request

DRIVER, FILE, PLAIN = sys.argv[1:]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
SHOWN = """return [...document.querySelectorAll('g.f')].filter(g => g.getAttribute('display') !== 'none')
    .map(g => [g.querySelector('title').textContent.split('\\n')[0], Number(g.querySelector('rect').getAttribute('width')),
               g.querySelector('rect').getAttribute('fill'), g.querySelector('text').textContent])"""
SHARE = "return document.querySelector('.matched').textContent"


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(DRIVER + path, data, {"Content-Type": "application/json"}, method=method)
    return json.load(urllib.request.urlopen(request, timeout=60))["value"]


def check(sentence, is_true, detail=""):
    print(("ok - " if is_true else "not ok - ") + sentence, flush=True)
    if not is_true:
        print("#  ", detail, flush=True)


def run(code):
    return call("POST", session + "/execute/sync", {"script": code, "args": []})


def frame(name):
    code = f"return [...document.querySelectorAll('g.f')].find(g => g.querySelector('title').textContent.startsWith('{name}\\n'))"
    return run(code)[ELEMENT]


def keys(*keys):
    steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
    call("POST", session + "/actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})


# What a screen reader is told: role and name.
def spoken(element):
    return [call("GET", session + f"/element/{element}/computed{part}") for part in ("role", "label")]


options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000"]}
capabilities = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
session = "/session/" + call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
call("POST", session + "/url", {"url": FILE})
before = run(SHOWN)
widths = {name: width for name, width, *_ in reversed(before)}
call("POST", session + f"/element/{frame('build')}/click", {})
after = run(SHOWN)
check("a click makes a frame as wide as the picture", ["build", 1200] in [row[:2] for row in after], after)
check("and its callers", all(["main", 1200] == row[:2] for row in after if row[0] == "main"), after)
check("what it does not call is hidden", "parse" not in [row[0] for row in after], after)
check("what it calls grows with it", any(row[0] == "descend" and abs(row[1] - widths["descend"] * 1200 / widths["build"]) < 0.5
                                         for row in after), (after, widths))
check("names have room", ["descend"] * 4 == [row[3] for row in after if row[0] == "descend"], after)
keys("\ue00c")
check("Escape shows everything again", run(SHOWN) == before, run(SHOWN))
keys("/", *"SCAN")
found = run(SHOWN)
scans = sum(row[1] for row in before if row[0] == "scan")
check("a search colours what it finds", {row[2] for row in found if row[0] == "scan"} == {"#ff8ae2"}, found)
check("and nothing else", "#ff8ae2" not in {row[2] for row in found if row[0] != "scan"}, found)
check("the share is that of all of them", abs(float(run(SHARE)[len("found: "):-1]) - scans / 12) < 0.02, (run(SHARE), scans))
keys(*["\ue003"] * 4, *"descend")
check("a procedure within itself counts once", run(SHARE) == f"found: {widths['descend'] / 12:.2f}%", (run(SHARE), widths))
keys("\ue00c")
check("Escape ends the search", run(SHOWN) == before and run(SHARE) == "", run(SHARE))
run("document.querySelector('g.f').focus()")
keys("\ue015", "\ue015", "\ue015", "\ue007")
check("arrow keys and Enter zoom, too", len({row[0] for row in run(SHOWN)} & {"parse", "build"}) == 1, run(SHOWN))
call("POST", session + f"/element/{call('POST', session + '/element', {'using': 'css selector', 'value': '.reset'})[ELEMENT]}/click", {})
check("a click on the words above goes back", run(SHOWN) == before, run(SHOWN))
run("document.querySelector('g.f').focus()")
keys("\ue015", "\ue015", "\ue015", " ")
check("the space bar zooms like Enter", len({row[0] for row in run(SHOWN)} & {"parse", "build"}) == 1, run(SHOWN))
keys("\ue004")
check("the next Tab stop goes back", run("return document.activeElement.classList.contains('reset')"), run("return document.activeElement.outerHTML"))
check("which is a button with a name", spoken(run("return document.querySelector('.reset')")[ELEMENT]) == ["button", "Reset zoom (Esc)"],
      spoken(run("return document.querySelector('.reset')")[ELEMENT]))
keys(" ")
check("by the space bar, too", run(SHOWN) == before, run(SHOWN))
check("and the focus is on a frame that is shown", run("return document.activeElement.matches('g.f')"), run("return document.activeElement.outerHTML"))
role, name = spoken(frame("build"))
check("a frame is a button that has its title as name", role == "button" and name.split()[0] == "build" and "samples, " in name, (role, name))
unnamed = run("return [...document.querySelectorAll('[tabindex], input')].filter(e => !e.getAttribute('role') && e.localName !== 'input' ||"
              " !(e.querySelector('title') || e.textContent || e.getAttribute('aria-label'))).map(e => e.outerHTML.slice(0, 80))")
check("all that takes the focus has a role and a name", not unnamed, unnamed)
check("the picture has a name", run("return document.title").startswith("Flame graph"), run("return document.title"))
complaints = [line["message"] for line in call("POST", session + "/se/log", {"type": "browser"})]
check("the browser has no complaint", not complaints, complaints)
call("POST", session + "/url", {"url": PLAIN})
role, name = spoken(frame("build"))
check("without the script a frame is a picture with that name", role in ("img", "image") and "samples, " in name, (role, name))
check("and nothing takes the focus", run("return document.querySelectorAll('[tabindex]').length") == 0)
call("DELETE", session)
print("# walked: done")
END
	cat "$scratch/said"
	failures=$((failures + $(grep -c '^not ok' "$scratch/said")))
	grep -q '^# walked: done$' "$scratch/said" || not_ok 'the browser got to the end' "$(tail -n 5 "$scratch/errors")"
}

record known "$build/workloads/calls" 3
record shorter "$build/workloads/calls" 1
record deeper "$build/workloads/calls" 3 8
look_at_one
look_at_difference
look_at_names
look_at_bad_input
if command -v chromedriver >/dev/null; then
	look_in_browser
else
	skip 'a browser zooms and searches' 'chromium-driver is not installed'
fi
[ $failures = 0 ]
