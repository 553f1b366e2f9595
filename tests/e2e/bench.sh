#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# quirklab bench: what it measures, and the row that a slow path earns. No claim here
# depends on how fast this machine is, or on what else it does.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

if command -v qemu-x86_64 >/dev/null; then
	status=0
	qemu-x86_64 "$program" bench --op memset >out 2>err </dev/null || status=$?
	check "under an emulator times mean nothing" [ $status = 3 ]
	check "and it says so" grep -q 'is emulated.*mean nothing' err
else
	skip "under an emulator times mean nothing" "no qemu-x86_64: the package qemu-user has it"
fi

exits 0 "the same as plots" bench --op memset --size 16K --size 64K --threads 1 --runs 5 --seconds 20 --html plots.html
check "one file that fetches nothing and runs nothing" sh -c \
	"grep -q \"content=.default-src 'none'; style-src 'sha256-\" plots.html && ! grep -qE '<script|src=|href=' plots.html"
check "the style is the one that its policy names" grep -qF "style-src '$(page_hash style plots.html)'" plots.html
exits 0 "a table of its own choice" bench --op memset --op flush --size 64K --threads 1 --runs 5 --seconds 12
check "names the reference" grep -q 'rep-stosb\|rep-stosq\|mov' out
check "and the crossover of flushing" grep -q '^flushing against movnti' out
exits 0 "the same as JSON" bench --op memset --size 64K --threads 1 --runs 5 --seconds 20 --json
check "has every path once" jq -e '([.measurements[].path] | sort) == ["mov", "movnti", "rep-stosb", "rep-stosq"]' out
check "one of them is the reference" jq -e '[.measurements[] | select(.reference)] | length == 1' out
check "each with its runs, or with those that were disturbed" jq -e '
	all(.measurements[]; (.gb_per_s | length) + .disturbed >= 5 and all(.gb_per_s[]; . > 0))' out

# movnti slowed down: a pause behind each line. Whatever this machine does beside, that is never good.
sed '/^FUNCTION path_set_movnti$/,/^END path_set_movnti$/s/^8:\tSET_WORDS movnti$/8:\tSLOW_WORDS/' \
	"$top/tests/dispatch/paths.S" >slow.S
cat >slow.h <<'EOF'
.macro SLOW_WORDS
	mov	%rdx, %rcx
	shr	$6, %rcx
	jz	4f
3:	movnti	%rsi, (%rdi)
	pause
	add	$64, %rdi
	dec	%rcx
	jnz	3b
4:
.endm
EOF
sed -i '1r slow.h' slow.S
check "the slow path differs" sh -c "! cmp -s slow.S '$top/tests/dispatch/paths.S'"
# shellcheck disable=SC2046 # words
check "a program with it" "${CC:-cc}" -no-pie -o slow -I "$top" slow.S $(find "$B/host/lab" -name '*.o') \
	"$B/libharness.a" "$B/libdispatch.a" $(grep -oE -- ' -[lL][^ ]+| -fsanitize[^ ]+' "$B/flags" | sort -u) -pthread
llc=$(getconf LEVEL3_CACHE_SIZE)
[ "${llc:-0}" -gt 0 ] || llc=$((8 << 20))
runs "measured" env QUIRKLAB_MODELS="$top/cpu-models" ./slow bench --op memset --size $(((llc + 4095) / 4096 * 4096)) \
	--threads 1 --runs 5 --seconds 30 --suggest
check "movnti is not called good" sh -c "! grep -E '^ .* movnti .*  good' out"
if grep -qE '^ .* movnti .*  bad' out; then
	check "but bad, and the row is there" grep -q '\.quirks = DISPATCH_NT_BAD' out
	check "for this CPU" grep -q "\.family = $(awk -F ': *' '/^cpu family/ { print $2; exit }' /proc/cpuinfo)," out
else
	skip "but bad, and the row is there" "this machine is too busy for a verdict"
	skip "for this CPU" "this machine is too busy for a verdict"
fi

# Measurements as evidence: in the table's order, and nothing else changes.
mkdir models
cp -r "$top"/cpu-models/* models
runs "as evidence" env QUIRKLAB_MODELS="$work/models" "$program" bench --op memset --size 64K --threads 1 --runs 5 \
	--seconds 20 --evidence
check "nothing of the table is lost" sh -c "! diff '$top/cpu-models/evidence.tsv' models/evidence.tsv | grep '^<'"
check "what is added is of this machine" sh -c "diff '$top/cpu-models/evidence.tsv' models/evidence.tsv | grep '^>' |
	awk -F '\t' '\$12 !~ /^quirklab bench/ { bad = 1 } END { exit bad }'"

# A signal ends it, while memory is taken as well, and the table stays as it is.
cp models/evidence.tsv before.tsv
begin=$SECONDS status=0
timeout --preserve-status -s TERM 0.5 env QUIRKLAB_MODELS="$work/models" "$program" bench --size 256M --seconds 60 --json \
	--evidence >out 2>err </dev/null || status=$?
check "ends when it is told to" test $status = 143
check "at once" test $((SECONDS - begin)) -lt 5
check "says why" test "$(cat err)" = "quirklab: interrupted"
check "prints whole JSON or nothing" jq -es 'length < 2' out
check "adds no evidence then" cmp before.tsv models/evidence.tsv
finish
