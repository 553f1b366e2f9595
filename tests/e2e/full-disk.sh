#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A disk that fills up: exit status 3, one line that names the file, no torn record that stays.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir small
mount -t tmpfs -o size=256k,mode=777 tmpfs small 2>/dev/null || skip_all "only root can make a small file system"
unmount()
{
	umount -l "$work/small" 2>/dev/null || :
	end_of_script
}
trap unmount EXIT

exits 3 "the results do not fit" run --results small/r
check "it names the file and the reason" grep -q 'small/r.*No space left on device' err
check "no QEMU is left" within 2 no_qemu
check "each line of the results is whole" jq -e -s 'length >= 0' small/r/results.jsonl
mount -o remount,size=64m small
exits 0 "with room, --resume finishes it" run --resume --results small/r
check "every planned cell has one record" complete small/r
# Where the state of a run, or an initramfs, has no room.
rm -rf small/*
mount -o remount,size=512k small
XDG_RUNTIME_DIR=$work/small exits 3 "the state of a run does not fit" run --results state skylake-x
check "one line says what is needed" has '/small/quirklab: [0-9]+ KiB are free, .* 1024 are needed' err
check "and no other" lines 1 err
TMPDIR=$work/small exits 3 "an initramfs does not fit" run --image linux --results linux skylake-x
check "it names the file and the reason" has 'small/quirklab-initramfs.*No space left on device' err
check "it is not left behind" lines 0 <(find small -name 'quirklab-initramfs*')
# Where the two trees of a diff have no room: as an archive, then unpacked.
if requires git --version; then
	mkdir repo
	(
		cd repo
		tar -C "$top" --exclude=./build --exclude=./.git --exclude=./results -cf - . | tar -xf -
		git init -q
		git add -A
		git -c user.name=nobody -c user.email=nobody@localhost commit -qm all
	)
	cd repo
	for size in 512k 5m; do
		rm -rf "$work"/small/*
		mount -o "remount,size=$size" "$work/small"
		XDG_CACHE_HOME=$work/small exits 3 "the trees of a diff do not fit into $size" diff --no-boot HEAD
		check "it names the reason" has "No space left on device" err
	done
	cd "$work"
else
	skip "the trees of a diff do not fit" "no git"
fi
umount small
finish
