#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Whole systems: an image built here, one made by another tool, their own init, their logs; never written to.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../lib.sh"

[ -x "$B/images/disk" ] || skip_all "built without libguestfs"
for tool in mmdebstrap guestfish mke2fs; do
	requires command -v $tool || skip_all "no $tool"
done
[ "$(id -u)" = 0 ] || skip_all "not root: mke2fs could not keep the owners"

# DISK_IMAGE: one that is there already.
if [ -n "${DISK_IMAGE:-}" ]; then
	ln -s "$DISK_IMAGE" debian.qcow2
else
	LIBGUESTFS_CACHEDIR=/var/tmp runs "an image of Debian is built" "$top/images/disk/build" debian.qcow2
fi
sha256sum debian.qcow2 >sums

own_qemus_are()
{
	[ -n "$(own_qemus)" ]
}

all_pass()
{
	complete "$1" && well_formed "$1/results.jsonl" &&
		lines "$2" <(jq -c 'select(.verdict == "pass")' "$1/results.jsonl")
}

exits 0 "our dispatcher in it, two CPUs" run --image debian.qcow2 --results a skylake-x amd/25:1
check "both pass" all_pass a 2
check "the records name the image" lines 2 <(jq -c 'select(.image == "debian.qcow2")' a/results.jsonl)
exits 0 "its kernel as the subject" run --image debian.qcow2 --subject linux --results k skylake-x
check "passes" all_pass k 1

# A program finds the image's files, may write, and its lines are the verdict.
cat >inside <<'END'
#!/bin/sh
echo 1..2
. /etc/os-release
[ "$ID" = debian ] && [ -x /usr/lib/systemd/systemd ] && echo "ok 1 - the image's root"
echo word >/root/file && [ "$(cat /root/file)" = word ] && echo "ok 2 - which may be written"
END
# The program has a /proc of its own, so PID 1 is no sign of systemd; the group of its service is.
cat >beside <<'END'
#!/bin/sh
echo 1..1
grep quirklab.service /proc/self/cgroup && echo "ok 1 - under the image's own init"
END
# The lab has to see a panic, and what was logged before it.
cat >panic <<'END'
#!/bin/sh
echo "a last word for the log" >/dev/kmsg
sleep 4
echo c >/proc/sysrq-trigger
sleep 60
END
chmod +x inside beside panic
exits 0 "a program in it" run --image debian.qcow2 --subject ./inside --results p skylake-x
check "its lines are counted" lines 1 <(jq -c 'select(.verdict == "pass" and .program.tests.passed == 2)' p/results.jsonl)
exits 0 "under its own init" run --image debian.qcow2 --full-boot --subject ./beside --results f skylake-x
check "passes there too" all_pass f 1
exits 1 "a panic under its own init" run --image debian.qcow2 --full-boot --subject ./panic --results c skylake-x
check "is a crash, and the reason names the log" has 'disk.log' <(jq -r 'select(.verdict == "crashed") | .reason' c/results.jsonl)
check "the log has what was said before" has "a last word for the log" c/cells/skylake-x/debian.qcow2/panic/disk.log

# Another tool's: no partitions, raw, made by mke2fs out of a tree.
guestfish_copy()
{
	LIBGUESTFS_BACKEND=direct LIBGUESTFS_BACKEND_SETTINGS=force_tcg LIBGUESTFS_CACHEDIR=/var/tmp \
		guestfish --ro --format=qcow2 -a debian.qcow2 -m /dev/sda1 tar-out / tree.tar
}
runs "its files" guestfish_copy
mkdir tree
tar -C tree -xf tree.tar
runs "a bare file system of another tool" mke2fs -q -t ext4 -d tree foreign.img 1200M
rm -rf tree tree.tar
sha256sum foreign.img >>sums
exits 0 "our dispatcher in that" run --image foreign.img --results b amd/25:1
check "passes" all_pass b 1

check "no image was written to" sha256sum --quiet -c sums

# Killed while the image is prepared.
"$program" run --image debian.qcow2 --results i skylake-x >out 2>err &
pid=$!
check "the appliance is up" within 120 own_qemus_are
kill -9 $pid
check "and gone with the lab" within 2 no_qemu
check "its folder, too" within 5 no_state
"$program" run --image debian.qcow2 --results j skylake-x >out 2>err &
pid=$!
check "another" within 120 own_qemus_are
kill -INT $pid
status=0
wait $pid || status=$?
check "ends by a signal to the lab alone" test $status = 130
finish
