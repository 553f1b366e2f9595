// SPDX-License-Identifier: MIT
/* The verdict of a CPU whose guest came to its end too early. */
#include <stdio.h>

#include "harness/guest/guest.h"
#include "harness/judge/judge.h"

void judge_death(struct cell_result *result, const struct guest_result *guest)
{
	static const enum verdict verdicts[] = {
		[GUEST_FINISHED] = VERDICT_CRASHED,  [GUEST_HUNG] = VERDICT_HUNG,
		[GUEST_CRASHED] = VERDICT_CRASHED,   [GUEST_ERROR] = VERDICT_ERROR,
		[GUEST_INTERRUPTED] = VERDICT_ERROR,
	};

	result->verdict = verdicts[guest->end];
	snprintf(result->reason, sizeof(result->reason), "%s",
		 *guest->reason ? guest->reason : "the guest ended before this CPU had reported");
}
