# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the end-to-end scripts share. A script sources this, makes claims, and ends with `finish`.
# It speaks TAP. Everything it writes is below $work, which is its current folder and goes with it.
set -eu
: "${B:?run me by: make check, or B=build/folder tests/check tests/e2e/NAME.sh}"
B=$(cd "$B" && pwd)
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$B/quirklab
work=$(mktemp -d)
# State folders of this script's runs only, so that it can tell its own leaks from a neighbour's.
export XDG_RUNTIME_DIR=$work/run XDG_CACHE_HOME=$work/cache TMPDIR=$work/tmp
mkdir -m 700 "$work/run" "$work/cache" "$work/tmp"
cd "$work"
tests=0 failures=0

quirklab()
{
	"$program" "$@"
}

# Whatever happens, nothing of this script stays behind.
end_of_script()
{
	local pid

	for pid in $(own_qemus); do
		kill -9 "$pid" 2>/dev/null || :
	done
	cd /
	rm -rf "$work"
}
trap end_of_script EXIT

# ok WHAT; not_ok WHAT [FILE...]: one claim; the files say why it does not hold.
ok()
{
	tests=$((tests + 1))
	echo "ok $tests - $1"
}

not_ok()
{
	local file

	tests=$((tests + 1)) failures=$((failures + 1))
	echo "not ok $tests - $1"
	shift
	for file; do
		[ ! -s "$file" ] || tail -n 15 "$file" | sed 's/^/#   /'
	done
}

skip()
{
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

# check WHAT COMMAND...: the command succeeds.
check()
{
	local what=$1

	shift
	if "$@" >"$work/why" 2>&1; then
		ok "$what"
	else
		echo "failed: $*" >>"$work/why"
		not_ok "$what" "$work/why"
	fi
}

# exits STATUS WHAT ARGUMENT...: quirklab with these arguments ends with this status. What it printed
# is in ./out and ./err afterwards.
exits()
{
	local wanted=$1 what=$2 status=0

	shift 2
	quirklab "$@" >out 2>err </dev/null || status=$?
	if [ "$status" = "$wanted" ]; then
		ok "$what"
	else
		echo "quirklab $*: status $status, not $wanted" >>err
		not_ok "$what" out err
	fi
}

# runs WHAT COMMAND...: like check, for a command whose output goes to ./out and ./err, as with exits.
runs()
{
	local what=$1 status=0

	shift
	"$@" >out 2>err </dev/null || status=$?
	ended $status "$what" out err
}

# ended STATUS WHAT [FILE...]: claims that the status of what has ended is 0.
ended()
{
	local status=$1 what=$2

	shift 2
	if [ "$status" = 0 ]; then
		ok "$what"
	else
		not_ok "$what (status $status)" "$@"
	fi
}

# requires COMMAND... || skip_all "why"
requires()
{
	"$@" >/dev/null 2>&1
}

skip_all()
{
	echo "ok 1 - $(basename "$0" .sh) # SKIP $1"
	echo "1..1"
	exit 0
}

# The QEMUs that this script's runs started: their arguments name a file below $work.
own_qemus()
{
	pgrep -f "qemu-system.*$work/" || :
}

no_qemu()
{
	[ -z "$(own_qemus)" ]
}

# A run's state is a folder of its own in XDG_RUNTIME_DIR/quirklab, beside a lock that stays. After it
# only the lock may be left, and nothing in TMPDIR. An ordinary user's libvirt makes a token there.
no_state()
{
	! find "$work/run" "$work/tmp" -mindepth 1 ! -path "$work/run/quirklab" ! -path "$work/run/quirklab/lock" \
		! -path "$work/run/libvirt*" |
		sed 's/^/left behind: /' | grep .
}

# within SECONDS COMMAND...: it holds before the time is over.
within()
{
	local i=$(($1 * 10))

	shift
	until "$@"; do
		i=$((i - 1))
		[ $i -gt 0 ] || return 1
		sleep 0.1
	done
}

# lines N FILE: the file has N lines.
lines()
{
	[ "$(wc -l <"$2")" = "$1" ]
}

# has PATTERN FILE: a line of the file matches the extended regular expression.
has()
{
	grep -qE -- "$1" "$2"
}

# count FILTER FILE: how many records of a results file jq selects.
count()
{
	jq -c "select($1)" "$2" | wc -l
}

# The closing line of a run, whatever its numbers.
summary='^(# )?[0-9]+ cells: [0-9]+ pass, .*[0-9]+ fail.*, [0-9.]+ s$'

has_summary()
{
	tail -n 1 "$1" | grep -qE "$summary"
}

# Every planned cell has exactly one record, and no record is of another cell.
complete()
{
	jq -r .cell "$1/plan.jsonl" | sort >"$work/planned"
	jq -r .cell "$1/results.jsonl" | sort >"$work/recorded"
	[ -s "$work/planned" ] && diff "$work/planned" "$work/recorded"
}

# The records are as the contract says, where its checker is at hand beside the checkout.
well_formed()
{
	local checker=$top/../shared/tools/check-record

	if [ -r "$checker" ] && command -v python3 >/dev/null; then
		python3 "$checker" "$1"
	else
		jq -e 'select((.schema == 1 and (.cell | type) == "string" and (.picks | type) == "array") | not)' \
			"$1" >"$work/odd"
		[ ! -s "$work/odd" ]
	fi
}

# hostile_results RESULTS: a results folder, $hostile, with two cells of RESULTS whose every string is what
# an attacker would try: markup, escape sequences, marks that turn text around, quotes, NULs. So is its name.
hostile_results()
{
	local evil cell

	evil=$'<script>alert(1)</script>\e[2J\e]0;x\a\u202egpj.\u2066\u0085"\'`|&--><!--</style>]]>\\'
	hostile=$work/h$evil
	mkdir -p "$hostile/cells"
	jq -c --arg evil "$evil" --arg long "$(head -c 300 /dev/zero | tr '\0' x)" '
		select(.cpu.name | IN("skylake-x", "broadwell-x")) |
		.cpu.vendor = "\u202e<b>" | .cpu.uarch = $evil[:40] | .reason = $evil + $long | .verdict = "fail" |
		.picks[0].says = $evil[:12] | .picks[1].does = $evil + $evil | .picks[2].row = $evil[:50] |
		.picks[3].verdict = "fail" | .cpuid.missing = [$evil] | .versions.kernel = $evil[:40] |
		.cpu.name = "</script><img src=x onerror=alert(2)>\u202e" + .cpu.name[:9] | .cell = .cpu.name + "/bare/dispatch"' \
		"$1/results.jsonl" >"$hostile/results.jsonl"
	printf '%s\0%s\n' "$evil" "$evil" >console
	jq -r .cell "$hostile/results.jsonl" | while IFS= read -r cell; do
		# The folder of a cell has the name that records give it: printable.
		cell=$(printf %s "$cell" | LC_ALL=C perl -pe 's/([^ -~])/sprintf("\\x%02x", ord $1)/ge')
		mkdir -p "$hostile/cells/$cell"
		cp console "$hostile/cells/$cell/console.log"
	done
}

# system_tree FOLDER: a system for x86-64, as inspection of a disk image sees one, without a kernel.
system_tree()
{
	mkdir -p "$1"/{etc,usr/bin,usr/lib,boot,var,root}
	ln -s usr/bin "$1/bin"
	printf 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="a test"\n' >"$1/etc/os-release"
	echo 12.0 >"$1/etc/debian_version"
	: >"$1/etc/fstab"
	cp "$B/images/agent" "$1/usr/bin/sh"
}

# page_part TAG FILE: what stands between <TAG> and its end in an HTML page; page_hash: its hash, as a
# Content-Security-Policy has it.
page_part()
{
	perl -0777 -ne "print \$1 if m{<$1>(.*?)</${1%% *}>}s" "$2"
}

page_hash()
{
	echo "sha256-$(env printf "$(page_part "$1" "$2" | sha256sum | cut -c 1-64 | sed 's/../\\x&/g')" | base64)"
}

finish()
{
	check "no QEMU is left" within 2 no_qemu
	check "no state is left" no_state
	echo "1..$tests"
	[ $failures = 0 ]
}
