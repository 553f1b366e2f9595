#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The same CPUs without any guest. What no hypervisor presents is judged here: nothing mismatches.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

exits 0 "every CPU, without a guest" replay
check "it ends with the summary" has_summary out
check "all pass" grep -qE '^([0-9]+) cells: \1 pass' out
check "nothing is written" test ! -e results
exits 0 "one CPU" replay skylake-x
check "the quirk row is named" grep -q "row=skylake-x" out
exits 0 "a CPU with an edit" replay skylake-x,-erms
exits 2 "no such CPU" replay skylake-y
check "a near name is offered" grep -q "do you mean" err
exits 0 "a signature alone" replay intel/6:85
exits 2 "a signature that nobody has, without a vendor" replay 6:250
finish
