#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# quirklab scale between two command lines: what is the same is no change, ten times over; and the
# mitigation of each side is told.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../lib.sh"

cpu=broadwell-x
for ((turn = 1; turn <= 10; turn++)); do
	exits 0 "turn $turn: the same on both sides" scale tlb_flush1_threads -t 2 --base quiet --head quiet --cpu $cpu
	check "turn $turn: counts are reported" grep -q 'tlb_shootdowns_per_op' out
	check "turn $turn: each is no change" [ "$(grep -c '_per_op' out)" = "$(grep -c '_per_op.*(no change)' out)" ]
done
exits 0 "mitigations off against retpolines" scale tlb_flush1_threads -t 2 --base mitigations=off --head spectre_v2=retpoline \
	--cpu $cpu
check "the base is vulnerable" sh -c "sed -n '/^base:/,/^head:/p' out | grep -q 'spectre_v2: Vulnerable'"
check "the head has retpolines" sh -c "sed -n '/^head:/,\$p' out | grep -q 'spectre_v2: Mitigation: Retpolines'"
check "both have their counts" grep -qE '^ *[0-9.]+ .*% +[0-9.]+ .*tlb_shootdowns_per_op' out
finish
