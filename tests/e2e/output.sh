#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The formats, each read by a program that is not ours.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

exits 0 "all formats at once" run --results r --output tap:tap --output junit:junit.xml \
	--output jsonl:jsonl skylake-x broadwell-x amd/25:1 intel/6:207
cells=$(wc -l <r/plan.jsonl)

check "TAP: a version or a plan comes first" grep -qE '^(TAP version 1[34]|1\.\.[0-9]+)$' <(head -n 1 tap)
check "TAP: the plan is that of the run" grep -qx "1\.\.$cells" tap
check "TAP: one line for each cell, in number" \
	diff <(seq "$cells") <(sed -nE 's/^(not )?ok ([0-9]+) - .*/\2/p' tap)
check "TAP: a mismatch is a SKIP that says so" \
	[ "$(grep -cE '^ok [0-9]+ - [^ ]+ # SKIP mismatch: ' tap)" = "$(count '.verdict == "mismatch"' r/results.jsonl)" ]
if command -v prove >/dev/null; then
	check "TAP: prove reads it" prove --exec cat tap
fi
check "JUnit is XML" xmllint --noout junit.xml
attribute() { xmllint --xpath "string($1)" junit.xml; }
check "JUnit: all cells are test cases" [ "$(attribute 'count(//testcase)')" = "$cells" ]
check "JUnit: a mismatch is skipped" \
	[ "$(attribute 'count(//testcase/skipped)')" = "$(count '.verdict | IN("mismatch", "skip")' r/results.jsonl)" ]
check "JUnit: the suite counts them" [ "$(attribute '//testsuite/@tests')" = "$cells" ]
check "JSON Lines are the records" diff <(sort r/results.jsonl) <(sort jsonl)

exits 0 "TAP on standard output" run --output tap skylake-x
check "nothing but TAP is there" lines 0 <(grep -vE '^(TAP version|1\.\.|(not )?ok |#|  )' out)
exits 0 "JSON Lines on standard output" run --output jsonl skylake-x
check "nothing but records is there" jq -e .cell out

# Where numbers have commas.
mkdir locales
if localedef -i de_DE -f UTF-8 "$work/locales/de_DE.UTF-8" 2>/dev/null; then
	runs "in German" env LOCPATH="$work/locales" LC_ALL=de_DE.UTF-8 "$program" \
		run --results german --timeout-scale 1.5 --output junit:german.xml skylake-x
	check "JSON: seconds are numbers" jq -e '.seconds | all(.[]; type == "number")' german/results.jsonl
	check "JUnit: times have a point" has ' time="[0-9]+\.[0-9]+"' german.xml
else
	skip "in German" "no localedef"
fi

for what in cpus models subjects operations; do
	exits 0 "list $what" list $what
	exits 0 "list $what --json" list $what --json
	check "it is JSON" jq -e . out
done
exits 0 "show" show skylake-x
exits 0 "show --json" show skylake-x --json
check "it is JSON" jq -e . out
exits 0 "doctor" doctor
exits 0 "cpuid" cpuid skylake-x --to json
check "it is JSON, and that CPU" jq -e '(if type == "array" then .[0] else . end) | .family == 6 and .model == 85' out
exits 0 "cpuid as a dump" cpuid skylake-x --to cpuid-r
cp out dump
exits 0 "the dump is read again" cpuid ./dump
exits 0 "and has no difference" cpuid-diff skylake-x ./dump
exits 1 "another CPU has" cpuid-diff skylake-x broadwell-x
exits 0 "libvirt's form" cpuid skylake-x --to libvirt
check "it is XML" xmllint --noout out
"$program" cpuid - <dump >out 2>err && check "standard input" test -s out
finish
