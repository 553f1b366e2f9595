/* SPDX-License-Identifier: MIT */
/* The local APIC of the CPU that executes this. */
#ifndef QUIRKLAB_BARE_APIC_H
#define QUIRKLAB_BARE_APIC_H

#include <stdint.h>

/* On each CPU before the others. */
void apic_enable(void);

/* On the boot CPU: no interrupt of the PC's old controllers from now on. */
void apic_silence_pic(void);

/* INIT, which puts a CPU into the state of waiting for a start-up IPI. */
void apic_send_init(unsigned apic_id);
/* The start-up IPI: real mode at address, a page below 1 MiB. Ignored by a CPU that runs. */
void apic_send_startup(unsigned apic_id, uint32_t address);

/* Halts for nanoseconds, less than 2^32; interrupts are enabled meanwhile. */
void apic_halt_for(uint32_t nanoseconds);

/* For the interrupt entry: the timer's interrupt is done with. */
void apic_end_interrupt(void);

#endif
