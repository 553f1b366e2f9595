/* SPDX-License-Identifier: MIT */
/* The two serial ports: the console for people, the report for the harness. */
#ifndef QUIRKLAB_BARE_SERIAL_H
#define QUIRKLAB_BARE_SERIAL_H

#include <stddef.h>
#include <stdint.h>

/* The PC's COM1 and COM2. */
#define SERIAL_CONSOLE 0x3f8
#define SERIAL_REPORT  0x2f8

void serial_init(uint16_t port);

/* Sends length bytes, blocking while the port does not take them (in the end it gives up: see
 * serial.c). */
void serial_write(uint16_t port, const void *bytes, size_t length);

/* Text and decimal numbers on the console. Every byte costs microseconds: keep it short. */
void console_text(const char *text);
void console_number(unsigned number);

#endif
