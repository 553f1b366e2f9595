#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Copies into emulated persistent memory: durable on CPUs of each kind of flush; a flush less is a fail.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# What begins as a boot image does, of a release that nothing here has modules of.
boot_image()
{
	head -c 514 /dev/zero
	printf 'HdrS'
	head -c 8 /dev/zero
	printf '\100\002' # the version lies 0x240 behind the first sector
	head -c 560 /dev/zero
	printf '0.0.1-none (nobody) #1'
	head -c 64 /dev/zero
}
boot_image >none
exits 2 "a kernel without the modules" run --subject pmem --kernel none skylake
check "it is said" has '^quirklab: --subject pmem: the kernel 0\.0\.1-none has no kernel/drivers/nvdimm/libnvdimm\.ko, neither in /lib/modules/0\.0\.1-none nor built in$' err
exits 2 "a bare image" run --subject pmem --image bare skylake
exits 2 "an argument" run --subject pmem skylake -- once
check "it is said" has '^quirklab: --subject pmem: takes no arguments' err
exits 2 "memory for another subject" run --pmem nvdimm skylake
check "it is said" has '^quirklab: --pmem: it needs --subject pmem$' err
exits 2 "a memory that is none" run --subject pmem --pmem dram skylake
exits 2 "an NVDIMM elsewhere" -c test:///default run --subject pmem --pmem nvdimm skylake
check "no results of these" [ ! -e results ]

rest="emulated persistent memory"
if ! requires ls /boot/vmlinuz-* && ! requires ls /usr/lib/modules/*/vmlinuz; then
	skip "$rest" "no kernel to boot"
	finish
	exit
fi

# clwb, clflushopt, and neither.
status=0
quirklab run --subject pmem --results r skylake-x skylake broadwell-x >out 2>err </dev/null || status=$?
if [ $status = 2 ] && has 'has no kernel/drivers/(nvdimm|dax)/.*, neither in ' err; then
	skip "$rest" "$(sed 's/^quirklab: //' err)"
	finish
	exit
fi
ended $status "three CPUs" out err
check "every planned cell has one record" complete r
check "the records are well formed" well_formed r/results.jsonl
check "all pass" [ "$(count '.verdict == "pass"' r/results.jsonl)" = 3 ]
check "on a DAX device of the kernel's own region" \
	[ "$(jq -r '.program.values.memory' r/results.jsonl | sort -u)" = dax0.0:e820 ]
check "all tests of the bytes were run" \
	[ "$(jq -r '.program.tests.passed' r/results.jsonl | sort -u)" = 10 ]

# does CPU PICK WANTED
does()
{
	local got

	got=$(jq -r --arg cpu "$1" --arg pick "$2" \
		'select(.cpu.name == $cpu) | .picks[] | select(.op + "@" + .class == $pick) | .does' r/results.jsonl)
	[ "$got" = "$3" ] || { echo "$1: $2: '$got', not '$3'"; return 1; }
}
check "whole words need no flush" does skylake-x memcpy_flushcache@64 "movnti; sfence: durable"
check "a head alone, with clwb" does skylake-x memcpy_flushcache@5+3 "mov; clwb; sfence: durable"
check "head and tail with clwb" does skylake-x memcpy_flushcache@61+200 "mov/movnti; clwb; sfence: durable"
check "with clflushopt" does skylake memcpy_flushcache@61+200 "mov/movnti; clflushopt; sfence: durable"
check "with clflush" does broadwell-x memcpy_flushcache@61+200 "mov/movnti; clflush; sfence: durable"
check "one writer copies and flushes" does skylake memcpy_flushcache_single@768 "mov; clflushopt; sfence: durable"
check "but not without clflushopt" does broadwell-x memcpy_flushcache_single@768 "movnti; sfence: durable"

# A flush of every second line is missing.
mkdir tree built
cp -r "$top/Makefile" "$top/harness" "$top/images" "$top/tests" tree
sed -f "$top/tests/e2e/mutants/paths-flush-every-second-line.sed" "$top/tests/dispatch/paths.S" >tree/tests/dispatch/paths.S
runs "a program without these flushes" env -u MAKEFLAGS -u MAKELEVEL make -C tree --no-print-directory \
	B="$work/built" ${CC:+CC="$CC"} "$work/built/images/subjects/pmem"
ln -s "$B/images/agent" built/images/agent
export QUIRKLAB_IMAGES=$work/built/images
exits 1 "it fails, on an NVDIMM" run --subject pmem --pmem nvdimm --results m skylake-x
unset QUIRKLAB_IMAGES
check "at the first line that nothing flushes" has \
	'^memcpy_flushcache_single@768: not durable: offset 64: stored by mov at 0x[0-9a-f]+, and nothing flushes its line; 384 of 768 bytes; and 2 more$' \
	<(jq -r .reason m/results.jsonl)
check "it was one" [ "$(jq -r .program.values.memory m/results.jsonl)" = dax0.0:ACPI.NFIT ]
check "though all bytes are there" [ "$(jq '.program.tests | .passed * 100 + .failed' m/results.jsonl)" = 1000 ]
finish
