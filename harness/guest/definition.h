/* SPDX-License-Identifier: MIT */
/* The plan of a guest for people, for this folder only. */
#ifndef QUIRKLAB_HARNESS_GUEST_DEFINITION_H
#define QUIRKLAB_HARNESS_GUEST_DEFINITION_H

#include "harness/guest/domain.h"

/* Its files' paths are absolute, as they are here. definition_plan_free frees them. */
int definition_plan(struct domain_plan *plan, struct connection *connection,
		    const struct guest_request *request, const struct guest_definition *definition,
		    struct error *err);
void definition_plan_free(struct domain_plan *plan);

#endif
