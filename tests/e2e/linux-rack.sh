#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many CPUs in one Linux boot: who shares a guest, that each program sees its own CPU and executes
# as that does, and that one which hangs or is killed harms no other.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

requires ls /boot/vmlinuz-* || requires ls /usr/lib/modules/*/vmlinuz || skip_all "no kernel to boot"

# tzcnt of zero is 32 with BMI1; without it the same bytes are bsf, which leaves the register.
cat >socket.c <<'END'
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned a, b, c, d, bmi1 = 0, model, zeros = 77;

	__cpuid(0, a, b, c, d);
	if (a >= 7) {
		__cpuid_count(7, 0, a, b, c, d);
		bmi1 = b >> 3 & 1;
	}
	__cpuid(1, a, b, c, d);
	model = (a >> 4 & 15) | (a >> 12 & 0xf0);
	if (argc > 1 && model == strtoul(argv[1], NULL, 0))
		for (;;)
			pause();
	if (argc > 2 && model == strtoul(argv[2], NULL, 0))
		kill(getpid(), SIGKILL);
	__asm__ volatile("tzcnt %1, %0" : "+r"(zeros) : "r"(0) : "cc");
	printf("1..1\n%s 1 - tzcnt: %u with bmi1 %u\n", zeros == (bmi1 ? 32 : 77) ? "ok" : "not ok",
	       zeros, bmi1);
	return 0;
}
END
check "a program" "${CC:-cc}" -static -o socket socket.c

# Sandy and Ivy Bridge have no BMI1, Haswell and Broadwell have; so both orders are there.
cpus='intel/6:58 intel/6:63 intel/6:42 intel/6:79 intel/6:79,+smep intel/6:15
	amd/23:49 amd/23:113 amd/23:17 hygon/24:1'
# shellcheck disable=SC2086 # a list of words
exits 1 "ten CPUs, one hangs, one is killed" run --subject ./socket --silence 3 --results r $cpus -- 42 113
jq -r '"\(.cpu.vendor) \(.cpu.model) \(.pack) \(.verdict)"' r/results.jsonl | LC_ALL=C sort >got
cat >expected <<'END'
AuthenticAMD 113 3 fail
AuthenticAMD 17 3 pass
AuthenticAMD 49 3 pass
GenuineIntel 15 1 pass
GenuineIntel 42 1 hung
GenuineIntel 58 4 pass
GenuineIntel 63 4 pass
GenuineIntel 79 1 pass
GenuineIntel 79 4 pass
HygonGenuine 1 1 pass
END
check "who shares a guest, and what became of each" diff expected got
check "no CPU's identity differs from what was asked" lines 0 \
	<(jq -c 'select(.cpuid.identity != [])' r/results.jsonl)
finish
