/* SPDX-License-Identifier: MIT */
/* The vendors of CPUID leaf 0 that tests are about. */
#ifndef QUIRKLAB_UNIT_VENDORS_H
#define QUIRKLAB_UNIT_VENDORS_H

#define INTEL	"GenuineIntel"
#define AMD	"AuthenticAMD"
#define HYGON	"HygonGenuine"
#define CENTAUR "CentaurHauls"
#define ZHAOXIN "  Shanghai  "
#define NOBODY	"NobodyKnows!"

#endif
