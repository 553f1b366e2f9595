#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A wrong argument: exit status 2, one line on stderr, nothing written, nothing booted.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

refused()
{
	local status=0

	quirklab "$@" >out 2>err </dev/null || status=$?
	if [ $status = 2 ] && lines 1 err && lines 0 out && [ ! -e results ] && [ ! -e r ] &&
	   grep -q '^quirklab: ' err; then
		ok "refused: $*"
	else
		echo "status $status$([ ! -e results ] && [ ! -e r ] || echo ', and a folder of results')" >>err
		not_ok "refused: $*" out err
		rm -rf results r
	fi
}

refused
refused rnu
refused --colour run
refused -c
refused -c '' run
refused run --imgae bare
refused run --image bear
refused run --image ''
refused run --subject dispatsch
for option in --jobs --pack --timeout-scale --shard; do
	refused run $option
	refused run $option=
	refused run $option=many
	refused run $option=-1
	refused run $option=0
	refused run $option=1x
done
refused run --pack 201
refused run --pack 99999999999999999999
refused run --timeout-scale nan
refused run --timeout-scale inf
for word in x --op=foo --op= --size=5000 --size=1 --size=4K4 --size=-4K --runs=4 --runs=65 --threads=0 --threads=100000 \
	--pages=4k --seconds=0 --pmem="$work/none" --html="$work/none/x" --html="$work"; do
	refused bench "$word"
done
refused scale
refused scale malloc2_threads
refused scale malloc1
refused scale malloc1_threads -t 0
refused scale malloc1_threads --base x
refused scale malloc1_threads --base x --head y
refused scale malloc1_threads --cpu broadwell-x
refused scale malloc1_threads --base x --head y --cpu broadwell-y
refused scale malloc1_threads --base /none --head y --cpu broadwell-x
refused scale malloc1_threads --base "$top/README.md" --head y --cpu broadwell-x
refused scale malloc1_threads --base x --head y --cpu broadwell-x --repeats 3
truncate -s 1G ordinary
refused bench --pmem ordinary
for shard in 3/2 0/2 1/0 /2 1/ 1 1/2/3 -1/2 a/b; do
	refused run --shard $shard
done
refused run --accel xvm
refused run --kernel /no/such/kernel --image linux
echo "no kernel" >text
refused run --results r --kernel text skylake-x
refused run --results r --kernel text --image linux skylake-x
refused run --results r skylake-x,-lm
refused run --results r --image linux skylake-x,-msr
cp -r "$top/cpu-models" tables
sed '5s/rep-stosb/rep-stosw/' "$top/cpu-models/expect/linux-6.12.tsv" >tables/expect/linux-6.12.tsv
QUIRKLAB_MODELS=$PWD/tables refused run --results r --subject linux skylake-x
rm -r tables
refused run --output tpa
refused run --output tap:
refused run --output tap:/no/such/folder/file
refused run --results ''
refused run --results r skylake-y
refused run --results r /no/such/dump
refused run --results r 6:
refused run --results r :5
refused run --results r intel/6:999
refused run --results r intel/999:1
refused run --results r skylake-x,+nosuchbit
refused run --results r skylake-x,erms
refused run --results r skylake-x,family=x
refused run --results r skylake-x,
refused run --results r ''
refused run --results r model:NoSuchModel
refused run --resume --results r
refused replay skylake-y
refused replay --jobs 2
refused list
refused list cpu
refused list cpus --jsn
refused show
refused show skylake-y
refused show model:NoSuchModel
refused repro model:NoSuchModel
refused doctor now
refused cpuid
refused cpuid /no/such/dump
refused cpuid skylake-y
refused cpuid skylake-x --to xml
refused cpuid-diff skylake-x

exits 3 "a connection that nobody serves" -c nosuch:///system run skylake-x
check "one line says so" lines 1 err
check "with what was expected" has '\(qemu:///system, .* was expected\)$' err
exits 3 "a driver's name mistyped" -c qemu:///sesion run skylake-x
check "with what was expected" has '\(qemu:///system, .* was expected\)$' err
check "nothing is written" test ! -e results
touch file
exits 2 "a results folder that is a file" run --results file skylake-x
check "the file is untouched" lines 0 file
mkdir other && echo mine >other/plan.jsonl
exits 2 "a folder that is no results folder" run --results other --resume skylake-x
check "it is untouched" [ "$(cat other/plan.jsonl)" = mine ]

for command in '' run replay list show cpuid cpuid-diff repro doctor; do
	# shellcheck disable=SC2086 # no word where there is no command
	exits 0 "quirklab $command --help" $command --help
	check "it is a help" grep -q usage out
done
exits 0 "the version" --version
check "it is one line" lines 1 out
# A full device for standard output must not look like success. It is told once.
full()
{
	local status=0

	quirklab "$@" >/dev/full 2>err </dev/null || status=$?
	grep -v '^[0-9]* cells\?: ' err >told || :
	check "standard output is full: exit status 3: $1" [ $status = 3 ]
	check "one line says so: $1" lines 1 told
}

full --help
full list cpus
full run --results full skylake-x
full report full
full report full -o html
cp -r full full2
full report full full2
# What would be read or written without end, or be waited for.
for file in /dev/zero /dev/full; do
	refused report $file
	refused accept $file
	refused cpuid $file
	refused run --subject glibc --libc $file skylake-x
done
mkfifo pipe
exits 2 "a report into a pipe that nobody reads" report full -o html:pipe
check "one line says so" lines 1 err
# A copy of the build tree has the copy's data: what accept writes is not the first tree's.
mkdir -p "copy$B" "copy$top"
cp -a "$B/cpu-models" "copy$B"
cp -a "$top/cpu-models" "copy$top"
check "the data of a copied tree" [ "$(readlink -f "copy$B/cpu-models")" = "$work/copy$top/cpu-models" ]
finish
