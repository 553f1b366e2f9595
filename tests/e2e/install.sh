#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installed elsewhere, and without the build tree's help, it works; uninstall leaves nothing.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# make is asked for the build folder of these tests: nothing is compiled again.
as_built()
{
	env -u MAKEFLAGS -u MAKELEVEL make -C "$top" --no-print-directory B="$B" ${CC:+CC="$CC"} DESTDIR="$work/root" "$@"
}

check "make install" as_built install
program=$work/root/usr/local/bin/quirklab
check "the program" test -x "$program"
check "the page" test -s root/usr/local/share/man/man1/quirklab.1
check "the header" test -s root/usr/local/include/quirklab.h
check "the completion" bash -n root/usr/local/share/bash-completion/completions/quirklab
check "no path of the build tree is used" \
	[ -z "$(strace -f -e trace=%file "$program" list cpus 2>&1 >/dev/null | grep -F "\"$B/" || :)" ]
exits 0 "list" list cpus
exits 0 "a run from there" run skylake-x amd/25:1
check "it is complete" complete results/latest
check "make uninstall" as_built uninstall
check "no file is left" lines 0 <(find root -type f)
finish
