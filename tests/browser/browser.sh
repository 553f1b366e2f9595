#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The HTML report in a real Chromium: this script makes the reports, page.js drives them and claims.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

here=$top/tests/browser
chromium=$(command -v chromium) || skip_all "no chromium"
requires npm --version || skip_all "no npm"

# playwright-core alone, as the lock file says it to the byte; none of its scripts run.
modules=$B/browser
if ! cmp -s "$here/package-lock.json" "$modules/node_modules/package-lock.json"; then
	mkdir -p "$modules"
	cp "$here/package.json" "$here/package-lock.json" "$modules"
	check "playwright-core is there" npm --prefix "$modules" --cache "$work/npm" ci --ignore-scripts --no-audit --no-fund
	cp "$here/package-lock.json" "$modules/node_modules" || { finish; exit 1; }
fi

# One run as it is; the same with all verdicts in it; 5000 cells of it; hostile ones.
exits 0 "all of it" run --results all -o jsonl:/dev/null
exits 0 "its report" report all -o html:run.html
jq -c --slurp 'to_entries[] | .key as $n | .value |
	if $n % 37 == 5 then (.picks[] | select(.op == "memset" and .class == "llc")) |=
			(.says = "rep-movsb" | .verdict = "fail" | .row = "a-row") |
		.verdict = "fail" | .reason = "memset@llc: expected movnti, says rep-movsb (row a-row), does movnti"
	elif $n == 100 then .verdict = "crashed" | .reason = "exception 6 at 0x101234" | .picks = []
	elif $n == 101 then .verdict = "hung" | .reason = "no progress for 2.0 s"
	elif $n == 102 then .verdict = "skip" | .reason = "no expected pick"
	elif $n == 103 then .verdict = "error" | .reason = "QEMU did not start"
	elif $n == 104 then empty else . end' all/results.jsonl >after.jsonl
exits 0 "two runs" report all after.jsonl -o html:two.html
for copy in $(seq 0 19); do
	jq -c --arg copy "$copy" '.cpu.name += "-v" + $copy | .cell = .cpu.name + "/bare/dispatch" |
		.cpu.stepping = (.cpu.stepping + ($copy | tonumber)) % 16' after.jsonl
done | head -n 5000 >many.jsonl
exits 0 "5000 cells" report many.jsonl -o html:many.html
hostile_results all
exits 0 "hostile strings" report "$hostile" -o html:hostile.html
head -n 2 all/results.jsonl >"$hostile/results.jsonl"
mkdir killed
cp -r all/plan.jsonl all/cells killed
head -n 3 all/results.jsonl >killed/results.jsonl
exits 0 "a run that was ended" report killed -o html:killed.html

# "ok WHAT" or "not ok WHAT" for each claim; anything else is told as it is.
status=0
mkdir browser
HOME=$work XDG_RUNTIME_DIR=$work/browser TMPDIR=$work/browser NODE_PATH=$modules/node_modules CHROMIUM=$chromium timeout 1000 node "$here/page.js" "$work" >claims 2>err || status=$?
while IFS= read -r line; do
	case $line in
	"ok "*) ok "${line#ok }" ;;
	"not ok "*) not_ok "${line#not ok }" ;;
	*) echo "# $line" ;;
	esac
done <claims
ended $status "every page was driven to the end" err
[ -z "${QUIRKLAB_SCREENSHOTS:-}" ] || cp -- *.png "$QUIRKLAB_SCREENSHOTS"
finish
