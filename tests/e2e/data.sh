#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tables of cpu-models/: their form, and the golden picks against the rules, which derive works out
# apart from the dispatcher's code; and that derive sees a change of a table.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

requires python3 --version || skip_all "no python3"
cp -r "$top/cpu-models" tables
check "the tables agree with the rules" tables/derive --check

# changed WHAT SED-SCRIPT FILE: derive objects, and the table is as before afterwards.
changed()
{
	local status=0

	cp "tables/$3" before
	sed -i "$2" "tables/$3"
	check "$1: the table is another" differ before "tables/$3"
	tables/derive --check >out 2>&1 || status=$?
	check "$1: derive objects" [ $status = 1 ]
	cp before "tables/$3"
}

differ()
{
	! cmp -s "$1" "$2"
}

changed "a pick" '/\tskylake-x\t/ s/rep-stosb/movnti/' expect/dispatch.tsv
changed "a stepping that is no number" '/\tskylake-x\t/ s/0x55\t0/0x55\t0x-garbage/' expect/dispatch.tsv
changed "another model in the key" '/\tskylake-x\t/ s/0x55/0x56/' expect/dispatch.tsv
changed "a row too few" '/\tskylake-x\t/ d' expect/dispatch.tsv
finish
