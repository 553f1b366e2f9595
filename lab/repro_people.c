// SPDX-License-Identifier: MIT
/* The guest of `quirklab repro` in the hands of a person, or of another program. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "images/linux/cmdline.h"
#include "lab/repro.h"

char *repro_name(const struct cpu *cpu)
{
	char *name = xasprintf("repro-%.60s", cpu->name);

	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_.", *at))
			*at = '-';
	return name;
}

char *repro_cmdline(enum guest_image image, const char *words)
{
	if (image == GUEST_BARE)
		return xstrdup(words);
	return xasprintf("%s%s%s", LINUX_CMDLINE, *words ? " " : "", words);
}

void repro_print_notes(const struct text *notes)
{
	const char *line = text_string(notes);

	while (*line) {
		int length = (int)strcspn(line, "\n");

		fprintf(stderr, "quirklab: %.*s\n", length, line);
		line += length + (line[length] == '\n');
	}
}

int repro_print(const struct repro_options *options, struct repro_guest *guest,
		const struct cpu *cpu, const struct realised *realised, struct error *err)
{
	CLEANUP_FREE char *name = repro_name(cpu), *text = NULL, *log = NULL;
	CLEANUP_FREE char *folder = realpath(".", NULL);
	/* A guest that ended within milliseconds would end under libvirt's hands. */
	bool stays = options->action == REPRO_PRINT_XML && guest->image == GUEST_BARE;
	CLEANUP_FREE char *cmdline =
		repro_cmdline(guest->image, stays ? REPRO_STAY_WORDS : REPRO_TEXT_WORDS);
	const struct guest_request request = repro_request(guest, &realised, cmdline);
	struct guest_definition definition = { .name = name };

	if (!folder)
		return error_set(err, ERROR_LAB, "this folder: %s", strerror(errno));
	log = xasprintf("%s/%s.log", folder, name);
	definition.log = log;
	text = options->action == REPRO_PRINT_XML
		       ? guest_domain_xml(guest->connection, &request, &definition, err)
		       : guest_qemu_command(guest->connection, &request, &definition, err);
	if (!text)
		return -1;
	printf("%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");
	if (guest->images.place && guest->images.initrd)
		fprintf(stderr, "quirklab: the initramfs is %s/%s\n", folder, guest->images.place);
	if (options->action == REPRO_PRINT_XML)
		fprintf(stderr, "quirklab: what the guest says goes to %s as well\n", log);
	return 0;
}

int repro_keep(struct repro_guest *guest, const struct cpu *cpu, const struct realised *realised,
	       struct error *err)
{
	const char *words = guest->image == GUEST_BARE ? REPRO_STAY_WORDS : "";
	CLEANUP_FREE char *called = repro_name(cpu), *uri = NULL;
	CLEANUP_FREE char *name = xasprintf("%s-%d", called, (int)getpid());
	CLEANUP_FREE char *cmdline = repro_cmdline(guest->image, words);
	const struct guest_request request = repro_request(guest, &realised, cmdline);
	const struct guest_definition definition = { .name = name };

	if (guest_keep(guest->connection, &request, &definition, &uri, err) < 0)
		return -1;
	printf("The domain %s stays.\n\n", name);
	if (guest->image == GUEST_LINUX)
		printf("its console   virsh -c '%s' console %s\n", uri, name);
	printf("look at it    virsh -c '%s' dumpxml %s\n"
	       "end it        virsh -c '%s' destroy %s\n",
	       uri, name, uri, name);
	/* libvirt 9.0 still takes up the domain when it is asked to end it, and complains though it
	 * did. */
	if (!strncmp(uri, "qemu:///embed", strlen("qemu:///embed")))
		printf("\nIts state is the folder in that URI. The next quirklab removes it once "
		       "the domain is "
		       "gone.\nvirsh may say that the domain was not found: it is ended all the "
		       "same.\n");
	return 0;
}
