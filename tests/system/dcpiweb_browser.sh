#!/bin/bash
# dcpiweb_browser.sh - a browser walks dcpiweb's pages by clicks and keys, with and without a script
#
# Pages are also checked for readers who do not see them, or not well; by axe-core, too, if $AXE_CORE names its axe.min.js,
# or $DCPI_TEST_CACHE has it ('npm pack axe-core').
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# shellcheck source=calc_database.sh
. "$top/tests/system/calc_database.sh"

command -v chromedriver >/dev/null || {
	skip 'a browser walks the pages' 'chromium-driver is not installed'
	exit 0
}
calc_or_skip 'a browser walks the pages' || exit 0

check 'a database with code is made' make_calc_database "$scratch/calc"
# Hours of two commands, so that there is something to drag over.
{
	echo 'event cycles cycles cycles 62000 yes -'
	echo 'image user 1111111111111111 /opt/bin/server'
	echo 'image user 2222222222222222 /opt/bin/gzip'
	echo 'context server /service run1'
	echo 'context gzip /user run2'
	echo 'epoch 1795271400 hours'
	for ((i = 0; i < 24; i++)); do
		echo "count cycles 0 0 0x1000 $((1000 + 100 * i))"
		echo "count cycles 1 1 0x2000 $((5000 - 100 * i))"
		echo "slice $((1795271400 + 600 * i)) $((1795272000 + 600 * i))"
	done
} | "$build/tests/system/make_database" "$scratch/hours"
# A stack that is deeper than a telephone is wide.
{
	printf 'event cycles.stacks cycles.stacks cycles 62000 yes -\nimage kernel - [kernel]\ncontext server - -\nepoch 1795271400 deep\n'
	printf 'stack cycles.stacks 0 100'
	printf ' 0+0x%x' {4096..20480..256}
	printf '\nslice 1795271400 1795272000\nsymbols 0'
	for ((i = 4096; i <= 20480; i += 256)); do
		printf ' 0x%x a_procedure_whose_name_is_rather_long_%d' $i $i
	done
	echo
} | "$build/tests/system/make_database" "$scratch/deep"
databases=(calc hours deep)
perf record -q -e cpu-clock -F 500 -g -o "$scratch/calls.data" -- "$build/workloads/calls" 1 2>/dev/null &&
	dcpimport --db "$scratch/stacks" "$scratch/calls.data" >/dev/null && databases+=(stacks)
for db in "${databases[@]}"; do
	start dcpiweb --db "$scratch/$db" --listen 127.0.0.1:0 >"$scratch/$db.url" 2>&1
	wait_for 5 grep -q '^http' "$scratch/$db.url"
done
port=$((20000 + $$ % 10000))
start env HOME="$scratch" chromedriver --port=$port >"$scratch/driver.log" 2>&1
wait_for 10 curl --silent --fail "http://127.0.0.1:$port/status" || {
	not_ok 'the driver of the browser starts' "$(cat "$scratch/driver.log")"
	exit 1
}

# What is said begins as lib.sh says it.
/usr/bin/python3 - "http://127.0.0.1:$port" "$(sed 's|/$||' "$scratch/hours.url")" "$(sed 's|/$||' "$scratch/calc.url")" \
	"$([ ! -e "$scratch/stacks.url" ] || sed 's|/$||' "$scratch/stacks.url")" \
	"$(sed 's|/$||' "$scratch/deep.url")" "${AXE_CORE:-${DCPI_TEST_CACHE:-/var/cache/dcpi-tests}/axe.min.js}" \
	>"$scratch/said" 2>"$scratch/errors" <<'END'
import json
import os
import sys
import time
import urllib.error
import urllib.request

DRIVER, HOURS, CALC, STACKS, DEEP, AXE = sys.argv[1:]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
TAB, ENTER = "\ue004", "\ue007"


# What the driver says that it cannot do: an element is not there, or is no longer, because another page came.
class Refused(Exception):
    pass


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(DRIVER + path, data, {"Content-Type": "application/json"}, method=method)
    try:
        return json.load(urllib.request.urlopen(request, timeout=60))["value"]
    except urllib.error.HTTPError as error:
        value = json.load(error)["value"]
        raise Refused(f"{value['error']}: {value['message'].splitlines()[0]}") from None


class Browser:
    def __init__(self, script=True):
        options = {
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000"],
            "prefs": {} if script else {"profile.managed_default_content_settings.javascript": 2},
        }
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.path = "/session/" + call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]

    def devtools(self, command, **parameters):
        call("POST", self.path + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    # A window cannot be as narrow as a telephone.
    def narrow(self, width):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=740, deviceScaleFactor=1, mobile=False)

    def colours(self, scheme):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def go(self, url):
        call("POST", self.path + "/url", {"url": url})

    def url(self):
        return call("GET", self.path + "/url")

    def run(self, code):
        return call("POST", self.path + "/execute/sync", {"script": code, "args": []})

    def run_async(self, code):
        return call("POST", self.path + "/execute/async", {"script": code, "args": []})

    # What a click or a key asked for may not be there yet.
    def element(self, using, value):
        wait_for(lambda: call("POST", self.path + "/elements", {"using": using, "value": value}))
        return call("POST", self.path + "/element", {"using": using, "value": value})[ELEMENT]

    def find(self, selector):
        return self.element("css selector", selector)

    def has(self, selector):
        return len(call("POST", self.path + "/elements", {"using": "css selector", "value": selector})) > 0

    def link(self, text):
        return self.element("link text", text)

    def click(self, element):
        call("POST", self.path + f"/element/{element}/click", {})

    def text(self, selector):
        return call("GET", self.path + f"/element/{self.find(selector)}/text")

    def write(self, element, text):
        call("POST", self.path + f"/element/{element}/value", {"text": text})

    def keys(self, *keys):
        steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        call("POST", self.path + "/actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})

    def drag(self, x, y, to):
        steps = [
            {"type": "pointerMove", "x": int(x), "y": int(y)}, {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "x": int((x + to) / 2), "y": int(y), "duration": 50},
            {"type": "pointerMove", "x": int(to), "y": int(y), "duration": 50}, {"type": "pointerUp", "button": 0},
        ]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps}
        call("POST", self.path + "/actions", {"actions": [mouse]})

    def back(self):
        call("POST", self.path + "/back", {})

    def complaints(self):
        return [line["message"] for line in call("POST", self.path + "/se/log", {"type": "browser"})]

    def quit(self):
        call("DELETE", self.path)


def check(sentence, is_true, detail=""):
    print(("ok - " if is_true else "not ok - ") + sentence, flush=True)
    if not is_true:
        print("#  ", detail, flush=True)


# A page that is about to be left is no failure of the condition.
def wait_for(condition):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            if condition():
                return True
        except Refused:
            pass
        time.sleep(0.1)
    return False


OPEN_ALL = "document.querySelectorAll('details').forEach(e => { e.open = true; })"
# Elements that reach beyond the page's width; what is inside of one that scrolls by itself does not make it wider.
OVERFLOWING = """
const scrolls = e => e && e !== document.body && e !== document.documentElement &&
    (getComputedStyle(e).overflowX !== "visible" || scrolls(e.parentElement));
return [...document.querySelectorAll("body *")]
    .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5 && !scrolls(e.parentElement))
    .map(e => e.tagName.toLowerCase() + "." + (e.getAttribute("class") || "") + " " + Math.round(e.getBoundingClientRect().right)).slice(0, 5)"""


# What a reader who does not see the page, or not well, would miss. Contrast as WCAG 2.1 defines it, 1.4.3: of text in HTML.
FAULTS = """
const faults = [], all = selector => [...document.querySelectorAll(selector)];
const name = e => e.tagName.toLowerCase() + "." + (e.getAttribute("class") || "") + " '" + e.textContent.trim().slice(0, 20) + "'";
const levels = all("h1, h2, h3, h4").map(e => +e.tagName[1]);
if (levels[0] !== 1 || levels.filter(level => level === 1).length !== 1) faults.push("the first heading, and no other, is an h1");
levels.forEach((level, i) => { if (i > 0 && level > levels[i - 1] + 1) faults.push("a heading's level is left out before " + level); });
if (!document.documentElement.lang || !document.title) faults.push("no language or title");
all("th:not([scope])").forEach(e => faults.push("no scope: " + name(e)));
all("table").filter(e => !e.caption && !e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby"))
    .forEach(e => faults.push("a table without a name: " + name(e)));
all("input, select").filter(e => !e.labels.length && !e.getAttribute("aria-label")).forEach(e => faults.push("no label: " + e.outerHTML));
all("img:not([alt])").forEach(e => faults.push("no alternative: " + e.outerHTML));
all("svg").filter(e => !e.parentElement.closest("svg") && !e.closest("[aria-hidden=true]") &&
    !(e.getAttribute("role") && (e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.querySelector("title"))) &&
    !e.closest("[role=region][aria-label]")).forEach(e => faults.push("a picture without a role and a name: " + e.outerHTML.slice(0, 80)));
const has_role = "a[href], button, input, select, summary, [role]"; // of its own, or given
all("[tabindex]").filter(e => !e.matches(has_role)).forEach(e => faults.push("takes the focus without a role: " + e.outerHTML.slice(0, 80)));
all("[role=button]").filter(e => e.tabIndex < 0 && !e.closest("svg.flame g.f")).forEach(e => faults.push("no key reaches it: " + e.outerHTML.slice(0, 80)));
all("svg.flame g.f").filter(e => !["img", "button"].includes(e.getAttribute("role")) || !e.querySelector("title").textContent.trim())
    .forEach(e => faults.push("a frame without a role and a name: " + e.outerHTML.slice(0, 80)));
all("a[href], button").filter(e => !e.textContent.trim() && !e.getAttribute("aria-label")).forEach(e => faults.push("no name: " + e.outerHTML));
const rgba = text => (text.match(/[\\d.]+/g) || []).map(Number);
const over = (front, back) => front.slice(0, 3).map((value, i) => value * (front[3] ?? 1) + back[i] * (1 - (front[3] ?? 1)));
const behind = e => { // all grounds are of one colour
    if (!e) return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
    const ground = rgba(getComputedStyle(e).backgroundColor);
    return (ground[3] ?? 1) === 1 ? ground : over(ground, behind(e.parentElement));
};
const luminance = colour => colour.slice(0, 3).map(value => value / 255)
    .map(value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let seen = 0; texts.nextNode(); ) {
    const e = texts.currentNode.parentElement, style = getComputedStyle(e), ground = behind(e);
    if (!texts.currentNode.data.trim() || e.closest("svg, .unseen, .skip") || !e.getClientRects().length) continue;
    const [light, dark] = [luminance(over(rgba(style.color), ground)), luminance(ground)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize), is_large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if ((light + 0.05) / (dark + 0.05) < (is_large ? 3 : 4.5))
        faults.push("contrast " + ((light + 0.05) / (dark + 0.05)).toFixed(2) + ": " + style.color + " on " + ground + ": " + name(e));
}
return [...new Set(faults)].slice(0, 8)"""
AXE_RUN = """
const done = arguments[arguments.length - 1];
axe.run().then(result => done(result.violations.filter(v => v.impact === "serious" || v.impact === "critical")
    .map(v => v.id + ": " + v.nodes.map(node => node.target.join(" ")).slice(0, 3).join("; "))), error => done(["" + error]))"""


def wide(browser):
    return browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")


browser = Browser()
# a page that reads itself again would end a drag
check("the overview has all of its reports", wait_for(lambda: not urllib.request.urlopen(HOURS + "/").headers["Refresh"]))
browser.go(HOURS + "/")
check("the overview has the hottest procedures", wait_for(lambda: "gzip" in browser.text("#hottest ~ .columns")))
box = browser.run("const b = document.querySelector('svg.timeline').getBoundingClientRect(); return [b.x, b.y, b.width, b.height]")
y = box[1] + box[3] / 2
browser.drag(box[0] + box[2] * 0.26, y, box[0] + box[2] * 0.49)
check("a drag selects a stretch", wait_for(lambda: "since=" in browser.url()), browser.url())
check("of six slices or seven", browser.run("return document.querySelectorAll('svg.timeline a').length") in (6, 7))
# the picture is that of the stretch now
browser.drag(box[0] + box[2] * 0.5, y, box[0] + box[2] * 0.5)
check("a click selects a slice", wait_for(lambda: browser.run("return document.querySelectorAll('svg.timeline a').length") == 1), browser.url())
browser.click(browser.link("Zoom out"))
check("zooming out shows its neighbours", wait_for(lambda: browser.run("return document.querySelectorAll('svg.timeline a').length") == 3), browser.url())
browser.back()
check("going back shows the slice again", wait_for(lambda: browser.run("return document.querySelectorAll('svg.timeline a').length") == 1))
browser.click(browser.link("All time"))
check("all time is all of it", wait_for(lambda: browser.run("return document.querySelectorAll('svg.timeline a').length") == 24))

browser.go(HOURS + "/procedures?by=image&epoch=all")
rows = "return [...document.querySelectorAll('tbody tr')].map(row => row.cells[row.cells.length - 1].innerText)"
check("the hottest image is first", browser.run(rows) == ["/opt/bin/gzip", "/opt/bin/server"], browser.run(rows))
browser.run("[...document.querySelectorAll('thead button')].find(b => b.innerText === 'Image').click()")
check("a click on a heading sorts by it", browser.run("return document.querySelector('th[aria-sort]').innerText").startswith("Image"))
browser.run("[...document.querySelectorAll('thead button')].find(b => b.innerText === 'Image').click()")
check("and another turns it around", browser.run(rows) == ["/opt/bin/server", "/opt/bin/gzip"], browser.run(rows))
browser.click(browser.find("details.filter summary"))
browser.write(browser.find("input[name=comm]"), "gzip" + ENTER)
check("the form filters", wait_for(lambda: "comm=gzip" in browser.url() and browser.run(rows) == ["/opt/bin/gzip"]), browser.url())
check("and is part of the links to other views", "comm=gzip" in browser.run("return document.querySelector('nav a').href"))

browser.go(HOURS + "/diff?before=run1&after=run2")
browser.click(browser.find("details.filter summary"))
browser.run("document.querySelectorAll('form input').forEach(e => { e.value = ''; })")
browser.write(browser.find("input[name=before_until]"), "@1795278600")
browser.write(browser.find("input[name=after_since]"), "@1795278600" + ENTER)
# gzip: 12 slices of 5000 - 100 i samples, i from 0, and the next 12; all slices have 6000
check("two stretches are compared", wait_for(lambda: "74.17 54.17 -20.00" in " ".join(browser.text("tbody").split())), browser.text("main"))

browser.go(HOURS + "/procedures")
wait_for(lambda: browser.run("return document.hasFocus() && document.readyState === 'complete'"))
browser.keys(TAB)
check("the first key leads past the navigation", browser.run("return document.activeElement.className") == "skip")
browser.keys(ENTER)
check("to the content", wait_for(lambda: browser.url().endswith("#main")), browser.url())

browser.go(CALC + "/calc?procedure=sum&image=libcalc.so&cpu=in-order-2")
browser.click(browser.find("a.culprit"))
check("a culprit's arrow leads to its instruction", "#i10" in browser.url() and browser.run("return document.querySelector('tr:target') !== null"), browser.url())
browser.click(browser.link("Its flow graph"))
check("the flow graph has code", wait_for(lambda: "add" in browser.text(".graph svg")))
browser.click(browser.link("Its instructions, as a table"))
check("and leads back", wait_for(lambda: browser.url().startswith(CALC + "/calc?")))

if STACKS:
    browser.go(STACKS + "/calls")
    browser.click(browser.link("As a flame graph"))
    shown = "return [...document.querySelectorAll('svg.flame g.f')].filter(g => g.getAttribute('display') !== 'none')" \
            ".map(g => g.querySelector('title').textContent.split('\\n')[0])"
    check("the flame graph has both branches", wait_for(lambda: {"parse", "build"} <= set(browser.run(shown))), browser.run(shown))
    browser.run("[...document.querySelectorAll('g.f')].find(g => g.textContent.startsWith('build\\n')).dispatchEvent(new Event('click'))")
    check("a click zooms into one", "parse" not in browser.run(shown), browser.run(shown))
    browser.write(browser.find("svg.flame input"), "scan")
    check("a search finds", browser.run("return document.querySelector('.matched').textContent").startswith("found: "))
else:
    print("skip - the page of a flame graph: perf cannot record a program here")

pages = [HOURS + "/", HOURS + "/?by=command", HOURS + "/procedures", HOURS + "/stats?label=run*", HOURS + "/health",
         HOURS + "/diff?before=run1&after=run2", CALC + "/calc?procedure=sum&image=libcalc.so", CALC + "/graph?procedure=sum&image=libcalc.so"]
pages += [HOURS + "/procedures?by=image&epoch=all", DEEP + "/calls", DEEP + "/flame"]
pages += [STACKS + path for path in ("/flame", "/calls", "/calls?by=inclusive", "/calls?procedure=scan", "/calls?by=callees&procedure=build", "/procedures")] if STACKS else []
for page in pages:
    browser.go(page)
complaints = browser.complaints()
check("nothing on a page is refused by its own policy, or fails", not complaints, complaints)
pages += [HOURS + "/nowhere", HOURS + "/procedures?since=never", HOURS + "/procedures?comm=" + 60 * "x"] # which say why
browser.quit()

browser = Browser()
browser.narrow(360)
too_wide = []
for page in pages:
    browser.go(page)
    browser.run(OPEN_ALL)
    width = browser.run("return innerWidth")
    if width != 360 or wide(browser) > 0:
        too_wide.append(f"{page}: {wide(browser)} more than {width}: " + ", ".join(browser.run(OVERFLOWING)))
check("no page is wider than 360 pixels", not too_wide, too_wide)
axe = open(AXE, encoding="utf-8").read() if os.path.exists(AXE) else ""
if not axe:
    print("skip - axe-core finds nothing serious: its axe.min.js is not there (see AXE_CORE)")
for scheme in ("light", "dark"):
    browser.colours(scheme)
    faults, serious = [], []
    for page in pages:
        browser.go(page)
        browser.run(OPEN_ALL)
        faults += [f"{page}: {fault}" for fault in browser.run(FAULTS)]
        if axe:
            browser.run(axe)
            serious += [f"{page}: {fault}" for fault in browser.run_async(AXE_RUN)]
    check(f"headings, tables, labels, pictures and contrast are as readers need them: {scheme}", not faults, faults)
    if axe:
        check(f"axe-core finds nothing serious: {scheme}", not serious, serious)
browser.quit()

browser = Browser(script=False)
browser.go(HOURS + "/")
check("without a script the time line is there", browser.find("svg.timeline path.s0") != "")
browser.click(browser.find("svg.timeline a"))
check("and a click selects a slice", wait_for(lambda: "since=" in browser.url()), browser.url())
browser.go(HOURS + "/procedures?by=image")
check("and tables are", "/opt/bin/gzip" in browser.text("tbody"))
check("the script is off", not browser.has("thead button"))
# each of the others: its path, what it shows, a link in it, and where that leads
walk = [
    (DEEP + "/flame", ["svg.flame g.f rect", "svg.flame g.f text"], "As a tree", DEEP + "/calls", "ul.calls li"),
    (DEEP + "/calls", ["ul.calls li .share", "details summary"], "As a flame graph", DEEP + "/flame", "svg.flame g.f"),
    (DEEP + "/calls?by=inclusive", ["tbody tr th a"], "As a tree", DEEP + "/calls", "ul.calls li"),
    (CALC + "/calc?procedure=sum&image=libcalc.so&cpu=in-order-2", ["tbody tr", "a.culprit"], "Its flow graph", CALC + "/graph", ".graph svg"),
    (CALC + "/graph?procedure=sum&image=libcalc.so", [".graph svg g.node", ".graph svg g.edge"], "Its instructions, as a table", CALC + "/calc", "tbody tr"),
    (HOURS + "/stats?label=run*", ["tbody tr", "svg.strip .tick"], None, None, None),
    (HOURS + "/diff?before=run1&after=run2", ["tbody tr", "td.grew", "td.shrank"], None, None, None),
]
for page, shown, link, leads, there in walk:
    view = page.split("/")[3].split("?")[0] + (" as a table" if "by=" in page else "")
    browser.go(page)
    missing = [selector for selector in shown + ["nav a", "footer a"] if not browser.has(selector)]
    check(f"without a script /{view} has its tables, pictures and links", not missing, missing)
    if link:
        browser.click(browser.link(link))
        check(f"and a link of /{view} leads on", wait_for(lambda: browser.url().startswith(leads) and browser.has(there)), browser.url())
browser.go(HOURS + "/stats?label=run*")
browser.click(browser.find("footer a"))
check("and the links at the end of a page lead to text", wait_for(lambda: "format=text" in browser.url() and "gzip" in browser.text("body")), browser.url())
browser.go(HOURS + "/diff?before=run1&after=run2")
browser.click(browser.find("details.filter summary"))
browser.write(browser.find("input[name=limit]"), "1" + ENTER)
check("and forms select", wait_for(lambda: "limit=1" in browser.url() and browser.has("tbody tr")), browser.url())
browser.quit()
print("# walked: done")
END
cat "$scratch/said"
failures=$((failures + $(grep -c '^not ok' "$scratch/said")))
if ! grep -q '^# walked: done$' "$scratch/said"; then
	not_ok 'the browser walked to the end' "$(grep -e 'line [0-9]*, in <module>' -e Refused "$scratch/errors" || tail -n 5 "$scratch/errors")"
fi
[ $failures = 0 ]
