#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kernel as the subject: what it has patched for a few CPUs, and how that is judged.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

requires ls /boot/vmlinuz-* || requires ls /usr/lib/modules/*/vmlinuz || skip_all "no kernel to boot"

if requires command -v python3; then
	check "the golden picks are what the rules make" "$top/cpu-models/derive-linux" --check
else
	skip "the golden picks are what the rules make" "no python3"
fi

# value OPERATION FIELD CPU: of one pick.
value()
{
	jq -r --arg op "$1" --arg cpu "$3" 'select(.cpu.name == $cpu) | .picks[] | select(.op == $op) | .'"$2" r/results.jsonl
}

is()
{
	[ "$1" = "$2" ] || { echo "'$1', not '$2'"; return 1; }
}

cpus="skylake-x westmere-ep diamondrapids-x model:Cascadelake-Server"
# shellcheck disable=SC2086 # words
quirklab run --subject linux --results r $cpus >out 2>err </dev/null && status=0 || status=$?
check "every planned cell has one record" complete r
check "the records are well formed" well_formed r/results.jsonl
release=$(jq -r '.versions.kernel' r/results.jsonl | head -n 1)
check "the kernel says what it is" is "$(jq -r '.image + "/" + .subject' r/results.jsonl | sort -u)" linux/linux
case $release in
6.1.* | 6.12.*) ;;
*) skip "the picks" "written for 6.1 and 6.12, not $release"; finish; exit ;;
esac

check "clear_page with ERMS" is "$(value clear_page row skylake-x)" clear_page_erms
check "clear_page with REP_GOOD" is "$(value clear_page row westmere-ep)" clear_page_rep
check "copy_page with REP_GOOD" is "$(value copy_page does skylake-x)" rep-movsq
check "clwb() is the best flush" is "$(value clwb does skylake-x) $(value clwb does westmere-ep)" "clwb clflush"
check "all but one pass" is "$(jq -r 'select(.verdict == "pass") | .cpu.name' r/results.jsonl | sort | xargs)" \
	"model:Cascadelake-Server skylake-x westmere-ep"
check "a family above 15 fails with its reference" \
	has 'copy_page@4k: .*15b7ddcf66fb' <(jq -r 'select(.cpu.name == "diamondrapids-x") | .reason' r/results.jsonl)
check "so the run fails" is "$status" 1
check "every call site is counted" \
	lines 4 <(jq -c 'select(.kernel.sites.clear_page_erms + .kernel.sites.clear_page_rep > 10)' r/results.jsonl)
check "the kernel's flags are there" lines 4 <(jq -c 'select(.kernel.flags | index("fpu"))' r/results.jsonl)
check "what it says of vulnerabilities is there" \
	lines 4 <(jq -c 'select(.kernel.vulnerabilities.spectre_v2)' r/results.jsonl)
# Both are of one family:model with Retbleed; only libvirt's model shows the guest that there is IBRS.
check "without IBRS: retpolines" is "$(value spectre_v2 says_name skylake-x) $(value retbleed says_name skylake-x)" "retpoline vulnerable"
check "with IBRS: that" is "$(value spectre_v2 says_name model:Cascadelake-Server) $(value retbleed says_name model:Cascadelake-Server)" "ibrs ibrs"
check "the kernel's text shows retpolines" has '[1-9][0-9]* calls of __x86_indirect_thunk_rax; no IBRS' <(value spectre_v2 does skylake-x)
check "and IBRS in place of them" is "$(value spectre_v2 does model:Cascadelake-Server)" \
	"0 calls of __x86_indirect_thunk_rax; IBRS at the system call's entry"
# What a short boot leaves out is in no record.
# shellcheck disable=SC2086 # words
quirklab run --subject linux --full-boot --results f $cpus >out 2>err </dev/null || :
check "short boots were the first try" lines 4 <(jq -c 'select(.tries == 1)' r/results.jsonl)
check "one of them was compared with a full one, by the run itself" \
	is "$(jq -r .kernel.boot r/results.jsonl | sort | xargs)" "both short short short"
check "--full-boot boots in full" lines 4 <(jq -c 'select(.kernel.boot == "full")' f/results.jsonl)
same='[inputs] | sort_by(.cell)[] | del(.run, .seconds, .kernel.boot)'
check "a full boot says the same" diff <(jq -n -S "$same" r/results.jsonl) <(jq -n -S "$same" f/results.jsonl)
exits 0 "a pass for git bisect" run --subject linux --bisect --results b --append "clearcpuid=clwb mitigations=off" westmere-ep
check "what it was told to do without is not expected of it" \
	is "$(jq -r '.picks[] | select(.op == "spectre_v2") | .says_name + " " + .expected_name' b/results.jsonl)" "vulnerable vulnerable"
check "what it was told is in the record" is "$(jq -r '.kernel.options[]' b/results.jsonl)" mitigations=off
exits 125 "what no kernel is tells nothing" run --subject linux --bisect --results n --kernel "$top/README.md" westmere-ep
finish
