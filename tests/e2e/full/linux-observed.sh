#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kernel's own picks for 30 CPUs, against what was read from the same kernel by other means.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../lib.sh"

kernel=/boot/vmlinuz-6.1.0-57-cloud-amd64
observed=$top/tests/e2e/data/linux-6.1-observed.tsv
requires test -r $kernel || skip_all "not the kernel of the observations"

# The row of a record as the observations have it: the words of their columns.
# shellcheck disable=SC2016 # jq's variables
row='def pick(op): .picks[] | select(.op == op);
def short(op): pick(op).row | sub("^(clear_page|copy_user|clear_user)_"; "");
def routine(op): pick(op) | if .row == op then .says | gsub("-"; " ") else .row end;
[.cpu.name, "\(.cpu.vendor) fam \(.cpu.family) model \(.cpu.model)",
	([("rep_good", "erms", "clflushopt", "clwb") as $f | .kernel.flags[] | select(. == $f)] | join(" ")),
	short("clear_page"), short("copy_user"), short("clear_user"), routine("memset"), routine("memcpy"),
	routine("copy_page"), (.kernel.vulnerabilities.spectre_v2 | sub(";.*"; ""))] | @tsv'

# same STATUS WHAT APPEND: the observations with these words on the command line, in one run.
same()
{
	local wanted=$1 append=$3 status=0

	shift

	sed 1d "$observed" | awk -F '\t' -v append="$append" '$2 == append' >rows
	rm -rf r
	# Edited CPUs have no expected picks: what they pick is compared here.
	mapfile -t specs < <(cut -f 1 rows)
	quirklab run --subject linux --kernel $kernel ${append:+--append "$append"} --results r \
		"${specs[@]}" >out 2>err </dev/null || status=$?
	check "$1: ends with status $wanted" test $status = "$wanted"
	check "$1: every planned cell has one record" complete r
	check "$1: the records are well formed" well_formed r/results.jsonl
	jq -r "$row" r/results.jsonl | sort >got
	cut -f 1,4- rows | sort >rows.sorted
	check "$1: the same picks in every row ($(wc -l <rows))" diff rows.sorted got
}

same 0 "28 CPUs" ""
# A kernel that is told to do without them does not do what is expected of it.
same 1 "without REP_GOOD" clearcpuid=rep_good
same 1 "without ERMS and REP_GOOD" clearcpuid=erms,rep_good
exits 0 "Opteron_G5, which needs xgetbv1 under TCG" run --subject linux --kernel $kernel --results g model:Opteron_G5
check "it passes" lines 1 <(jq -c 'select(.verdict == "pass")' g/results.jsonl)
finish
