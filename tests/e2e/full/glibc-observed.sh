#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Debian 12's glibc on 24 CPUs, against what it picked there under qemu-user, read by other means.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../lib.sh"

observed=$top/tests/e2e/data/glibc-2.36-observed.tsv
requires ls /boot/vmlinuz-* || requires ls /usr/lib/modules/*/vmlinuz || skip_all "no kernel to boot"
[ "$(ldd --version | sed -n '1s/.* //p')" = 2.36 ] || skip_all "this machine's glibc is not that of the observations"

# Edited CPUs have no expected picks: what they pick is compared here.
sed 1d "$observed" | cut -f 1,3-9 | sort >want
mapfile -t specs < <(cut -f 1 want)
exits 0 "${#specs[@]} CPUs" run --subject glibc --results r "${specs[@]}"
check "every planned cell has one record" complete r
check "the records are well formed" well_formed r/results.jsonl

# shellcheck disable=SC2016 # jq's variables
row='def name(op): .picks[] | select(.op == op and .class == "ifunc") | .says_name;
[.cpu.name, name("memset"), name("memcpy"), name("memmove"),
	(.program.values | .non_temporal_threshold, .rep_movsb_threshold, .rep_movsb_stop_threshold,
	.rep_stosb_threshold)] | @tsv'
jq -r "$row" r/results.jsonl | sort >got
check "the same picks in every row" diff <(cut -f 1-4 want) <(cut -f 1-4 got)
# A whole machine's CPUs say the same of their caches as qemu-user's.
check "the same thresholds in every row" diff want got
finish
