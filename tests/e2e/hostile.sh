#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hostile guests (tests/guests/): each ends as what it is, in bounded time, and never as a pass.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

requires test -e "$B/tests/guests/silent.elf" || skip_all "tests/guests is not built"

# The limits shrink to a tenth: a hung guest is waited for twice.
as_guest()
{
	mkdir -p "images-$1"
	cp "$B/tests/guests/$1.elf" "images-$1/bare.elf"
	status=0
	QUIRKLAB_IMAGES=$work/images-$1 timeout 120 "$program" run --timeout-scale "${3:-0.1}" --results "$1" \
		skylake-x amd/25:1:1 >out 2>err </dev/null || status=$?
	check "$1: ends by itself, with status 1" [ $status = 1 ]
	check "$1: every planned cell has one record" complete "$1"
	check "$1: the records are well formed" well_formed "$1/results.jsonl"
	check "$1: the verdict is $2" \
		lines 0 <(jq -c "select((.verdict | test(\"^($2)\$\") | not)) | {cell, verdict, reason}" "$1/results.jsonl")
	check "$1: nothing but text is printed" lines 0 <(LC_ALL=C grep -nP '[^\x20-\x7e\t]' out err)
	check "$1: logs are bounded" [ "$(du -sm "$1" | cut -f 1)" -lt 100 ]
	check "$1: no QEMU is left" within 2 no_qemu
}

as_guest silent hung
as_guest garbage hung
as_guest truncated hung
as_guest endless hung
as_guest flood hung
as_guest triple crashed
as_guest ud crashed
as_guest liar 'fail|hung|crashed|error|mismatch|skip'

# A rack in which one CPU kills all: only that one is blamed. The rest run again, alone, and pass.
finish
