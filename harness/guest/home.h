/* SPDX-License-Identifier: MIT */
/* The user's folders that libvirt's drivers write to. */
#ifndef QUIRKLAB_HARNESS_GUEST_HOME_H
#define QUIRKLAB_HARNESS_GUEST_HOME_H

/*
 * An ordinary user's libvirt needs a folder for its run-time files and one for its settings
 * (XDG Base Directory Specification). Where this process' environment names none that can be
 * written, as for a user without a home, it is changed to name folders of ours, which stay for the
 * next run. To be called before there are threads.
 */
void home_lend(void);

#endif
