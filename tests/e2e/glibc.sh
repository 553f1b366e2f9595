#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A C library as the subject: what it picks and does on a few CPUs, and what is refused as one.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

requires ls /boot/vmlinuz-* || requires ls /usr/lib/modules/*/vmlinuz || skip_all "no kernel to boot"

if requires command -v python3; then
	check "the golden picks are what the rules make" "$top/cpu-models/derive-glibc" --check
else
	skip "the golden picks are what the rules make" "no python3"
fi

mkdir empty
exits 2 "a folder without a library" run --subject glibc --libc empty skylake
check "it is said" has '^quirklab: --libc: empty: there is no glibc in it: no libc.so.6$' err
exits 2 "a file that is no package" run --subject glibc --libc "$top/README.md" skylake
check "it is said" has 'README.md: a folder or a Debian package was expected$' err
exits 2 "a library for another subject" run --libc empty skylake
check "no results of these" [ ! -e results ]

# Two vendors, with and without ERMS, AVX2 and AVX-512.
exits 0 "four CPUs" run --subject glibc --results r skylake skylake-x westmere-ep milan-19-01
check "every planned cell has one record" complete r
check "the records are well formed" well_formed r/results.jsonl
version=$(jq -r .versions.libc r/results.jsonl | sort -u)
check "the library says what it is" [ "$version" = "$(ldd --version | sed -n '1s/.* //p')" ]

# value FIELD PICK CPU: of one pick.
value()
{
	jq -r --arg pick "$2" --arg cpu "$3" \
		'select(.cpu.name == $cpu) | .picks[] | select(.op + "@" + .class == $pick) | .'"$1" r/results.jsonl
}

# is FIELD PICK CPU WANTED
is()
{
	local got

	got=$(value "$1" "$2" "$3")
	[ "$got" = "$4" ] || { echo "$3: $2: '$got', not '$4'"; return 1; }
}

case $version in
2.36 | 2.41) ;;
*) skip "the picks" "written for glibc 2.36 and 2.41, not $version"; finish; exit ;;
esac
check "AVX2 and ERMS" is says_name memset@ifunc skylake __memset_avx2_unaligned_erms
check "a copy with AVX2" is says_name memcpy@ifunc skylake __memcpy_avx_unaligned_erms
check "a search without AVX2" is says_name strlen@ifunc westmere-ep __strlen_sse2
check "64 bytes by two vectors" is does memset@64 skylake mov-ymm
check "memset takes rep stosb above its threshold" is expected memset@stosb+ skylake rep-stosb
check "and does" is verdict memset@stosb+ skylake pass
check "and not at it" is does memset@stosb skylake "mov-ymm; not to the return"
check "a large copy goes past the cache" is does memcpy@64m westmere-ep "movntdq-xmm; head/tail mov-xmm; not to the return"
check "three pass" [ "$(count '.verdict == "pass"' r/results.jsonl)" = 3 ]
check "what TCG has not is a mismatch" has 'avx512f' <(jq -r 'select(.cpu.name == "skylake-x") | .reason' r/results.jsonl)
check "the thresholds are in the record" \
	[ "$(jq -r 'select(.cpu.name == "skylake").program.values.rep_stosb_threshold' r/results.jsonl)" = 0x800 ]
finish
