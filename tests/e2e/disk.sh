#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files that are no image of a bootable system: one line, exit status 2, nothing written to them. One appliance is started.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

[ -x "$B/images/disk" ] || skip_all "built without libguestfs"
requires command -v mke2fs || skip_all "no mke2fs"

# refused WHAT PATTERN ARGUMENT...: the run ends at once with one line that matches.
refused()
{
	local what=$1 pattern=$2

	shift 2
	exits 2 "$what: refused" run --results r "$@" skylake-x
	check "$what: one line says why" has "^quirklab: .*$pattern" err
	check "$what: no more than that" lines 1 err
	check "$what: no results" test ! -e r
}

seq 1000 >text.img
refused "a text" "text.img: no disk image" --image text.img
refused "a folder" "bare, linux or a file was expected" --image .
mkfifo fifo
refused "a FIFO" "fifo: bare, linux or a file was expected" --image fifo
: >empty.img
refused "an empty file" "empty.img: no disk image" --image empty.img
refused "a name that is none" "'nothing.img': bare, linux or a file was expected" --image nothing.img
refused "--full-boot without an image" "needs --image FILE" --full-boot

# A system for x86-64, as inspection sees it, without a kernel.
system_tree tree
mke2fs -q -t ext4 -d tree kernelless.img 32M >mke2fs.log
qemu-img convert -O qcow2 kernelless.img whole.qcow2
head -c 700000 whole.qcow2 >cut.qcow2
qemu-img create -q -f qcow2 -b whole.qcow2 -F qcow2 upon.qcow2
cp whole.qcow2 marked.qcow2
printf '\2' | dd of=marked.qcow2 bs=1 seek=79 conv=notrunc status=none
cp whole.qcow2 used.qcow2
sha256sum ./*.img ./*.qcow2 >sums

refused "a qcow2 cut short" "cut.qcow2: a damaged qcow2" --image cut.qcow2
refused "a qcow2 marked as corrupt" "marked it as corrupt" --image marked.qcow2
refused "an image upon another" "it rests on another file" --image upon.qcow2

# What a running guest does: it locks the image that it writes to.
qemu-nbd -t -f qcow2 -k "$work/socket" used.qcow2 &
pid=$!
check "an image is in use" within 10 test -S socket
refused "one that a guest writes to" "used.qcow2: a running guest has it open for writing" --image used.qcow2
kill $pid || :
wait $pid || :

# A lab that was built without libguestfs.
mkdir without
ln -s "$B/images/agent" "$B/images/bare.elf" without
QUIRKLAB_IMAGES=$work/without exits 3 "without libguestfs: the lab's own fault" run --image whole.qcow2 skylake-x
check "it says what to install" has "built without libguestfs: install libguestfs-dev" err

# The only one that has to be looked into, by a name that QEMU would take for a protocol and an option.
# LIBGUESTFS_CACHEDIR is not of this script: the appliance stays.
cp whole.qcow2 a:b,c.qcow2
refused "a system without a kernel" "a:b,c.qcow2: no kernel in it, neither" --image a:b,c.qcow2
check "no image was written to" sha256sum --quiet -c sums
check "nor to that" cmp whole.qcow2 a:b,c.qcow2
finish
