#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a change of the quirk table does, before it is merged: diff between revisions, work tree and
# results; accept; lint; what hostile names and strings come to.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

requires git --version || skip_all "no git"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
unset MAKEFLAGS MAKELEVEL

# A repository of the sources as they are, with nobody's hooks.
mkdir repo
tar -C "$top" --exclude=./build --exclude=./.git --exclude=./results -cf - . | tar -C repo -xf -
git -C repo init -q -b main
git -C repo config user.name nobody
git -C repo config user.email nobody@localhost
commit()
{
	git -C repo add -A
	git -C repo commit -q --allow-empty -m "$1"
}

# row NAME VENDOR FAMILY MODEL: the table gains a row, placed first.
row()
{
	sed -i "/^static const struct dispatch_quirk_row rows/ a\\
	{\\
		.name = \"$1\",\\
		.vendor = \"$2\",\\
		.family = $3,\\
		.models = { $4 },\\
		.model_count = 1,\\
		ALL_STEPPINGS,\\
		.quirks = DISPATCH_NT_BAD,\\
		.reason = \"made up\",\\
		.source = \"made up\",\\
	}," repo/tests/dispatch/quirks.c
}

# differs STATUS WHAT ARGUMENT...: diff in the repository (or in $from of it) ends with that status.
from=.
differs()
{
	local wanted=$1 what=$2 status=0

	shift 2
	(cd "repo/$from" && exec "$program" diff "$@") >out 2>err </dev/null || status=$?
	if [ "$status" = "$wanted" ]; then
		ok "$what"
	else
		echo "diff $*: status $status, not $wanted" >>err
		not_ok "$what" out err
	fi
}

is()
{
	[ "$1" = "$2" ] || { echo "'$1', not '$2'"; return 1; }
}

commit base
git -C repo tag base

# --- one row for Broadwell-X ---
row broadwell-x GenuineIntel 6 0x4F
commit broadwell-x
git -C repo tag broadwell
# --- what the cache keeps, and two diffs at once ---
builds()
{
	find "$XDG_CACHE_HOME/quirklab/diff" -mindepth 1 -maxdepth 1 -type d
}

echo '#error broken' >>repo/tests/dispatch/quirks.c
commit broken
git -C repo tag broken
git -C repo reset -q --hard broadwell
differs 2 "a revision that does not build" base broken
check "it is named, with the compiler's words" has "^quirklab: broken .*does not build: .*#error broken" err
check "only what was built is kept" is "$(basename "$(builds)")" "$(git -C repo rev-parse 'base^{tree}')"
(cd repo && exec "$program" diff --no-boot base) >out1 2>err1 </dev/null &
first=$!
differs 1 "one of two diffs at once" --no-boot base
status=0
wait $first || status=$?
check "the other of them" is $status 1
sed -i 's/, [0-9.]* s$//' out out1
check "both say the same" cmp out out1
check "both builds are there" lines 2 <(builds)
# One that is killed leaves no make, which would go on where its locks are no more, and what its
# compilers leave lies with what they were building.
cat >compiler <<-end
	#!/bin/sh
	echo "\$TMPDIR" >>$work/scratch
	exec cc "\$@"
end
chmod +x compiler
makes()
{
	pgrep -f "^make .*B=$work/killed/"
}
(cd repo && exec env CC="$work/compiler" XDG_CACHE_HOME="$work/killed" "$program" diff --no-boot base) >out1 2>err1 </dev/null &
first=$!
check "it is building" within 20 makes
check "with compilers" within 20 test -s scratch
kill -9 $first
wait $first 2>/dev/null || :
check "a killed one's makes end" within 3 sh -c "! pgrep -f '^make .*B=$work/killed/'"
check "its compilers' files were with its builds" lines 0 <(grep -v "^$work/killed/quirklab/diff/" scratch)
# What a diff has built of the work tree is its own until it ends.
exec 8>>"$(builds | grep /work-)/lock"
flock -s 8
(cd repo && exec "$program" diff --no-boot base) >out1 2>err1 </dev/null &
first=$!
check "another waits for it" within 20 has '^quirklab: waiting for another diff$' err1
flock -u 8
status=0
wait $first || status=$?
check "and goes on" is $status 1

differs 1 "a row for Broadwell-X" base broadwell
check "one CPU is listed, with its steppings" is "$(grep -oE '^[A-Z].* [0-9]+:[0-9]+:[0-9-]+  .*' out)" \
	"GenuineIntel 6:79:0-15  broadwell-x"
check "clears from the cache's size on" has '^    clear_extent@llc,2llc: movnti -> rep-stosb  \(not agreed: expect says movnti\)$' out
check "and sets" has '^    memset@llc,2llc: movnti -> mov  \(not agreed' out
check "no other pick" is "$(grep -c ' -> ' out)" 3
check "the row that decided" has '^        after:  row broadwell-x: NT_BAD row, falls back to ERMS' out
check "guests say the same" has '^20 CPUs booted \(1 that change, 3 neighbours, 16 others\): 0 contradict' out
check "the conclusion" has '^1 of [0-9]+ CPUs changes path, in 4 picks, 4 of them not agreed on, ' out
differs 1 "as JSON" base broadwell --no-boot --format json
check "the same CPU and picks" is "$(jq -r '[.changes[] | "\(.cpu.name) \(.op)@\(.class) \(.before.path) \(.after.path) \(.after.row)"] | sort | join(", ")' out)" \
	"broadwell-x clear_extent@2llc movnti rep-stosb broadwell-x, broadwell-x clear_extent@llc movnti rep-stosb broadwell-x, broadwell-x memset@2llc movnti mov broadwell-x, broadwell-x memset@llc movnti mov broadwell-x"
from=docs
differs 1 "from a subfolder, with edits and a dump" base broadwell broadwell-x,+fsrs "$top/tests/unit/dumps/cpuid-r.txt" \
	--no-boot --format markdown
from=.
check "the edited CPU changes as its bits say" has '^\| broadwell-x,\+fsrs .* memset&#64;llc,2llc \| movnti: .* \| rep-stosb: row broadwell-x: .* not in the tables \|$' out

# --- agreed on, and back ---
(
	cd repo
	sed -i -E '/\tbroadwell-x\t/ s/(rep-stosb\trep-stosb\trep-stosb\t)movnti\tmovnti\tmov\tmov\tmovnti\tmovnti/\1rep-stosb\trep-stosb\tmov\tmov\tmov\tmov/' \
		cpu-models/expect/dispatch.tsv
)
commit "agreed on"
differs 0 "a change that expect/ has as well" base HEAD --no-boot
check "is listed, as agreed" is "$(grep -c '  (agreed)$' out)" 2
git -C repo revert --no-edit HEAD >/dev/null 2>&1

# --- a refactoring ---
git -C repo checkout -q -B main base
sed -i 's/ALL_STEPPINGS/EVERY_STEPPING/' repo/tests/dispatch/quirks.c
sed -i 's/static bool rule_holds/static bool does_hold/; s/rule_holds(/does_hold(/' repo/tests/dispatch/choose.c
differs 0 "a refactoring of the work tree" HEAD
check "no CPU changes path" has '^no CPU changes path, of [0-9]+ compared, ' out
check "a sample has booted" has '^16 CPUs booted \(0 that change, 0 neighbours, 16 others\): 0 contradict' out

# --- a path that no longer does what its name says ---
sed -f "$top/tests/e2e/mutants/paths-movnti-stores-with-mov.sed" "$top/tests/dispatch/paths.S" >repo/tests/dispatch/paths.S
differs 1 "picks as before, but another deed" HEAD
check "guests contradict" has '^    [^ ]+: memset@llc: says movnti, does mov' out
git -C repo checkout -q -f main

# --- family 0x17 where 0x18 was meant ---
row dhyana HygonGenuine 0x17 0x00
differs 1 "a family that the vendor does not have" HEAD --no-boot
check "who would get the row" has '^    HygonGenuine 23:0: clear_extent@llc movnti -> rep-stos[bq] \(row dhyana\)' out
sed -i 's/"HygonGenuine"/"AuthenticAMD"/; s/{ 0x00 }/{ 0x31 }/' repo/tests/dispatch/quirks.c
differs 1 "or another vendor's" HEAD --no-boot
check "those CPUs are named" has '^AuthenticAMD 23:49:0-15  ' out

# lint is the program's own table: built again with that table.
mkdir built
cp -a "$B/host" "$B/dispatch" "$B/flags" "$B/libharness.a" built
lint_of()
{
	make -s -C repo B="$work/built" ${CC:+CC="$CC"} "$work/built/quirklab" >made 2>&1 || return
	ln -sfn "$work/repo/cpu-models" built/cpu-models
	program=$work/built/quirklab
	exits 1 "$1" lint
	program=$B/quirklab
}
find repo -name '*.[chS]' -newer built/flags ! -path 'repo/tests/dispatch/quirks.c' -exec touch -d '2000-01-01' {} +
sed -i 's/"AuthenticAMD"/"HygonGenuine"/; s/{ 0x31 }/{ 0x00 }/' repo/tests/dispatch/quirks.c
lint_of "lint of that row"
line=$(grep -n '"dhyana"' repo/tests/dispatch/quirks.c | cut -d: -f1)
check "names who would get it, and the line" has "^tests/dispatch/quirks.c:$line: error: row dhyana: takes HygonGenuine 23:0x00, which no CPU of the catalogue is; is it a slip for .*, HygonGenuine 24:0x00\? \[row-unreached\]" out

# --- what is no revision ---
git -C repo checkout -q -f main
differs 2 "no such revision" nosuch
check "one line says so" lines 1 err
differs 2 "a file that is nothing of the kind" README.md HEAD
sed -i 's/^static const struct dispatch_quirk_row rows/broken &/' repo/tests/dispatch/quirks.c
differs 2 "a dispatcher that does not build" HEAD . --no-boot
check "the compiler's words" has "^quirklab: the work tree: its dispatcher does not build: tests/dispatch/quirks.c:[0-9:]+ error: " err
git -C repo checkout -q -f main
exits 2 "no repository here" diff HEAD
exits 2 "nothing to compare" diff

# --- results: of a run, and what came in between ---
exits 0 "a run" run --results r skylake-x broadwell-x amd/23:49 diamondrapids-x
differs 0 "a run and itself" "$work/r" "$work/r/results.jsonl"
differs 0 "a revision and a run" base "$work/r" --no-boot
jq -c 'if .cpu.name == "broadwell-x" then .picks[0].says = "evil|<script>" | .picks[0].row = "@all\u001b[31m\u202e"
	| .picks[0].verdict = "fail" | .verdict = "fail" | .cpu.vendor = "<b>&|`\u001b[1m" else . end' r/results.jsonl >'<img src=x>.jsonl'
cp '<img src=x>.jsonl' repo
jq -c 'if .cpu.name == "broadwell-x" then .cpu.vendor = "<b>&|`\u001b[1m" else . end' r/results.jsonl >repo/before.jsonl
differs 1 "hostile strings, text" ./before.jsonl './<img src=x>.jsonl'
check "they are inert there" lines 0 <(grep -P '[^\n\x20-\x7e]' out)
check "and shown" has 'evil\|<script>' out
differs 1 "hostile strings, Markdown" ./before.jsonl './<img src=x>.jsonl' --format markdown
check "no markup" lines 0 <(grep -P '<(?!/?br>)|[^\n\x20-\x7e]|@all' out)
differs 1 "hostile strings, JSON" ./before.jsonl './<img src=x>.jsonl' --format json
check "JSON it is" jq -e '.changes[0].after.path == "evil|<script>"' out

# --- accept ---
cp -r "$top/cpu-models" models
export QUIRKLAB_MODELS=$work/models
exits 0 "accept what is agreed on" accept r
check "says that nothing changed" has '^nothing changed$' out
check "nor did a byte" diff -r "$top/cpu-models" models
sed -i -E '/\tskylake-x\t/ s/rep-stosb\tmov\t/movnti\tmov\t/; /\tbroadwell-x\t/ d' models/expect/dispatch.tsv
exits 0 "accept a run" accept r/results.jsonl
check "the cell is named" has '^    skylake-x clear_extent@2llc: movnti -> rep-stosb$' out
check "one cell, and a row that was lost" has 'models/expect/dispatch.tsv: 15 cells changed$' out
check "the table is what it was" diff -r "$top/cpu-models" models
jq -c '.verdict = ({"skylake-x": "hung", "broadwell-x": "crashed", "diamondrapids-x": "mismatch"}[.cpu.name] // "error")
	| .picks[].says = "mov"' r/results.jsonl >dead.jsonl
exits 1 "accept of what did not live" accept dead.jsonl
check "all are named" has 'hung: skylake-x$' err
check "each verdict" is "$(grep -c '^quirklab: not accepted, ' err)" 4
check "and nothing is written" diff -r "$top/cpu-models" models
jq -c 'select(.cpu.name == "skylake-x") | .picks[0] |= (.does = "movnti" | .verdict = "fail")' r/results.jsonl >liar.jsonl
exits 1 "accept of a dispatcher that lies" accept liar.jsonl
check "it is named" has 'does not do what it says.*: skylake-x$' err
jq -c 'select(.cpu.name == "skylake-x") | .picks[0] |= (.says = "a\tb" | .does = "" | .verdict = "fail")' r/results.jsonl >odd.jsonl
exits 2 "accept of what is no path" accept odd.jsonl
mkfifo pipe
# shellcheck disable=SC2016 # for the inner shell
runs "a named pipe is waited for by nobody" timeout 30 sh -c '"$1" diff ./pipe; [ $? = 2 ]' - "$program"
exits 2 "accept of no records" accept /dev/null
check "it says so" has '/dev/null: no records: ' err
check "nothing is written then" diff -r "$top/cpu-models" models
unset QUIRKLAB_MODELS

# --- lint of our own table ---
exits 0 "lint" lint --mutate
check "no error, no warning" has '^[0-9]+ rows, [0-9]+ CPUs: 0 errors, 0 warnings, [0-9]+ notes$' out
check "every mutation is noticed" has '^[0-9]+ mutations: [0-9]+ noticed, [0-9]+ equivalent, 0 unnoticed$' out
exits 0 "lint as SARIF" lint --format sarif
# What SARIF 2.1.0 requires of a log, a run, a tool, a result; code scanning wants place and rule too.
# shellcheck disable=SC2016 # variables of jq
check "it is well-formed" jq -e '.version == "2.1.0" and (.runs | length) == 1 and (.runs[0] |
	(.tool.driver.name | type) == "string" and (.tool.driver.rules | all(.id and .shortDescription.text)) and
	(.tool.driver.rules as $rules | .results | length > 0 and all((.message.text | type) == "string"
		and $rules[.ruleIndex].id == .ruleId and (.level | IN("error", "warning", "note"))
		and (.locations[0].physicalLocation | .artifactLocation.uri == "tests/dispatch/quirks.c"
			and (.region.startLine | type) == "number"))))' out
place=$(jq '.runs[0].results[0].locations[0].physicalLocation.region.startLine' out)
check "the line is that of the row" has '\.name = "skylake-l"' <(sed -n "${place}p" "$top/tests/dispatch/quirks.c")
exits 0 "lint as JUnit" lint --format junit
check "a case a rule, none fails" has '<testsuite name="quirklab lint" tests="15" failures="0" errors="0">' out
finish
