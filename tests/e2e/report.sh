#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# quirklab report: shards merged, two runs compared, each format; whatever a guest, a file or a name says
# stays text. The page itself is driven in a browser by tests/browser/.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cpus='skylake-x broadwell-x amd/25:1 amd/23:49 intel/6:207 intel/6:142 hygon/24:0 zhaoxin/7:91 unknown'

# What counts of a cell, whatever rack it was in.
essence()
{
	jq -cS '[.cell, .verdict, .reason, .cpu, [.picks[] | del(.trace)]]' "$@" | sort
}

# --- shards ---
# shellcheck disable=SC2086 # a list of words
exits 0 "all of it" run --results all $cpus
for shard in 1 2 3 4; do
	# shellcheck disable=SC2086
	exits 0 "shard $shard of 4" run --shard $shard/4 --results s$shard $cpus
done
exits 0 "four shards, merged, in each format" report s1 s2/results.jsonl s3 s4 -o jsonl:merged.jsonl -o html:report.html \
	-o tap:tap -o junit:junit.xml -o markdown:comment.md -o table:table
check "they are the whole run, cell by cell" diff <(essence all/results.jsonl) <(essence merged.jsonl)
check "the records are well formed" well_formed merged.jsonl
check "and sorted: a second merge is the same" diff merged.jsonl <(quirklab report merged.jsonl -o jsonl 2>/dev/null)
check "only the summary is told" lines 1 err
check "nothing is on standard output" lines 0 out
cells=$(wc -l <all/results.jsonl)
check "TAP has all cells" grep -qx "1\.\.$cells" tap
check "JUnit is XML, with all cells" [ "$(xmllint --xpath 'count(//testcase)' junit.xml)" = "$cells" ]
check "the table ends with the summary" has_summary table
exits 0 "without --output" report s1 s2 s3 s4
check "it is TAP where there is no terminal" grep -qx "TAP version 13" out

# --- the page: its policy names its own style and script, and its data is JSON ---
data_of() { perl -0777 -ne 'print $1 if m{id="data">(.*?)</script>}s' "$1"; }
policy=$(grep -o 'Content-Security-Policy" content="[^"]*' report.html)
check "the policy forbids all" [ "${policy#*default-src \'none\'; }" != "$policy" ]
check "but its own style" [ "${policy#*"$(page_hash style report.html)"}" != "$policy" ]
check "and its own script" [ "${policy#*"$(page_hash script report.html)"}" != "$policy" ]
check "the data is JSON" jq -e ".runs[0].cells | length == $cells" <(data_of report.html)
check "with the instructions of the witness" jq -e '[.traces[][1:][][4]] | index("rep stosb") and index("sfence")' <(data_of report.html)
check "and the ends of the consoles" jq -e '[.logs[][0]] | all(. == null | not)' <(data_of report.html)
check "and the command for each cell" jq -e '[.runs[0].cells[][9]] | index("quirklab run --pack 1 skylake-x")' <(data_of report.html)
check "nothing is fetched" lines 0 <(grep -nEi '(src|href|url|@import) *[=(]' report.html)
check "there is a table without scripts" [ "$(grep -c '^<tr><td>' report.html)" = "$cells" ]
exits 0 "a run's own page" run --results one --output html:one.html skylake-x
exits 0 "and of its results" report one -o html:again.html
check "are the same, but for the time" diff <(data_of one.html | jq 'del(.runs[].summary)') <(data_of again.html | jq 'del(.runs[].summary)')
command=$(data_of one.html | jq -r '.runs[0].cells[0][9]')
check "the command of a cell runs it again" [ "$(cd "$work" && PATH=$B:$PATH bash -c "$command --results once-more" 2>/dev/null | grep -c '^ok 1 - skylake-x/')" = 1 ]

# --- two runs ---
jq -c 'if .cpu.name == "skylake-x" then .verdict = "fail" | .reason = "memset@llc: another" | (.picks[] | select(.op == "memset" and .class == "llc")) |= (.says = "movnti" | .verdict = "fail") else . end' \
	all/results.jsonl >after.jsonl
exits 0 "two runs, compared" report all after.jsonl -o table -o html:two.html -o markdown:two.md
check "the change is told" has 'memset@llc: pass -> fail, says mov -> movnti' out
check "as the only one" has "^1 cell changed, of $cells before and $cells after$" out
check "and in Markdown" has '^\| skylake-x/bare/dispatch \| GenuineIntel 6:85:[0-9]+ \| pass -\\> fail<br>memset' two.md
check "and in the page" jq -e '.changes | length == 1' <(data_of two.html)
exits 0 "a run with itself" report all all -o table
check "has no change" has '^0 cells changed' out
exits 2 "TAP is of one run" report all after.jsonl -o tap
exits 2 "three runs" report all after.jsonl all
check "are one line of error" lines 1 err

# --- what is not as it should be ---
head -c -100 s1/results.jsonl >torn.jsonl
exits 0 "a torn last line" report torn.jsonl -o jsonl
check "is told with its place" has "^quirklab: torn\.jsonl:$(wc -l <s1/results.jsonl): the last line is torn" err
check "and left out" lines $(($(wc -l <s1/results.jsonl) - 1)) out
sed 2s/schema/scheme/ s1/results.jsonl >bad.jsonl
exits 2 "a line that is no record" report bad.jsonl -o jsonl:never
check "is told with its place" has "^quirklab: bad\.jsonl:2: no record: 'schema' is missing" err
check "and nothing is written" test ! -e never
mkdir killed
cp -r all/plan.jsonl all/cells killed
head -n 3 all/results.jsonl >killed/results.jsonl
exits 0 "a run that was ended" report killed -o tap
check "has no result for the rest" has "^Bail out! $((cells - 3)) of $cells cells have no result" out
for words in '' 'nowhere' 's1 -o html:no/where.html' 's1 -o sarif' 's1 -o html:all' '/dev/null'; do
	# shellcheck disable=SC2086
	exits 2 "report $words: bad input" report $words
	check "is one line" lines 1 err
done
exits 3 "a full disk" report s1 -o html:/dev/full

# --- hostile strings: in names, reasons, paths, logs, and in the names of files ---
hostile_results all
LC_ALL=C exits 0 "hostile strings in each format" report "$hostile" -o html:h.html -o tap:h.tap -o junit:h.xml -o markdown:h.md -o table:h.txt -o jsonl:h.jsonl
for file in h.html h.tap h.xml h.md h.txt h.jsonl err; do
	check "$file: printable ASCII alone" lines 0 <(LC_ALL=C grep -naP '[^\t\x20-\x7e]' $file)
done
check "TAP: two tests and a plan" [ "$(grep -cE '^(not ok [12] - |1\.\.2$)' h.tap)" = 3 ]
check "JUnit: XML, of two cells" [ "$(xmllint --xpath 'count(//testcase[failure])' h.xml)" = 2 ]
check "Markdown: no tag, but its line breaks" lines 0 <(sed 's/<br>//g' h.md | grep -n '<')
check "HTML: two script tags, all the page's own" [ "$(grep -oi '<script' h.html | wc -l)" = 2 ]
check "HTML: no image, no comment, one style" \
	[ "$(grep -oiE '<(img|!--|b>|style)' h.html | sort | uniq -c | tr -s ' ')" = " 1 <style" ]
check "the data has them as text" jq -e '[.runs[0].cells[][8]] | all(startswith("<script>alert(1)</script>\\x1b[2J"))' <(data_of h.html)
check "the console too" jq -e '.logs[0][0] | startswith("<script>alert(1)</script>\\x1b[2J") and contains("\\x00")' <(data_of h.html)
head -c 100 s1/results.jsonl >>"$hostile/results.jsonl"
exits 0 "hostile names of files in a warning" report "$hostile" -o jsonl
check "are printable" lines 0 <(LC_ALL=C grep -naP '[\x00-\x1f\x7f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xc2[\x80-\x9f]' err)
jq -c '.cpu.name = ("x" * 1048576)' s1/results.jsonl >long.jsonl
exits 2 "a name of a megabyte" report long.jsonl
check "is one short line" [ "$(wc -lc <err | tr -s ' ')" = " 1 $(wc -c <err)" ]
check "that says so" has "^quirklab: long\.jsonl:1: no record: 'name' is longer than" err
{ head -n 1 s1/results.jsonl; printf 'a\0b\n'; } >nul.jsonl
exits 2 "a NUL" report nul.jsonl
check "is one line" has '^quirklab: nul\.jsonl:2: no record' err
finish
