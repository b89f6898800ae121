#!/usr/bin/env bash
# A run's page from the command line: one file, well-formed, with nothing from elsewhere; and where a
# headless Chromium is, drawn in light, dark and on a phone's width.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

small_space small.yaml
try "$program" evolve --space small.yaml --db fa.db --device emulator:l4 --budget 24 --seed 3
check 'a search succeeds' equal "$status" 0
winner=$("$program" best --db fa.db --format csv -n 1 | tail -n 1 | cut -d, -f1)
"$program" ablate "$winner" --db fa.db --device emulator:l4 --seed 1 --format json >ablation.json 2>/dev/null

try "$program" report 1 --db fa.db --ablation ablation.json --out run.html
check 'a page is written' equal "$status" 0
check 'and nothing is printed' equal "$(cat "$out")" ''
"$program" report 1 --db fa.db --ablation ablation.json --out again.html 2>/dev/null
check 'the same rows give the same bytes' cmp run.html again.html
cat >look.py <<'E2'
import html.parser, os, xml.etree.ElementTree as tree

assert os.path.getsize("run.html") < 3_000_000
text = open("run.html", encoding="utf-8").read()
tree.fromstring(text)  # well-formed


class Page(html.parser.HTMLParser):
    tags, sections, texts, labels = set(), [], [], []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.tags.add(tag)
        if tag == "section":
            self.sections.append(named["id"])
        if tag == "svg":
            self.labels.append(named["aria-label"])
        for name in named:
            assert name not in ("src", "href", "srcset", "action", "data") and not name.startswith("on"), name

    def handle_data(self, data):
        self.texts.append(data)


page = Page()
page.feed(text)
assert not page.tags & {"script", "link", "iframe", "object", "embed", "img", "form"}, page.tags
assert page.sections == "result funnel progress lineage effects ablation roofline machine".split(), page.sections
assert page.labels and all(page.labels)
said = " ".join(page.texts)
assert "All times are predictions" in said and "measured time" not in said
assert "24 configs that were tried" in said
E2
try python3 look.py
check 'the page is one, whole and by itself' equal "$status$(tail -n 1 "$err")" 0

try "$program" report 7 --db fa.db --out none.html
check 'a run that is not there' equal "$status" 2
check 'leaves no page' is_not test -e none.html
cat >race.py <<'E2'
import json, sys

config = json.load(open("ablation.json"))["trial_config"] | ({"BLOCK_M": 5} if len(sys.argv) > 1 else {})
row = {"us": 2.0, "times_fa_tune": 2.0, "times_fa_tune_interval": [1.9, 2.1]}
race = {"device": "X", "software": "Y", "date": "2026-01-02", "method": "m", "configs": {"fa-tune": config}}
print(json.dumps(race | {"rows": [row | {"name": "fa-tune"}, row | {"name": "Them & us"}]}))
E2
python3 race.py >race.json
try "$program" report 1 --db fa.db --beside race.json --out beside.html
check 'a race beside others is taken in' contains beside.html 'Them &amp; us'
python3 race.py other >race.json
try "$program" report 1 --db fa.db --beside race.json --out none.html
check 'one of another kernel is refused' contains "$err" 'which no trial of run 1 has'
sed 's/"trial": [0-9]*/"trial": 999/' ablation.json >other.json
try "$program" report 1 --db fa.db --ablation other.json --out none.html
check 'an ablation of something else is refused' equal "$status" 2
try "$program" report 1 --db fa.db --ablation small.yaml --out none.html
check 'so is what is no ablation' equal "$status" 2

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
  echo 'SKIPPED: no Chromium here, so the page was not drawn'
else
  for look in 1000,1:page 1000,0:dark 390,1:phone; do
    size=${look%%,*} scheme=${look#*,}
    timeout 60 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars \
      --blink-settings=preferredColorScheme="${scheme%:*}" --window-size="$size,2000" \
      --screenshot="$PWD/${look##*:}.png" "file://$PWD/run.html" >chromium.log 2>&1 || cat chromium.log
    check "it is drawn: ${look##*:}" test -s "${look##*:}.png"
  done
  check 'dark is another drawing than light' is_not cmp -s page.png dark.png
fi
finish
