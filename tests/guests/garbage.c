// SPDX-License-Identifier: MIT
/* Random bytes for ever on the report port. */
#include "tests/guests/guest.h"

void guest_main(const struct pvh_start_info *info)
{
	/* xorshift32 (Marsaglia, Journal of Statistical Software 8:14): the same bytes each time.
	 */
	uint32_t random = 2463534242u;

	(void)info;
	guest_begin();
	for (;;) {
		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		serial_write(SERIAL_REPORT, &random, sizeof(random));
	}
}
