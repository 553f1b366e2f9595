#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One CPU of a report in a guest: its picks, what is not as asked, the guest for people, what flips a pick.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

dumps=$top/tests/unit/dumps

# --- a CPU, and what is told of it
exits 0 "a CPU of the catalogue" repro skylake-x
check "each pick with its row and reason" has '^clear_extent@llc .*skylake-x +NT_BAD row' out
check "it is judged by the golden tables" has 'expected +by the golden tables' out
check "it ends as a run does" has '^1 cell: 1 pass, 0 fail, [0-9.]+ s$' out
exits 0 "a CPU with an edit" repro skylake-x,-erms
check "is judged by replay" has 'expected +by replay of the edited CPU' out
check "and passes" has '^1 cell: 1 pass' out
exits 2 "a word that means several CPUs" repro 6:15 --strict
check "they are named" has 'means [0-9]+ CPUs: name one' err
exits 2 "no CPU" repro skylake-y
exits 2 "two CPUs" repro skylake-x broadwell-x
for file in "$dumps"/cpuid-r.txt "$dumps"/proc-cpuinfo.txt "$dumps"/libvirt-cpudata.xml; do
	exits 0 "$(basename "$file")" repro "$file"
	check "nobody's CPU is judged by replay of the dump" has 'by replay of the dump .*no such CPU' out
	check "what is not presented is told" has '^not presented as asked' out
done
exits 0 "the guest's own CPUID" -v repro skylake-x
sed -n '/^CPU 0:/,$p' out >seen.txt
check "-v shows the guest's CPUID" has '^   0x00000001 0x00: eax=0x0005065' seen.txt
exits 0 "which is a dump again" repro ./seen.txt
check "of the same CPU" has 'expected +by the golden row skylake-x' out

# --- the same guest without quirklab: leaf by leaf what repro's guest saw
leaves()
{
	tr -d '\r' <"$1" | grep '^   0x'
}

same_leaves()
{
	leaves "$1" >"$work/a"
	leaves "$2" >"$work/b"
	[ -s "$work/a" ] && diff "$work/a" "$work/b"
}

ended_in()
{
	grep -q '^memcpy_flushcache_single@4k ' "$1" 2>/dev/null
}

by_libvirt()
{
	virsh -c "qemu:///embed?root=$work/v" create "$1" && within 60 ended_in "$2"
}

# The domain XML that repro printed last.
started_by_libvirt()
{
	local log pid

	cp out domain.xml
	log=$(sed -n 's/.*<log file="\([^"]*\)".*/\1/p' domain.xml)
	if requires virsh --version; then
		check "virsh creates it as printed" by_libvirt domain.xml "$log"
		check "the same CPUID" same_leaves ours "$log"
	else
		skip "virsh creates it" "no virsh here"
	fi
	rm -f "$log"
	# libvirt's QEMU waits for libvirt when the guest has ended.
	for pid in $(own_qemus); do
		kill -9 "$pid"
	done
}

mkdir -p v/etc
cat >v/etc/qemu.conf <<-'END'
	stdio_handler = "file"
	security_driver = "none"
	dynamic_ownership = 0
	namespaces = []
	cgroup_controllers = []
END
[ "$(id -u)" != 0 ] || printf 'user = "root"\ngroup = "root"\n' >>v/etc/qemu.conf

for cpu in "$dumps/cpuid-r.txt" amd/25:1 model:Haswell; do
	name=$(basename "$cpu")
	exits 0 "$name in our guest" -v repro "$cpu"
	cp out ours
	exits 0 "$name as a command of QEMU" repro "$cpu" --print-qemu
	cp out command
	check "which runs as printed" sh -c 'timeout 60 sh ./command </dev/null >said 2>warnings'
	check "the same CPUID" same_leaves ours said
	check "and says what it picks" ended_in said
	exits 0 "$name as domain XML" repro "$cpu" --print-xml
	started_by_libvirt
done

# --- a guest that stays
exits 0 "--keep" repro skylake-x --keep
cp out kept
look=$(sed -n 's/^look at it *//p' kept)
end=$(sed -n 's/^end it *//p' kept)
check "its QEMU is there" test -n "$(own_qemus)"
exits 0 "another run" repro broadwell-x
check "does not sweep it" test -n "$(own_qemus)"
if requires virsh --version; then
	check "virsh finds it" sh -c "$look"
	# libvirt 9.0 may say "Domain not found" and has ended it.
	sh -c "$end" >/dev/null 2>&1 || :
else
	kill -9 "$(own_qemus)"
fi
check "virsh ends it" within 5 no_qemu
exits 0 "the next run" repro broadwell-x
check "removes its state" no_state

# --- gdb
"$program" repro skylake-x --gdb >gdb.out 2>gdb.err </dev/null &
pid=$!
check "--gdb prints the line" within 30 has 'target remote' gdb.out
socket=$(sed -n "s/.*'target remote \([^']*\)'.*/\1/p" gdb.out)
check "the stub is there" test -S "$socket"
if requires gdb --version; then
	timeout 60 gdb -batch -nx -ex "target remote $socket" -ex 'hbreak guest_main' -ex continue \
		-ex delete -ex continue "$B/images/bare.elf" >gdb.log 2>&1 || :
	check "gdb stops in the guest" has 'Breakpoint 1, .*guest_main' gdb.log
	status=0
	wait $pid || status=$?
	ended $status "it ends with the guest" gdb.err gdb.log
	check "the console was shown" ended_in gdb.out
else
	kill -INT $pid
	status=0
	wait $pid || status=$?
	check "an interrupt ends it" test $status = 130
fi

# --- why two CPUs differ
exits 0 "one bit decides" repro skylake-x --against amd/25:1 --op clear_extent@llc
check "it is named" has 'because clzero off -> on' out
check "a guest confirms it" has 'booted: says clzero, does clzero.*: confirmed' out
exits 0 "two decide together" repro skylake-x --against amd/25:1 --op memset@4k --no-boot
check "both are named" has "because vendor 'GenuineIntel' -> 'AuthenticAMD', fsrm off -> on" out
exits 0 "each of several alone" repro skylake-x --against intel/6:79 --op memset@llc --no-boot
check "all are named" has '(because|or) +model 85 -> 79' out
exits 0 "nothing to explain" repro skylake-x --against broadwell-x --op clear_page
check "says so" has '^  both: rep-stosb' out
exits 2 "no such operation" repro skylake-x --against broadwell-x --op clear_pag
check "those that there are" has 'clear_extent@4k' err
exits 2 "--against alone" repro skylake-x --against broadwell-x

# --- Linux: the same picks, and a shell
if requires ls /boot/vmlinuz-* || requires ls /usr/lib/modules/*/vmlinuz; then
	exits 0 "under Linux" repro --image linux amd/25:1
	check "its kernel is named" has 'guest +linux under .*, Linux [0-9]' out
	exits 0 "its CPUID" -v repro --image linux amd/25:1
	cp out ours
	exits 0 "as a command of QEMU" repro --image linux amd/25:1 --print-qemu
	cp out command
	check "which runs as printed" sh -c 'timeout 120 sh ./command </dev/null >said 2>warnings'
	check "the same CPUID" same_leaves ours said
	check "and says what it picks" ended_in said
	exits 0 "as domain XML" repro --image linux amd/25:1 --print-xml
	started_by_libvirt
	exits 2 "a shell needs Linux" repro amd/25:1 --shell --image bare
else
	skip "under Linux" "no kernel to boot"
fi
if [ -x /bin/busybox ] && requires script --version && requires ls /boot/vmlinuz-*; then
	# shellcheck disable=SC2016 # the guest's shell expands it
	printf 'echo family $(grep -c "cpu family.*25" /proc/cpuinfo)\nexit\n' |
		timeout 120 "$program" repro amd/25:1 --shell >out 2>err || :
	check "a shell from a pipe" has '^family 1' out
	# On a terminal: stty says whether it was put back.
	cat >session <<-END
		stty -g >before
		sh -c 'echo \$\$ >pid; exec "$program" repro amd/25:1 --shell'
		echo \$? >status
		stty -g >after
	END
	(sleep 1; within 60 has 'Ctrl-. leaves' typescript && printf '\035'; sleep 2) |
		timeout 120 script -qfec 'sh ./session' typescript >/dev/null 2>&1 || :
	check "Ctrl-] leaves" has '^0$' status
	check "the terminal is as before" cmp before after
	for signal in TERM SEGV; do
		rm -f before after status typescript
		(sleep 1; within 60 has 'Ctrl-. leaves' typescript
			kill -s "$signal" "$(cat pid)"; sleep 2) |
			timeout 120 script -qfec 'sh ./session' typescript >/dev/null 2>&1 || :
		check "SIG$signal ends it" has '^1[2-9][0-9]$' status
		check "the terminal is as before" cmp before after
		check "no QEMU is left" within 5 no_qemu
	done
	rm -rf "$work"/tmp/*
else
	skip "a shell" "no busybox-static, script(1) or kernel"
fi

# --- 40 dumps of the corpus, of every format, vendor and family that it has: seen is asked in every bit that
# a pick depends on, or it is a mismatch that names it
corpus=${QUIRKLAB_CORPUS:-$top/../shared/corpus}
if [ -r "$corpus/index.tsv" ]; then
	tail -n +2 "$corpus/index.tsv" | awk -F'\t' '{ key = $2 FS $3 FS $4; n[key]++; print n[key] FS $1 }' |
		sort -t"$(printf '\t')" -k1,1n -k2,2 | cut -f2 >order
	good=0 mismatches=0 refused=0 bad=0
	while read -r file && [ $good -lt 40 ]; do
		status=0
		quirklab repro "$corpus/$file" >out 2>err </dev/null || status=$?
		if [ $status = 2 ] && grep -q '64-bit programs\|no identity' err; then
			refused=$((refused + 1))
		elif [ $status = 0 ] && grep -q 'every bit and field that a pick depends on is seen as asked' out; then
			good=$((good + 1))
		elif [ $status = 0 ] && grep -q '/bare/dispatch: mismatch: ' out; then
			good=$((good + 1)) mismatches=$((mismatches + 1))
		else
			bad=$((bad + 1))
			{ echo "$file: status $status"; tail -n 3 out; cat err; } >>why-not
		fi
	done <order
	: >>why-not
	if [ $good -ge 40 ] && [ $bad = 0 ]; then
		ok "$good dumps, $mismatches of them a mismatch that says in what; $refused are no 64-bit CPUs"
	else
		not_ok "$good dumps, $bad bad" why-not
	fi
else
	skip "40 dumps" "no corpus at $corpus (QUIRKLAB_CORPUS)"
fi
finish
