#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The shards under a real Slurm of one node: together they find what the whole run finds, cell by cell.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../lib.sh"

PATH=$PATH:/usr/sbin
for tool in slurmctld slurmd sbatch munged; do
	command -v $tool >/dev/null || skip_all "no $tool: the packages slurm-wlm and munge have it"
done

# What a cell found; not how long it took, nor in which company.
found='[.cell, .verdict, .reason, .picks, .cpuid] | tostring'

exits 0 "the whole run" run --results whole
runs "4 shards as an array job" env QUIRKLAB="$program" RESULTS=shards "$top/docs/ci/slurm/desk" 4
for shard in 1 2 3 4; do
	check "shard $shard is complete" complete shards/shard-$shard
done
check "each cell is in one shard" \
	diff <(jq -r .cell whole/plan.jsonl | sort) <(jq -r .cell shards/shard-*/plan.jsonl | sort)
check "and found what the whole run found" \
	diff <(jq -r "$found" whole/results.jsonl | sort) <(jq -r "$found" shards/shard-*/results.jsonl | sort)
check "no daemon of that Slurm is left" test -z "$(grep -ls "SLURM_CONF=$work/tmp" /proc/[0-9]*/environ)"
check "and no folder" test -z "$(ls tmp)"
finish
