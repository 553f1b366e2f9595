// SPDX-License-Identifier: MIT
/* Fuzzes the readers of the tables in cpu-models/. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/cpu/tables.h"
#include "harness/util/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cpu_list known = { 0 }, models = { 0 };
	struct table table = { 0 };
	struct error err = { 0 };
	int fd = memfd_create("table", MFD_CLOEXEC);
	char *path = xasprintf("/proc/self/fd/%d", fd);

	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
		abort();
	if (table_read(&table, path, &err) == 0) {
		for (size_t row = 0; row < table.row_count; row++)
			for (size_t column = 0; column < table.column_count; column++)
				if (!table_cell(&table, row, (int)column))
					abort();
		table_free(&table);
	} else if (!err.text[0]) {
		abort();
	}
	catalogue_read(&known, path, CPU_CATALOGUE, &err);
	models_read(&models, path, &err);
	cpu_list_free(&known);
	cpu_list_free(&models);
	free(path);
	close(fd);
	return 0;
}
