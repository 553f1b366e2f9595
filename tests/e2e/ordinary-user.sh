#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No root: the lab works for a user who has nothing but a home, or not even that.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "this is the ordinary user's case already"
requires setpriv --version || skip_all "no setpriv"
# The build tree may be below a folder that others cannot enter: take what the run needs along.
mkdir lab home
cp -rL "$B/quirklab" "$B/images" "$B/cpu-models" lab
chmod 755 "$work"
chown nobody home run cache tmp .
program=$work/lab/quirklab

as_nobody()
{
	env -C home -i PATH="$PATH" TMPDIR="$TMPDIR" "$@" \
		setpriv --reuid=nobody --regid=nogroup --clear-groups -- "$program" run skylake-x amd/25:1
}

# With a runtime folder as a login makes it, and without one as in a cron job.
runs "a run as nobody" as_nobody HOME="$work/home" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR"
check "it is complete" complete home/results/latest
runs "without XDG_RUNTIME_DIR" as_nobody HOME="$work/home"
check "nothing was put into its settings" test ! -e home/.config
# A service's user may have no home at all, or one that it may only read; after su the folders may be another's.
runs "without a home" as_nobody HOME=/nonexistent
check "it is complete" complete home/results/latest
runs "with a home that it may only read, and another's folders" \
	as_nobody HOME="$work/lab" XDG_RUNTIME_DIR=/root XDG_CACHE_HOME=/root XDG_CONFIG_HOME=/root/none
check "it is complete" complete home/results/latest
rm -rf home
finish
