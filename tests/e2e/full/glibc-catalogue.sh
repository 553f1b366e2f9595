#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The whole catalogue against this machine's glibc, and against that of GLIBC_DEB where it names Debian's
# package of 2.41: every CPU judged, and as many as boot alone cost that many times more.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../lib.sh"

requires ls /boot/vmlinuz-* || requires ls /usr/lib/modules/*/vmlinuz || skip_all "no kernel to boot"
case $(ldd --version | sed -n '1s/.* //p') in
2.36 | 2.41) ;;
*) skip_all "written for glibc 2.36 and 2.41" ;;
esac

# judged DIR WHAT: every cell has its verdict, and only what glibc itself refuses fails.
judged()
{
	check "$2: every planned cell has one record" complete "$1"
	check "$2: the records are well formed" well_formed "$1/results.jsonl"
	check "$2: no pick fails but that a program starts" lines 0 <(jq -c '.picks[] | select(.op != "program" and .verdict == "fail")' "$1/results.jsonl")
	# It reads no flags of a vendor that it does not know.
	check "$2: what fails are the vendors that glibc does not know" \
		lines 0 <(jq -c 'select(.verdict | IN("pass", "mismatch") | not) |
			select(.reason // "" | test("CPU ISA level is lower than required") | not)' "$1/results.jsonl")
	check "$2: most of it passes" [ "$(count '.verdict == "pass"' "$1/results.jsonl")" -gt 180 ]
}

seconds()
{
	date +%s.%N
}

begin=$(seconds)
exits 1 "the catalogue" run --subject glibc --results all
racks=$(echo "$begin $(seconds) $(wc -l <all/results.jsonl)" | awk '{ print ($2 - $1) / $3 }')
judged all "the catalogue"

# Of all kinds: every thirtieth that passed.
mapfile -t sample < <(jq -r 'select(.verdict == "pass") | .cpu.name' all/results.jsonl | sort | awk 'NR % 30 == 1')
begin=$(seconds)
exits 0 "${#sample[@]} CPUs, one boot each" run --subject glibc --pack 1 --results alone "${sample[@]}"
alone=$(echo "$begin $(seconds) ${#sample[@]}" | awk '{ print ($2 - $1) / $3 }')
check "a boot each costs at least 5 times as much ($racks s and $alone s a CPU)" \
	awk "BEGIN { exit !($alone >= 5 * $racks) }"
# picks DIR: what the sample picks there.
picks()
{
	jq -cS '[.cell, .verdict, .picks, .cpuid, .program.values]' "$1/results.jsonl" | sort
}
check "alone they pick what they pick in a rack" \
	lines 0 <(comm -13 <(picks all) <(picks alone))

if [ -z "${GLIBC_DEB:-}" ]; then
	skip "Debian's 2.41" "GLIBC_DEB names no package"
	finish
	exit
fi
exits 1 "2.41: the catalogue" run --subject glibc --libc "$GLIBC_DEB" --results new
judged new "2.41"

# far CPU...: what memset of 64 MiB did there.
far()
{
	local cpu

	for cpu; do
		jq -r --arg cpu "$cpu" 'select(.cpu.name == $cpu) | .picks[] |
			select(.op == "memset" and .class == "64m") | .does | sub(";.*"; "")' new/results.jsonl
	done | xargs
}
check "2.41: 6:0x55 and 6:0x66 avoid non-temporal stores in memset" [ "$(far skylake-x cannonlake-l)" = "rep-stosb rep-stosb" ]
check "2.41: their neighbours do not" \
	[ "$(far below-skylake-x above-skylake-x skylake icelake-x)" = "movntdq-xmm movntdq-xmm movntdq-ymm movntdq-ymm" ]
check "2.41: Zen 2 uses them, Zen 3 with ERMS does not" [ "$(far rome-17-31 milan-19-01)" = "movntdq-ymm mov-ymm" ]
finish
