#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Memory under valgrind: no error and no leak in frames of ours.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

requires valgrind --version || skip_all "no valgrind"

# The verdict is read from the log of the program's own process. Its exit status is left alone: the
# children that libvirt forks would take it on, and libvirt counts on theirs.
clean()
{
	local what=$1 status=0 pid

	shift
	valgrind --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite \
		--suppressions="$top/tests/valgrind.supp" --log-file="$work/valgrind.%p" \
		"$program" "$@" >out 2>err </dev/null &
	pid=$!
	wait $pid || status=$?
	if [ $status -lt 126 ] && has 'ERROR SUMMARY: 0 errors' valgrind.$pid; then
		ok "valgrind: $what (status $status)"
	else
		not_ok "valgrind: $what (status $status)" err valgrind.$pid
	fi
	rm -f valgrind.*
}

clean "a bad option" run --imgae bare
clean "a bad CPU" replay skylake-y
clean "list" list cpus --json
clean "show" show skylake-x --json
clean "replay" replay
clean "a run in a rack, all formats" run --timeout-scale 10 --results r --output tap:tap --output junit:junit \
	--output jsonl:jsonl skylake-x amd/25:1
check "it is complete" complete r
clean "a run with a guest each" run --timeout-scale 10 --pack 1 --results s skylake-x amd/25:1
clean "resume" run --resume --results r skylake-x amd/25:1
finish
