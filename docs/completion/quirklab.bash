# SPDX-License-Identifier: MIT
# bash completion for quirklab. tests/unit/test_lab.c compares its words with the program's own.
# shellcheck shell=bash

# The names of the catalogue; `program` is the caller's.
_quirklab_cpus()
{
	"$program" list cpus 2>/dev/null | sed -E 's/^.{12} +[0-9:]+ +([^ ]+).*/\1/'
}

_quirklab()
{
	local cur prev word i command='' program=${COMP_WORDS[0]}
	local global commands run replay list show cpuid cpuid_diff repro report diff accept lint bench scale doctor
	global='--connect --verbose --help --version'
	run='--image --subject --libc --pmem --silence --jobs --pack --shard --timeout-scale --kernel --full-boot --append --emulator
		--accel --results --resume --strict --bisect --output --help --version'
	replay='--output --strict --help --version'
	list='--json --help --version'
	show='--json --help --version'
	cpuid='--to --help --version'
	cpuid_diff='--help --version'
	repro='--image --strict --print-xml --print-qemu --shell --gdb --keep --against --op --no-boot
		--kernel --emulator --accel --timeout-scale --help --version'
	report='--output --help --version'
	diff='--format --full --no-boot --help --version'
	accept='--help --version'
	lint='--format --mutate --help --version'
	bench='--suggest --evidence --seconds --runs --threads --size --op --pmem --pages --json --html --help --version'
	scale='--seconds --tasks --base --head --cpu --kernel --repeats --accel --timeout-scale --help --version'
	doctor='--help --version'
	commands='run replay list show cpuid cpuid-diff repro report diff accept lint bench scale doctor'

	COMPREPLY=()
	cur=${COMP_WORDS[COMP_CWORD]}
	prev=${COMP_WORDS[COMP_CWORD - 1]}
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		-c | --connect) i=$((i + 1)) ;;
		-*) ;;
		*)
			command=$word
			break
			;;
		esac
	done

	case $prev in
	--image)
		mapfile -t COMPREPLY < <(compgen -W 'bare linux' -f -- "$cur")
		return
		;;
	--subject)
		mapfile -t COMPREPLY < <(compgen -W 'dispatch linux glibc pmem' -f -- "$cur")
		return
		;;
	--accel) word='kvm tcg auto' ;;
	--output | -o)
		word='tap junit jsonl html markdown table'
		[ "$command" != replay ] || word='text tap'
		;;
	--format)
		word='text markdown json'
		[ "$command" != lint ] || word='text sarif junit'
		;;
	--to) word='cpuid-r json tsv libvirt qemu' ;;
	--pages) word='huge small' ;;
	--op)
		word='memset clear_page clear_extent copy memcpy_flushcache flush'
		[ "$command" = bench ] ||
			word="$("$program" list operations 2>/dev/null | sed -E 's/ .*//')"
		;;
	--cpu | --against)
		word=$(_quirklab_cpus)
		mapfile -t COMPREPLY < <(compgen -f -W "$word" -- "$cur")
		return
		;;
	--kernel | --emulator | --libc | --base | --head | --pmem | --html)
		if [ "$prev/$command" = --pmem/run ]; then
			mapfile -t COMPREPLY < <(compgen -W 'memmap nvdimm' -- "$cur")
			return
		fi
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--results)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	-c | --connect) word='qemu:///system qemu:///session' ;;
	--jobs | -j | --pack | --shard | --timeout-scale | --append | --silence | --seconds | --runs | --threads | --size | --tasks | --repeats) return ;;
	*)
		case $command/$cur in
		/-*) word=$global ;;
		/*) word=$commands ;;
		run/-*) word=$run ;;
		replay/-*) word=$replay ;;
		list/-*) word=$list ;;
		show/-*) word=$show ;;
		cpuid/-?*) word=$cpuid ;;
		cpuid-diff/-?*) word=$cpuid_diff ;;
		repro/-?*) word=$repro ;;
		report/-*) word=$report ;;
		report/*)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
			;;
		diff/-?*) word=$diff ;;
		accept/-*) word=$accept ;;
		lint/*) word=$lint ;;
		bench/*) word=$bench ;;
		scale/-*) word=$scale ;;
		scale/*) word='malloc1_threads malloc1_processes page_fault1_threads page_fault1_processes tlb_flush1_threads tlb_flush1_processes' ;;
		doctor/*) word=$doctor ;;
		diff/* | accept/*)
			word=$([ "$command" = accept ] || git for-each-ref --format='%(refname:short)' 2>/dev/null)
			mapfile -t COMPREPLY < <(compgen -f -W "$word" -- "$cur")
			return
			;;
		list/*) word='cpus models subjects operations' ;;
		run/* | replay/* | show/* | cpuid/* | cpuid-diff/* | repro/*)
			word='catalogue unknown models'
			[[ $command != cpuid* && $command != repro ]] || word='host -'
			word="$word $(_quirklab_cpus)"
			mapfile -t COMPREPLY < <(compgen -f -W "$word" -- "$cur")
			return
			;;
		*) return ;;
		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$word" -- "$cur")
}
complete -F _quirklab quirklab
