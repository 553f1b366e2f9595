/* SPDX-License-Identifier: MIT */
/*
 * What a Linux guest is booted with: the kernel's command line and the memory. None of the words
 * changes what the kernel thinks of the CPU or which memset, clear or copy it picks.
 *
 *   console=ttyS0       the console's port; reports go to the second one
 *   quiet               errors only: a byte through a UART costs an exit
 *   panic=-1            a panic resets at once, which ends the guest, instead of waiting
 *   nokaslr             the same addresses in every run and report; nothing to relocate
 *   no_timer_check      an emulated timer on a busy host is late, and late means panic
 *   tsc=reliable        the same for the clock: no watchdog that finds it unstable
 *   noreplace-smp       leaves the lock prefixes in the kernel's text: that many take time
 *   cryptomgr.notests   no self-tests of the kernel's ciphers
 *   lpj=                not measured at each CPU's start: 0.2 s of the boot, 0.3 s of each CPU of
 *                       a rack. The value is that of a TSC of 2.5 GHz at 250 Hz; only delays of
 *                       microseconds and the bogomips of /proc/cpuinfo rest on it
 *   nopti               no page table switch at each system call and signal on old Intel CPUs: a
 *                       switch empties the emulator's TLB, and each single step is a signal. Not
 *                       where the kernel is the subject: PTI is one of its own picks
 *
 * With Debian's 6.1 kernel and TCG: 3.0 s of CPU time without nokaslr and those after it, 2.3 s
 * with them but lpj, 1.9 s with that as well.
 */
#ifndef QUIRKLAB_IMAGES_LINUX_CMDLINE_H
#define QUIRKLAB_IMAGES_LINUX_CMDLINE_H

#include "images/linux/job.h"

#define LINUX_CMDLINE_KERNEL                                                \
	"console=ttyS0 quiet panic=-1 nokaslr no_timer_check tsc=reliable " \
	"noreplace-smp cryptomgr.notests lpj=10000000"
#define LINUX_CMDLINE LINUX_CMDLINE_KERNEL " nopti"

/*
 * More words, for a rack: CPUs come and go.
 *
 *   rcupdate.rcu_expedited=1  waits for other CPUs by interrupts instead of by ticks of the clock
 *   cpu_init_udelay=0         the wait between INIT and SIPI, 10 ms, is for hardware
 *   maxcpus=1                 the table of CPUs (harness/guest/madt.c) names all that may come,
 *                             of which none is there when the kernel boots
 *
 * domain.c adds how many of these the guest has sockets for (possible_cpus=).
 */
#define LINUX_CMDLINE_RACK "rcupdate.rcu_expedited=1 cpu_init_udelay=0 maxcpus=1"

/*
 * A distribution's image: the agent as PID 1 of its root, or, with all that the distribution
 * starts, a service of its own init. Then the agent has a word that allows it to be another PID: it
 * ends by powering the machine off. The others: the boot shows on the console that it goes on, no
 * wizard waits for an answer, none for a network's data, and SELinux does not object to the agent.
 */
#define LINUX_AGENT_BOOT "init=" JOB_AGENT
#define LINUX_BOOT_WORD	 "quirklab_boot"
#define LINUX_BOOT_FULL	 "full"
#define LINUX_FULL_BOOT                                                                     \
	LINUX_BOOT_WORD "=" LINUX_BOOT_FULL " systemd.show_status=1 systemd.firstboot=off " \
			"cloud-init=disabled enforcing=0"

/*
 * The initcalls of a kernel that a short boot leaves out. ACPI's interpreter is one, so that such a
 * guest cannot power itself off; the harness ends it. ACPI's tables are read all the same: without
 * (acpi=off) the kernel would lose its APIC and the flag. Those of one line belong together:
 * inet_blackhole_dev_init dereferences what inet_init has not made; the first
 * that registers a function for BPF reads the types of the whole kernel, so all of them are here.
 */
#define SHORT_LEAVES_OUT                                                                  \
	"acpi_init,acpi_thermal_init,pnpacpi_init,init_acpi_pm_clocksource,"              \
	"init_kprobe_trace,init_blk_tracer,init_trace_printk_function_export,"            \
	"tracer_init_tracefs,perf_event_sysfs_init,"                                      \
	"bpf_rstat_kfunc_init,bpf_key_sig_kfuncs_init,bpf_prog_test_run_init,kfunc_init," \
	"bpf_tcp_ca_kfunc_init,bpf_kfunc_init,bpf_fs_kfuncs_init,init_subsystem,"         \
	"slab_sysfs_init,ksm_init,"                                                       \
	"inet_init,inet6_init,sysctl_ipv4_init,tcp_congestion_default,cubictcp_register," \
	"packet_init,xsk_init,apparmor_nf_ip_init,inet_blackhole_dev_init,"               \
	"cmos_init,add_rtc_cmos,hpet_init,i8042_init,nvme_core_init,cxl_core_init,"       \
	"vga_arb_device_init,tpm_init,"                                                   \
	"load_system_certificate_list,init_ima,init_encrypted,tomoyo_initerface_init,"    \
	"crypto_kdf108_init,crc_t10dif_mod_init,crc64_rocksoft_mod_init,"                 \
	"ext4_init_fs,init_mqueue_fs"

/*
 * A short boot, where the kernel is the subject: much of what lies between the patching of the text
 * and user space is left out. Nothing of it is asked for what a record holds, which is the same
 * after a full boot (tests/e2e/subject-linux.sh).
 *
 *   tsc_early_khz       the clock's rate is said, not measured: it makes a clock wrong that nobody
 *                       reads
 *   noapictimer nohpet  one timer less to measure, and one to look for
 *   pci=off             no bus is searched
 *   8250.nr_uarts=2     no port is probed but the two that are there
 *   lsm= audit=0        no security module, no log of what it says
 *   init_on_alloc=0     pages are not cleared a second time: by `rep stosb` each byte is a step
 *   rodata=off          the text stays writable; else all page tables are walked at the end
 *   initcall_blacklist  what SHORT_LEAVES_OUT lists. A name that a kernel lacks is passed over
 */
#define LINUX_CMDLINE_SHORT                                                              \
	"tsc_early_khz=2000000 noapictimer nohpet pci=off 8250.nr_uarts=2 lsm= audit=0 " \
	"init_on_alloc=0 rodata=off initcall_blacklist=" SHORT_LEAVES_OUT

/* The word that tells the agent its subject; the kernel makes a variable of a word that it does not
 * know. Without it: the dispatcher. */
#define LINUX_SUBJECT_WORD   "quirklab_subject"
#define LINUX_SUBJECT_KERNEL "linux"

/* Where the symbols of this kernel are, as the agent of an earlier guest found them; without it the
 * agent reads /proc/kallsyms, which takes 0.2 s. */
#define LINUX_SYMBOLS_WORD "quirklab_symbols"

/* Debian's 6.1 boots with 96; newer kernels are larger. */
#define LINUX_MEMORY_MIB 192
/* With a program that is the subject, which may want some for itself. The host gives a page when it
 * is first touched. */
#define LINUX_PROGRAM_MEMORY_MIB 512

#endif
