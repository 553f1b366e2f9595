#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Images that other tools made, each of another shape, under their own kernels; and such that no guest can be booted from.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../lib.sh"

[ -x "$B/images/disk" ] || skip_all "built without libguestfs"
for tool in mke2fs sfdisk; do
	requires command -v $tool || skip_all "no $tool"
done

# --- no guest can be booted from them: each has its own line, and a cell is never begun -------------
# refused FILE PATTERN
refused()
{
	sha256sum "$1" >>sums
	exits 2 "$1: refused" run --results r --image "$1" skylake-x
	check "$1: one line says why" has "^quirklab: .*$1: .*$2" err
	check "$1: no more than that" lines 1 err
	check "$1: no results" test ! -e r
}

# put PARTITION SECTOR IMAGE
put()
{
	dd if="$1" of="$3" bs=512 seek="$2" conv=notrunc status=none
	rm "$1"
}

# A table without partitions; and one as of Windows.
truncate -s 8M empty.img
echo 'label: gpt' | sfdisk -q empty.img
refused empty.img "no operating system in it .neither a partition nor a file system"
truncate -s 16M data.img
printf 'label: dos\nstart=2048, type=7\n' | sfdisk -q data.img
truncate -s 8M part
mke2fs -q -t ext2 part
put part 2048 data.img
refused data.img "no operating system in it .ext2."

# The headers of a system for another machine: the agent, said to be for AArch64 (ELF, e_machine 183).
system_tree tree
printf '\267\0' | dd of=tree/usr/bin/sh bs=1 seek=18 conv=notrunc status=none
mke2fs -q -t ext4 -d tree arm.img 32M
refused arm.img "a system for aarch64, x86_64 was expected"

# A /boot in the clear, an encrypted root.
if requires command -v cryptsetup; then
	truncate -s 32M locked.img
	printf 'label: gpt\nsize=8192\nsize=36000\n' | sfdisk -q locked.img
	truncate -s 4M part
	mke2fs -q -t ext4 part
	put part 2048 locked.img
	truncate -s 17M part
	echo key | cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 part -
	put part 10240 locked.img
	refused locked.img "encrypted .LUKS.: the lab takes no key"
else
	skip "an encrypted root" "no cryptsetup"
fi

# --- judged -----------------------------------------------------------------------------------------
# judged FILE: both subjects pass.
judged()
{
	local subject

	sha256sum "$1" >>sums
	for subject in linux glibc; do
		rm -rf r
		exits 0 "$1: $subject" run --image "$1" --subject $subject --results r amd/25:1
		check "$1: $subject: is judged, and passes" judged_as $subject
	done
	rm -rf r
}

# A kernel has nine functions of its own, and a library has many.
judged_as()
{
	complete r && well_formed r/results.jsonl &&
		jq -e --arg subject "$1" 'select(.subject == $subject and .verdict == "pass" and (.picks | length) >= 9)' r/results.jsonl
}

# No partitions, raw. DEBVM_IMAGE: one that is there already.
if [ -n "${DEBVM_IMAGE:-}" ]; then
	ln -s "$DEBVM_IMAGE" debvm.ext4
elif requires command -v debvm-create; then
	# shellcheck source=/dev/null
	suite=$(. /etc/os-release && echo "${VERSION_CODENAME:?}")
	runs "debvm-create makes one" debvm-create -r "$suite" -o debvm.ext4 -z 1600M -s packagelists -- \
		--aptopt='Apt::Install-Recommends "false"'
fi
if [ -f debvm.ext4 ]; then
	judged debvm.ext4
else
	skip "an image of debvm-create" "none was made"
fi

# GPT; an ESP, a /boot and a root of btrfs that their types alone tell apart: there is no fstab.
tree_of_debvm()
{
	mkdir root
	debugfs -R "rdump / root" debvm.ext4
	: >root/etc/fstab
	[ -e root/usr/lib/systemd/systemd ]
}

partition()
{
	printf '[Partition]\nType=%s\nFormat=%s\nSizeMinBytes=%s\nSizeMaxBytes=%s\n' "$@"
}

repart()
{
	mkdir repart.d
	partition esp vfat 64M 64M >repart.d/10.conf
	{ partition xbootldr ext4 200M 200M; echo CopyFiles=/boot:/; } >repart.d/20.conf
	{
		partition root btrfs 1300M 1300M
		echo MakeDirectories=/boot /dev /proc /sys /run /tmp /root
		for folder in bin etc lib lib64 sbin usr var; do
			echo "CopyFiles=/$folder:/$folder"
		done
	} >repart.d/30.conf
	systemd-repart --empty=create --size=1700M --definitions=repart.d --root="$PWD/root" --dry-run=no typed.img
}

missing=
[ -f debvm.ext4 ] || missing="no files for it"
for tool in systemd-repart mkfs.btrfs mkfs.vfat debugfs; do
	requires command -v $tool || missing="no $tool"
done
[ "$(id -u)" = 0 ] && requires losetup -f || missing="no loop devices"
if [ -z "$missing" ]; then
	runs "the files of debvm's image" tree_of_debvm
	runs "systemd-repart makes one" repart
	rm -rf root
	judged typed.img
else
	skip "an image of systemd-repart" "$missing"
fi

check "no image was written to" sha256sum --quiet -c sums
finish
