#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# diff of two kernels and of two C libraries: each is run as a subject, and the runs are compared.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../lib.sh"

kernel=$(find /boot -name 'vmlinuz-*' | sort -V | tail -n 1)
[ -r "$kernel" ] || skip_all "no kernel in /boot"
exits 0 "a kernel and itself" diff "$kernel" "$kernel" skylake-x
check "one CPU is compared" has '^no CPU changes path, of 1 compared, ' out

# What another kernel would have said of the same CPU.
exits 0 "a run of that kernel" run --subject linux --kernel "$kernel" --results r skylake-x
jq -c '.picks[0] |= (.says = "mov" | .does = "mov")' r/results.jsonl >other.jsonl
exits 0 "a run and a kernel" diff ./other.jsonl "$kernel" skylake-x
check "the pick is named, as agreed" has '^    clear_page@4k: mov -> rep-stosb  \(agreed\)$' out
exits 1 "the other way round nobody agreed" diff ./r ./other.jsonl
check "that is said" has '^    clear_page@4k: rep-stosb -> mov  \(not agreed: expect says rep-stosb\)$' out

libc=$(dirname "$(ldconfig -p | awk '/libc\.so\.6.*x86-64/ { print $NF; exit }')")
if [ -r "$libc/libc.so.6" ]; then
	exits 0 "a C library and itself" diff "$libc" "$libc" skylake-x
	check "one CPU is compared there" has '^no CPU changes path, of 1 compared, ' out
else
	skip "a C library and itself" "no libc.so.6"
fi
finish
