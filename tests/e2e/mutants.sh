#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The dispatcher broken on purpose (tests/e2e/mutants/): exactly the CPUs concerned fail, and the record
# of each says what was expected, what was chosen or done, and which row decided.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# A copy of what the bare image is made of, built once; a mutant builds one file of it again.
mkdir tree
cp -r "$top/Makefile" "$top/harness" "$top/images" "$top/tests" tree
make_image()
{
	env -u MAKEFLAGS -u MAKELEVEL make -C tree --no-print-directory B="$work/built" ${CC:+CC="$CC"} \
		"$work/built/images/bare.elf"
}

check "a build of one's own" make_image
exits 0 "the dispatcher as it is" run --results sound
for script in "$top"/tests/e2e/mutants/*.sed; do
	name=$(basename "$script" .sed)
	file=$(sed -n 's/^# file: *//p' "$script")
	condition=$(sed -n 's/^# fails: *//p' "$script")
	sed -f "$script" "$top/$file" >mutated
	if cmp -s mutated "$top/$file"; then
		not_ok "$name changes $file"
		continue
	fi
	# A time stamp of its own: make looks at whole seconds on some file systems.
	cp mutated "tree/$file"
	touch -d '+1 minute' "tree/$file"
	rm -f built/images/bare.elf
	if ! make_image >log 2>&1; then
		not_ok "$name builds" log
		continue
	fi
	status=0
	QUIRKLAB_IMAGES=$work/built/images quirklab run --results "$name" >out 2>err </dev/null || status=$?
	check "$name: exit status 1" [ $status = 1 ]
	jq -r "select($condition) | .cell" sound/results.jsonl | sort >must
	jq -r 'select(.verdict == "fail") | .cell' "$name/results.jsonl" | sort >did
	check "$name: exactly the $(wc -l <must) CPUs concerned fail" diff must did
	check "$name: there are some" [ -s must ]
	check "$name: each says why" lines 0 <(jq -c 'select(.verdict == "fail") |
		select((.reason // "") == "" or ([.picks[] | select(.verdict == "fail")
			| (.expected | length) * (.says | length) * (.does | length)] | max) == 0)
		| {cell, reason}' "$name/results.jsonl")
	case $name in
	paths-*)
		# Says one thing, does another: the choice is the expected one, the deed gives it away.
		check "$name: the choice alone looks right" lines 0 <(jq -c '.picks[] |
			select(.verdict == "fail" and .says != .expected)' "$name/results.jsonl")
		;;
	esac
	cp "$top/$file" "tree/$file"
	touch -d '+2 minutes' "tree/$file"
	rm -rf "$name"
done
finish
