#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shards: together all cells, each once; the numbers come from the environment of an engine too.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

exits 0 "shard 1 of 3" run --shard 1/3 --results s1
runs "shard 2 of 3, from CI_NODE_INDEX and CI_NODE_TOTAL" \
	env CI_NODE_INDEX=2 CI_NODE_TOTAL=3 "$program" run --results s2
exits 0 "shard 3 of 3" run --shard 3/3 --results s3
exits 0 "all of it" run --results all
check "the shards' plans are the whole plan, each cell once" \
	diff <(jq -r .cell all/plan.jsonl | sort) <(jq -r .cell s1/plan.jsonl s2/plan.jsonl s3/plan.jsonl | sort)
for shard in s1 s2 s3; do
	check "$shard is complete" complete $shard
done
check "and no shard is more than half of it" \
	[ "$(wc -l s1/plan.jsonl s2/plan.jsonl s3/plan.jsonl | sort -n | tail -n 2 | head -n 1 | awk '{print $1}')" -lt $(($(wc -l <all/plan.jsonl) / 2)) ]
check "the verdicts are those of the whole" \
	diff <(jq -r '[.cell, .verdict] | @tsv' all/results.jsonl | sort) \
	     <(jq -r '[.cell, .verdict] | @tsv' s1/results.jsonl s2/results.jsonl s3/results.jsonl | sort)
finish
