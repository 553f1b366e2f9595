#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Memory under valgrind: no error and no leak in frames of ours.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

requires valgrind --version || skip_all "no valgrind"
under_valgrind()
{
	valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
		--show-leak-kinds=definite --suppressions="$top/tests/valgrind.supp" --trace-children=no \
		"$program" "$@"
}

clean()
{
	local what=$1 status=0

	shift
	under_valgrind "$@" >out 2>err </dev/null || status=$?
	if [ $status != 99 ] && [ $status -lt 128 ] && ! grep -q '^==' err; then
		ok "valgrind: $what (status $status)"
	else
		not_ok "valgrind: $what (status $status)" err
	fi
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
clean "resume" run --resume --results r
finish
