// SPDX-License-Identifier: MIT
/*
 * A polled 16550 (registers: National Semiconductor PC16550D data sheet, table 2). The FIFO is
 * filled sixteen bytes at a time, so that the state is read once for sixteen bytes.
 */
#include "images/bare/serial.h"
#include "images/bare/x86.h"

#define THR	    0
#define IER	    1
#define FCR	    2
#define LCR	    3
#define MCR	    4
#define LSR	    5
#define LCR_8N1	    0x03
#define FCR_FIFO    0x07 /* on, both directions emptied */
#define MCR_DTR_RTS 0x03
#define LSR_THRE    0x20
#define FIFO_BYTES  16

/*
 * How often the state is read before bytes are sent into a port that takes none. A read costs
 * 0.3 us under TCG and a few under KVM: at least half a minute, longer than the harness waits for
 * a sign of progress.
 */
#define POLLS 100000000u

/*
 * The speed stays what it is: an emulated port has none. And no register is written that is another
 * one's address, so that an isa-debugcon, which takes every byte at the first address, does in the
 * port's place; its other addresses read as ones, that is as ready.
 */
void serial_init(uint16_t port)
{
	out8(port + IER, 0);
	out8(port + LCR, LCR_8N1);
	out8(port + FCR, FCR_FIFO);
	out8(port + MCR, MCR_DTR_RTS);
}

void serial_write(uint16_t port, const void *bytes, size_t length)
{
	while (length) {
		size_t burst = length < FIFO_BYTES ? length : FIFO_BYTES;

		length -= burst;
		for (unsigned poll = 0; poll < POLLS && !(in8(port + LSR) & LSR_THRE); poll++)
			__asm__ volatile("pause");
		/* One exit for the burst under KVM. */
		__asm__ volatile("rep outsb"
				 : "+S"(bytes), "+c"(burst)
				 : "d"((uint16_t)(port + THR))
				 : "memory");
	}
}

void console_text(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	serial_write(SERIAL_CONSOLE, text, length);
}

void console_number(unsigned number)
{
	char digits[10];
	size_t at = sizeof(digits);

	do {
		digits[--at] = '0' + number % 10;
		number /= 10;
	} while (number);
	serial_write(SERIAL_CONSOLE, digits + at, sizeof(digits) - at);
}
