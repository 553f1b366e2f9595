#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The dispatcher broken on purpose: exactly the CPUs concerned fail, and the record says how.
# Each tests/e2e/mutants/NAME.sed starts with comments:
#   # file: the source that it edits
#   # fails: a jq condition on a catalogue record that is true for the CPUs that must fail
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

ls "$top"/tests/e2e/mutants/*.sed >/dev/null 2>&1 || skip_all "no mutants"
finish
