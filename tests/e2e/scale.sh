#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# quirklab scale on this machine: the lines that scripts for will-it-scale read.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# Five seconds of warm-up, two that are measured.
# shellcheck disable=SC2016 # awk's fields, here and below
in_order='NR == 1 { good = /^testcase:./; next }
NR == 2 { good = good && $0 == "warmup"; next }
NR == 8 { good = good && $0 == "measurement"; next }
NR == 11 { good = good && /^average:[0-9]+$/; next }
{ good = good && /^min:[0-9]+ max:[0-9]+ total:[0-9]+$/ }
END { exit !(good && NR == 11) }'
# shellcheck disable=SC2016
average='NR == 9 || NR == 10 { total += $4 } NR == 11 { exit $2 != int(total / 2) }'
# shellcheck disable=SC2016
total='/^min/ && $6 != $2 + $4 { bad = 1 } END { exit bad }'

for workload in malloc1_threads page_fault1_processes tlb_flush1_threads; do
	exits 0 "$workload, 2 tasks" scale $workload -s 2 -t 2
	check "$workload: the lines are will-it-scale's, in its order" awk "$in_order" out
	check "$workload: the average is that of the two measured seconds" awk -F : "$average" out
	check "$workload: the total is the slowest and the fastest of two tasks" awk -F '[: ]' "$total" out
done
# Interrupted before there is a connection, and while there is a guest.
for seconds in 0.1 0.3 3; do
	status=0
	timeout --preserve-status -s INT $seconds "$program" scale malloc1_threads --base quiet --head quiet \
		--cpu broadwell-x >out 2>err </dev/null || status=$?
	check "interrupted after $seconds s: status 130" [ $status = 130 ]
done
# Killed while there is a guest: neither that nor its initramfs stays.
"$program" scale malloc1_threads --base quiet --head quiet --cpu broadwell-x >out 2>err </dev/null &
pid=$!
booted()
{
	[ -n "$(own_qemus)" ] && ls "$TMPDIR"/quirklab-initramfs.*/initramfs
}
check "a guest is there" within 60 booted
kill -9 "$pid"
wait "$pid" 2>/dev/null || :
check "2 s after kill -9 no QEMU is left" within 2 no_qemu
check "nor a file" within 2 no_state
check "no task is left" sh -c "! pgrep -x -u $(id -u) scale"
finish
