#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# CPUs from files: identified, converted, compared, replayed by the thousand; refused in one line.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

dumps=$top/tests/unit/dumps
mapfile -d '' -t examples < <(find "$dumps" -type f ! -name README.md -print0)

# --- read and converted
for file in "${examples[@]}"; do
	exits 0 "$(basename "$file") is read" cpuid "$file"
	check "it says who it is" grep -q "ExampleChips 6:90:3" out
done
exits 0 "from standard input" cpuid "$dumps/cpuid-r.txt" --to tsv
cp out table
# shellcheck disable=SC2002 # a pipe is what is tested
check "a pipe is a file too" sh -c "cat '$dumps/cpuid-r.txt' | '$program' cpuid - --to tsv | cmp - table"
exits 0 "this machine" cpuid host --to json
check "it is JSON of this machine" jq -e '.vendor and .family and (.leaves | length > 2)' out
exits 0 "a CPU of the catalogue" cpuid skylake-x
check "with its bits" grep -q 'clwb  *on' out
exits 0 "several CPUs are an array" cpuid amd/25:1 --to json
check "that many" jq -e 'if type == "array" then length > 1 else .vendor end' out

# --- what is written is read back, here and by others
for format in cpuid-r json tsv libvirt; do
	exits 0 "to $format" cpuid "$dumps/aida64-new.txt" --to $format
	cp out "again.$format"
	exits 0 "$format comes back the same" cpuid-diff "$dumps/aida64-new.txt" "./again.$format"
done
check "libvirt's is well-formed" xmllint --noout again.libvirt
if requires cpuid -v; then
	check "cpuid -f reads it" sh -c 'cpuid -1 -r -f again.cpuid-r | grep "^   0x" >theirs'
	check "and finds the same leaves" sh -c 'grep "^   0x" again.cpuid-r | cmp - theirs'
else
	skip "cpuid -f reads it" "no cpuid(1) here"
fi
exits 0 "to qemu" cpuid skylake-x --to qemu
check "a line for -cpu" grep -q '^-cpu base,vendor=GenuineIntel,family=6,model=85,' out

exits 0 "a dump to qemu" cpuid "$dumps/aida64-new.txt" --to qemu
check "its brand in quotes" grep -q "'base-x86_64-cpu.model-id=Example CPU 1000'" out
if requires qemu-system-x86_64 --version; then
	# QEMU that has understood all of it waits for a first command, and quits when told.
	# shellcheck disable=SC2016 # expanded by the inner shell
	check "QEMU takes it" sh -c 'echo quit | eval "qemu-system-x86_64 -S -display none -monitor stdio -M pc -accel tcg \
		$(cat out)" >/dev/null'
else
	skip "QEMU takes it" "no qemu-system-x86_64"
fi

# --- compared
exits 0 "a CPU and itself" cpuid-diff skylake-x skylake-x
exits 1 "one bit" cpuid-diff skylake-x skylake-x,-erms
check "by its name" grep -q 'bit  9  erms  *1  0' out
# shellcheck disable=SC2016 # sed's $, the last line
sed 's/ clflushopt//; $aVirtualization: VT-x' "$dumps/lscpu.txt" >lscpu.txt # a list with its end
exits 1 "two formats, two CPUs" cpuid-diff "$dumps/proc-cpuinfo.txt" ./lscpu.txt
check "the bit in which they differ" grep -q 'clflushopt' out
exits 2 "one CPU alone" cpuid-diff skylake-x

# --- cut short and dirty: read, with warnings
head -c 700 "$dumps/cpuid-r.txt" >cut.txt
exits 0 "cut in the middle of a register" cpuid ./cut.txt
check "says where" grep -q 'warning .*cut off' out
sed 's/^/> /; s/$/\r/' "$dumps/proc-cpuinfo.txt" >quoted.txt
exits 0 "quoted" cpuid ./quoted.txt --to json
check "nothing is lost" jq -e '.bits.erms and .bits.fsrm and (.warnings == ["not said, so unknown: fzrm fsrs"])' out

# --- refused: one line, status 2, nothing on stdout
refused()
{
	exits 2 "$1" cpuid "$2"
	check "in one line" lines 1 err
	check "and no other word" lines 0 out
}
: >empty.txt
head -c 4096 /bin/ls >binary
truncate -s 257M large.txt
printf 'processor : 0\nCPU implementer : 0x41\nFeatures : fp asimd\n' >arm.txt
echo 'it does not boot' >prose.txt
mkdir folder
refused "empty" ./empty.txt
refused "binary" ./binary
refused "larger than 256 MB" ./large.txt
refused "a folder" ./folder
refused "no such file" ./nothing
refused "not x86" ./arm.txt
refused "no CPU in it" ./prose.txt
if [ "$(id -u)" != 0 ]; then
	install -m 0 /dev/null unreadable.txt
	refused "unreadable" ./unreadable.txt
else
	skip "unreadable" "root reads everything"
fi

# --- many: one line each, sorted, with the rate that was promised
mkdir many
for i in $(seq 1 250); do
	for file in "${examples[@]}"; do
		ln -s "$file" "many/$i-$(basename "$file")"
	done
done
count=$(find many -type l | wc -l)
TIMEFORMAT='%U %S'
seconds=$( { time quirklab replay many/* >out 2>err; } 2>&1 | awk '{ print $1 + $2 }')
check "$count dumps are replayed" test ! -s err
check "a line each, and the summary" lines $((count + 1)) out
head -n -1 out | cut -c 6-27 >order
check "sorted" sort -c order
# By the time of one core: other things may run on this machine.
rate=$(awk "BEGIN { print int($count / $seconds) }")
echo "# $rate dumps a second"
check "over 5000 dumps a second" test "$rate" -gt 5000
exits 2 "a bad file among good ones" replay "$dumps/cpuid-r.txt" ./prose.txt
check "the good one is replayed" grep -q 'ExampleChips 6:90:3' out
check "the bad one is one line" lines 1 err

# --- 100 MB of CPUs: memory is bounded by the file
sed -e 's/\r$//' "$dumps/aida64-new.txt" >one
for _ in $(seq 1 5); do cat one one one one >two && mv two one; done
for _ in $(seq 1 128); do cat one; done >big.txt
exits 0 "$(($(stat -c %s big.txt) / 1000000)) MB in one file" cpuid ./big.txt
peak=$( (ulimit -v $((3 * $(stat -c %s big.txt) / 1024 + 300000)); "$program" cpuid ./big.txt >/dev/null) && echo good)
check "in less than three times its size" test "$peak" = good

# --- the corpus, where it is at hand
corpus=${QUIRKLAB_CORPUS:-$top/../shared/corpus}
if [ -r "$corpus/index.tsv" ]; then
	find "$corpus" -type f ! -name index.tsv -print0 | xargs -0 "$program" replay >out 2>err || :
	good=$(grep -c ' row=' out)
	bad=$(wc -l <err)
	check "corpus: $good dumps replayed, $bad without an identity" test "$bad" -le 2
	mapfile -d '' -t files < <(find "$corpus" -type f ! -name index.tsv ! -name '*.bz2' -print0)
	files=("${files[@]}" "${files[@]}" "${files[@]}" "${files[@]}")
	seconds=$( { time quirklab replay "${files[@]}" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }')
	rate=$(awk "BEGIN { print int(${#files[@]} / $seconds) }")
	echo "# $rate dumps of the corpus a second, archives left out"
	check "over 5000 of the corpus a second" test "$rate" -gt 5000
	check "every file is in one of both" test $((good + bad)) = "$(find "$corpus" -type f ! -name index.tsv | wc -l)"
else
	skip "corpus" "none at $corpus (QUIRKLAB_CORPUS)"
fi
finish
