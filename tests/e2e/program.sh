#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program as the subject: what is refused before a boot, what each kind of program makes of a cell,
# and a dispatcher that is judged by its lines.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

requires ls /boot/vmlinuz-* || requires ls /usr/lib/modules/*/vmlinuz || skip_all "no kernel to boot"

bad=$B/subjects/misbehave
mkdir example
cp "$B/subjects/example" example/
cp -r "$top/tests/subjects/expect" example/

# --- refused before anything boots

# refused WORDS WHAT ARGUMENT...: one line with these words, status 2, and no results.
refused()
{
	local words=$1 what=$2

	shift 2
	exits 2 "$what" run --results refused "$@"
	check "... in one line that says why" has "$words" err
	check "... and nothing else" lines 1 err
	check "... nothing is written" test ! -e refused
}

cp "$bad" foreign
printf '\267\0' | dd of=foreign bs=1 seek=18 conv=notrunc status=none # e_machine: EM_AARCH64
refused 'is a program for aarch64' "another architecture is told" --subject ./foreign skylake-x
echo 'int gone(void) { return 0; }' >gone.c
echo 'int gone(void); int main(void) { return gone(); }' >needs.c
if ${CC:-cc} -shared -fPIC -o libgone.so gone.c 2>why && ${CC:-cc} -o needs needs.c ./libgone.so 2>>why; then
	rm libgone.so
	refused 'libgone.so' "a missing library is told" --subject ./needs skylake-x
else
	not_ok "a program with a library" why
fi
cp "$bad" plain
chmod -x plain
refused 'is not executable' "a file that is not executable is told" --subject ./plain skylake-x
mkdir empty
refused "no program 'run'" "a folder without a program is told" --subject empty skylake-x
refused 'needs --image linux' "the bare image has no programs" --image bare --subject "$bad" skylake-x

# --- one program, one verdict

# becomes VERDICT REASON WHAT ARGUMENT...: a run of one CPU gives that verdict and reason (a pattern).
becomes()
{
	local verdict=$1 reason=$2 what=$3

	shift 3
	rm -rf r
	quirklab run --results r "$@" >out 2>err </dev/null || :
	jq -r '.verdict + ": " + (.reason // "")' r/results.jsonl >got || :
	cat r/results.jsonl >>all.jsonl
	check "$what" has "^$verdict: $reason\$" got
}

becomes fail 'ended by signal 11 \(SEGV\)' "a crash is the program's failure" --subject "$bad" skylake-x -- crash
becomes fail '1 of 2 tests failed, first: the second one' "a test that fails" --subject "$bad" skylake-x -- fail
check "... its output is kept" has '^not ok 2' r/cells/skylake-x/linux/misbehave/output.log
becomes fail 'TAP: 1 of 3 planned tests reported' "a test that is missing" --subject "$bad" skylake-x -- partial
becomes pass '' "100 MiB of output between two verdicts, a process left behind" \
	--subject "$bad" skylake-x -- flood leave
check "... what was left out is counted" has '^10485[0-9]{4} 10[0-9]{7}$' \
	<(jq -r '.program | "\(.written) \(.left_out)"' r/results.jsonl)
becomes fail 'ended by signal 9 \(KILL\), as the system does where memory runs out' "all memory eaten" \
	--subject "$bad" skylake-x -- eat
becomes hung 'wrote nothing for too long: .*' "a program that hangs with its output closed" \
	--silence 2 --subject "$bad" skylake-x -- hang
check "... is tried twice" has '^2$' <(jq .tries r/results.jsonl)

mkdir -p folder/data
# shellcheck disable=SC2016 # for the guest's shell
printf '#!/bin/sh\nread -r word <data/word\n[ "$word $1" = "beside me" ] && exit 77\nexit 1\n' >folder/run
chmod +x folder/run
echo beside >folder/data/word
becomes skip 'the program skipped \(exit status 77\)' "a folder with a script, its shell and its libraries" \
	--subject folder skylake-x -- me

# --- a dispatcher

exits 0 "the example passes" run --subject example/example --results e skylake-x westmere-ep
check "the cells are named after it" has '^skylake-x/linux/example$' <(jq -r .cell e/results.jsonl)
check "all that was seen is judged" has '^2 pass rep-stosb rep-stosb$' \
	<(jq -r 'select(.cpu.name == "skylake-x") | "\(.picks | length) \(.verdict) \(.picks[1].expected) \(.picks[1].does)"' e/results.jsonl)
check "a fence is seen" has '^movnti; sfence$' \
	<(jq -r 'select(.cpu.name == "westmere-ep") | .picks[1].does' e/results.jsonl)
check "its figures are in the record" has '^1048576$' <(jq -r .program.values.large e/results.jsonl)
becomes fail 'fill@4k: expected rep-stosb, says mov, does rep-stosb' "one that claims another path than it takes" \
	--subject example/example haswell -- lie
cat e/results.jsonl >>all.jsonl
check "the records are well formed" well_formed all.jsonl
finish
