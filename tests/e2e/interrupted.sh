#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ctrl-C and SIGTERM in the middle: it ends soon, tidily, with what it has; --resume goes on.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

some_finished()
{
	[ "$(wc -l <"$1/results.jsonl" 2>/dev/null || echo 0)" -ge 4 ]
}

# stop SIGNAL FOLDER: a run, the signal, and how it ended in $status. A background job of a script has
# SIGINT ignored, so the run is started by a shell of its own with the default handling.
stop()
{
	local pid

	status=0
	env --default-signal=INT "$program" run --pack 1 --results "$2" >out 2>err </dev/null &
	pid=$!
	within 60 some_finished "$2" || return 1
	kill "-$1" $pid
	wait $pid || status=$?
}

gone()
{
	! kill -0 "$1" 2>/dev/null
}

stop INT r
check "Ctrl-C: exit status 130" [ $status = 130 ]
check "no QEMU is left" no_qemu
check "no state is left" no_state
check "it says how to go on" grep -q -- --resume err out
check "each record is whole" jq -e . r/results.jsonl
exits 0 "--resume finishes it" run --resume --results r
check "every planned cell has one record" complete r

stop TERM s
check "SIGTERM: exit status 143 or 130" [ $status = 143 -o $status = 130 ]
check "no QEMU is left after SIGTERM" no_qemu
check "each record is whole" jq -e . s/results.jsonl

# Started by somebody who ignores the death of children.
check "an ignored SIGCHLD is no matter" env --ignore-signal=CHLD "$program" run --results c skylake-x

# A reader that goes away early.
status=0
{ quirklab run --output tap skylake-x broadwell-x 2>err || echo $? >status; } | head -n 1 >/dev/null
check "no QEMU is left after a broken pipe" within 10 no_qemu
check "a broken pipe is no crash" [ "$(cat status 2>/dev/null || echo 0)" -lt 139 ]
finish
