#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The same selftests as PID 1 of a real kernel.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

requires ls /boot/vmlinuz-* || requires ls /usr/lib/modules/*/vmlinuz || skip_all "no kernel to boot"
exits 0 "three CPUs under Linux" run --image linux --results r skylake-x broadwell-x amd/25:1
check "every planned cell has one record" complete r
check "the records are well formed" well_formed r/results.jsonl
check "each names its kernel" lines 0 <(jq -c 'select((.versions.kernel // "") == "")' r/results.jsonl)
check "none failed" lines 0 <(jq -c 'select(.verdict | IN("pass", "mismatch") | not)' r/results.jsonl)
check "the console is kept, if empty" test -e r/cells/skylake-x/linux/dispatch/console.log
exits 0 "a bare guest of the same CPUs" run --results b skylake-x broadwell-x amd/25:1
facts='[.cpu.name, ([.picks[] | select(.verdict == "pass") | [.op, .class, .says]] | tostring)] | @tsv'
check "both images see the same choices" \
	diff <(jq -r "$facts" b/results.jsonl | sort) <(jq -r "$facts" r/results.jsonl | sort)
finish
