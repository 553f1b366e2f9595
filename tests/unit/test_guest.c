// SPDX-License-Identifier: MIT
/* Suite "guest": what of harness/guest/ needs no guest: domains, racks, watchdog, roots,
 * supervisor. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/guest/accelerator.h"
#include "harness/guest/capability_cache.h"
#include "harness/guest/domain.h"
#include "harness/guest/guest.h"
#include "harness/guest/orphans.h"
#include "harness/guest/qemu_log.h"
#include "harness/guest/rack.h"
#include "harness/guest/reaper.h"
#include "harness/guest/root.h"
#include "harness/guest/single_thread.h"
#include "harness/guest/supervisor.h"
#include "harness/guest/watchdog.h"
#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "harness/util/file.h"

/* --- CPUs and domains
 * ----------------------------------------------------------------------------- */

static void add_property(struct realised *realised, const char *name, const char *value)
{
	const size_t i = realised->property_count++;

	realised->property[i].name = xstrdup(name);
	realised->property[i].value = xstrdup(value);
}

static struct realised *haswell(void)
{
	struct realised *cpu = xcalloc(1, sizeof(*cpu));

	add_property(cpu, "vendor", "GenuineIntel");
	add_property(cpu, "family", "6");
	add_property(cpu, "model", "60");
	add_property(cpu, "xlevel", "0x80000008");
	add_property(cpu, "erms", "on");
	add_property(cpu, "fsrm", "off");
	return cpu;
}

static void free_cpu(struct realised *cpu)
{
	for (size_t i = 0; i < cpu->property_count; i++) {
		free(cpu->property[i].name);
		free(cpu->property[i].value);
	}
	free(cpu->model);
	free(cpu);
}

/* What the XPath expression finds in the domain, as a string. Caller frees. */
static char *find(const char *xml, const char *expression)
{
	xmlDocPtr document = xmlReadDoc(BAD_CAST xml, "domain.xml", NULL, 0);
	xmlXPathContextPtr context;
	xmlXPathObjectPtr object;
	char *result;

	ck_assert_msg(document != NULL, "no XML: %s", xml);
	context = xmlXPathNewContext(document);
	xmlXPathRegisterNs(context, BAD_CAST "qemu",
			   BAD_CAST "http://libvirt.org/schemas/domain/qemu/1.0");
	object = xmlXPathEvalExpression(BAD_CAST expression, context);
	ck_assert_msg(object != NULL, "no XPath: %s", expression);
	result = (char *)xmlXPathCastToString(object);
	xmlXPathFreeObject(object);
	xmlXPathFreeContext(context);
	xmlFreeDoc(document);
	return result;
}

static void expect(const char *xml, const char *expression, const char *wanted)
{
	CLEANUP_FREE char *found = find(xml, expression);

	ck_assert_msg(!strcmp(found, wanted), "%s: '%s', not '%s', in\n%s", expression, found,
		      wanted, xml);
}

static char *make_xml(const struct guest_request *request, bool microvm, const char *pipes)
{
	const struct domain_plan plan = {
		.name = "quirklab-1-1",
		.microvm = microvm,
		.kernel = request->kernel,
		.initrd = request->initrd,
		.pipes = pipes,
		.request = request,
	};
	struct error err = { 0 };
	char *xml = domain_xml(&plan, &err);

	ck_assert_msg(xml != NULL, "%s", err.text);
	return xml;
}

START_TEST(single_bare)
{
	struct realised *cpu = haswell();
	const struct realised *const cpus[] = { cpu };
	const struct guest_request request = { .kernel = "/k/bare.elf",
					       .cpus = cpus,
					       .cpu_count = 1 };
	CLEANUP_FREE char *xml = make_xml(&request, true, NULL);

	expect(xml, "/domain/@type", "qemu");
	expect(xml, "/domain/name", "quirklab-1-1");
	expect(xml, "/domain/os/type/@machine", "microvm");
	expect(xml, "/domain/os/kernel", "/k/bare.elf");
	expect(xml, "count(/domain/os/cmdline)", "0");
	expect(xml, "count(/domain/os/initrd)", "0");
	expect(xml, "/domain/vcpu", "1");
	expect(xml, "count(/domain/vcpu/@current)", "0");
	expect(xml, "count(/domain/features/acpi)", "0");
	expect(xml, "string(//qemu:commandline/qemu:arg[1]/@value)", "-cpu");
	expect(xml, "string(//qemu:commandline/qemu:arg[2]/@value)",
	       "base,vendor=GenuineIntel,family=6,model=60,xlevel=0x80000008,erms=on,fsrm=off");
	expect(xml, "string(//qemu:capabilities/qemu:del/@capability)", "cpu-unavailable-features");
	expect(xml, "string(/domain/on_reboot)", "destroy");
	expect(xml, "string(/domain/devices/controller[@type='usb']/@model)", "none");
	expect(xml, "string(/domain/devices/memballoon/@model)", "none");
	expect(xml, "count(/domain/devices/*[self::disk or self::interface or self::filesystem])",
	       "0");
	expect(xml, "count(/domain/devices/serial[@type='pty'])", "2");
	expect(xml, "string(/domain/devices/serial[1]/target/@port)", "0");
	expect(xml, "string(/domain/devices/serial[2]/target/@port)", "1");
	free_cpu(cpu);
}
END_TEST

START_TEST(single_without_microvm)
{
	struct realised *cpu = haswell();
	const struct realised *const cpus[] = { cpu };
	const struct guest_request request = {
		.kernel = "/k", .cpus = cpus, .cpu_count = 1, .memory_mib = 77
	};
	CLEANUP_FREE char *xml = make_xml(&request, false, "/r/quirklab-1-1");

	expect(xml, "/domain/os/type/@machine", "pc");
	expect(xml, "count(/domain/features/acpi)", "1");
	expect(xml, "/domain/memory", "77");
	expect(xml, "/domain/memory/@unit", "MiB");
	expect(xml, "string(/domain/devices/serial[1][@type='pipe']/source/@path)",
	       "/r/quirklab-1-1.0");
	expect(xml, "string(/domain/devices/serial[2][@type='pipe']/source/@path)",
	       "/r/quirklab-1-1.1");
	free_cpu(cpu);
}
END_TEST

START_TEST(rack)
{
	struct realised *cpu = haswell();
	const struct realised *const cpus[] = { cpu, cpu };
	const struct guest_request request = {
		.kernel = "/k", .cmdline = "a&b <c>", .cpus = cpus, .cpu_count = 2
	};
	CLEANUP_FREE char *xml = make_xml(&request, true, NULL);
	CLEANUP_FREE char *boot = NULL;

	expect(xml, "/domain/os/type/@machine", "pc");
	expect(xml, "/domain/vcpu", "3");
	expect(xml, "/domain/vcpu/@current", "1");
	expect(xml, "/domain/cpu/topology/@sockets", "3");
	expect(xml, "/domain/cpu/topology/@cores", "1");
	expect(xml, "/domain/cpu/topology/@threads", "1");
	expect(xml, "/domain/os/cmdline", "a&b <c> cpus=2");
	/* What -cpu says would be the default of every plugged CPU: nothing of an identity. */
	expect(xml, "count(//qemu:arg)", "2");
	boot = find(xml, "string(//qemu:arg[2]/@value)");
	ck_assert_ptr_eq(strstr(boot, "base,"), boot);
	ck_assert_ptr_null(strstr(boot, "family"));
	ck_assert_ptr_null(strstr(boot, "erms"));
	ck_assert_ptr_nonnull(strstr(boot, "apic=on"));
	free_cpu(cpu);
}
END_TEST

START_TEST(rack_of_one)
{
	struct realised *cpu = haswell();
	const struct realised *const cpus[] = { cpu };
	const struct guest_request request = {
		.kernel = "/k", .cpus = cpus, .cpu_count = 1, .rack = true
	};
	CLEANUP_FREE char *xml = make_xml(&request, true, NULL);

	expect(xml, "/domain/os/type/@machine", "pc");
	expect(xml, "/domain/vcpu", "2");
	expect(xml, "/domain/os/cmdline", "cpus=1");
	free_cpu(cpu);
}
END_TEST

START_TEST(disk_image)
{
	struct realised *cpu = haswell();
	const struct realised *const cpus[] = { cpu };
	const struct guest_request request = {
		.image = GUEST_DISK, .kernel = "/k/vmlinuz", .cpus = cpus, .cpu_count = 1
	};
	const struct domain_plan plan = { .name = "quirklab-1-1",
					  .kernel = "/k/vmlinuz",
					  .disk = "/t/<a>.qcow2",
					  .request = &request };
	CLEANUP_FREE char *xml = domain_xml(&plan, NULL);

	ck_assert_ptr_nonnull(xml);
	expect(xml, "/domain/devices/disk/source/@file", "/t/<a>.qcow2");
	expect(xml, "/domain/devices/disk/driver/@type", "qcow2");
	expect(xml, "/domain/devices/disk/target/@bus", "virtio");
	expect(xml, "/domain/os/type/@machine", "pc");
	expect(xml, "/domain/memory", "1024");
	free_cpu(cpu);
}
END_TEST

START_TEST(linux_guest)
{
	struct realised *cpu = haswell();
	const struct realised *const cpus[] = { cpu };
	const struct guest_request request = {
		.image = GUEST_LINUX,
		.kernel = "/boot/vmlinuz",
		.initrd = "/i",
		.cmdline = "console=ttyS0 quiet",
		.cpus = cpus,
		.cpu_count = 1,
	};
	CLEANUP_FREE char *xml = make_xml(&request, true, NULL);

	expect(xml, "/domain/os/type/@machine", "pc");
	expect(xml, "/domain/os/initrd", "/i");
	expect(xml, "/domain/os/cmdline", "console=ttyS0 quiet");
	expect(xml, "count(/domain/features/acpi)", "1");
	free_cpu(cpu);
}
END_TEST

/* 256 MiB of its own, the NVDIMM, and the one node that libvirt wants. */
START_TEST(nvdimm)
{
	struct realised *cpu = haswell();
	const struct realised *const cpus[] = { cpu };
	const struct guest_request request = {
		.image = GUEST_LINUX,
		.kernel = "/boot/vmlinuz",
		.nvdimm = "/t/n&m",
		.cpus = cpus,
		.cpu_count = 1,
	};
	CLEANUP_FREE char *xml = make_xml(&request, true, NULL);

	expect(xml, "/domain/memory", "384");
	expect(xml, "/domain/maxMemory", "384");
	expect(xml, "/domain/maxMemory/@slots", "1");
	expect(xml, "/domain/cpu/numa/cell/@memory", "256");
	expect(xml, "/domain/cpu/numa/cell/@cpus", "0");
	expect(xml, "/domain/devices/memory/@model", "nvdimm");
	expect(xml, "/domain/devices/memory/@access", "private");
	expect(xml, "/domain/devices/memory/source/path", "/t/n&m");
	expect(xml, "/domain/devices/memory/target/size", "128");
	free_cpu(cpu);
}
END_TEST

START_TEST(libvirt_model)
{
	struct realised *cpu = xcalloc(1, sizeof(*cpu));
	const struct realised *const cpus[] = { cpu };
	const struct guest_request request = { .kernel = "/k", .cpus = cpus, .cpu_count = 1 };
	CLEANUP_FREE char *xml = NULL;

	cpu->model = xstrdup("Opteron_G4");
	add_property(cpu, "xgetbv1", "on");
	xml = make_xml(&request, false, NULL);
	expect(xml, "/domain/cpu/@mode", "custom");
	expect(xml, "/domain/cpu/@match", "exact");
	expect(xml, "/domain/cpu/@check", "none");
	expect(xml, "/domain/cpu/model", "Opteron_G4");
	expect(xml, "count(//qemu:arg[@value='-cpu'])", "0");
	expect(xml, "string(//qemu:arg[@value='-global']/following-sibling::qemu:arg/@value)",
	       "Opteron_G4-x86_64-cpu.xgetbv1=on");
	free_cpu(cpu);
}
END_TEST

/* -cpu has no escape for a comma. */
START_TEST(comma_in_a_value)
{
	struct realised *cpu = haswell();
	const struct realised *const cpus[] = { cpu };
	const struct guest_request request = { .kernel = "/k", .cpus = cpus, .cpu_count = 1 };
	CLEANUP_FREE char *xml = NULL, *base = NULL;

	add_property(cpu, "model-id", "Radeon R7, 12 Cores");
	xml = make_xml(&request, true, NULL);
	expect(xml, "string(//qemu:arg[@value='-global']/following-sibling::qemu:arg/@value)",
	       "base-x86_64-cpu.model-id=Radeon R7, 12 Cores");
	base = find(xml, "string(//qemu:arg[@value='-cpu']/following-sibling::qemu:arg/@value)");
	ck_assert_ptr_null(strstr(base, "model-id"));
	free_cpu(cpu);
}
END_TEST

static void refuse(const struct guest_request *request, const char *words)
{
	const struct domain_plan plan = { .name = "n",
					  .kernel = request->kernel,
					  .request = request };
	struct error err = { 0 };

	ck_assert_ptr_null(domain_xml(&plan, &err));
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_msg(strstr(err.text, words) != NULL, "'%s' is not in '%s'", words, err.text);
}

START_TEST(refused_requests)
{
	struct realised *cpu = haswell();
	const struct realised *cpus[RACK_CPUS_MOST + 1];

	for (size_t i = 0; i < RACK_CPUS_MOST + 1; i++)
		cpus[i] = cpu;
	refuse(&(struct guest_request){ .kernel = "/k" }, "needs a CPU");
	refuse(&(struct guest_request){ .cpus = cpus, .cpu_count = 1 }, "kernel");
	refuse(&(struct guest_request){ .image = GUEST_DISK,
					.kernel = "/k",
					.cpus = cpus,
					.cpu_count = 2 },
	       "disk image");
	refuse(&(struct guest_request){ .kernel = "/k", .cpus = cpus, .cpu_count = 201 },
	       "at most 200");
	cpu->model = xstrdup("EPYC");
	refuse(&(struct guest_request){ .kernel = "/k", .cpus = cpus, .cpu_count = 2 }, "EPYC");
	free_cpu(cpu);
}
END_TEST

/* QEMU 9.2 and later insist on the type that a property has. */
/* The CPU that boots a Linux rack: the first one's identity, what the kernel needs of the bits that
 * all have; and the kernel is told how many will come. */
START_TEST(linux_rack)
{
	struct realised *one = haswell(), *other = haswell();
	const struct realised *const cpus[] = { one, other };
	const struct guest_request request = { .image = GUEST_LINUX,
					       .kernel = "/k",
					       .cmdline = "quiet",
					       .cpus = cpus,
					       .cpu_count = 2,
					       .memory_mib = 500 };
	CLEANUP_FREE char *xml = NULL, *boot = NULL;

	add_property(one, "clwb", "on");
	add_property(one, "bmi1", "on");
	add_property(one, "smep", "on");
	add_property(one, "xlevel2", "3221225477");
	add_property(other, "bmi1", "on");
	add_property(other, "smep", "on");
	xml = make_xml(&request, true, NULL);
	expect(xml, "string(/domain/os/cmdline)",
	       "quiet possible_cpus=3 quirklab_cpus=2 quirklab_kinds=0,1");
	expect(xml, "string(/domain/vcpu)", "3");
	expect(xml, "string(/domain/vcpu/@current)", "1");
	expect(xml, "string(/domain/os/type/@machine)", "pc");
	expect(xml, "string(/domain/memory)", "502");
	boot = find(xml, "string(//qemu:arg[@value='-cpu']/following-sibling::qemu:arg/@value)");
	ck_assert_int_eq(strncmp(boot, "base,", 5), 0);
	ck_assert_ptr_nonnull(strstr(boot, ",smep=on"));
	ck_assert_ptr_nonnull(strstr(boot, ",model="));
	ck_assert_ptr_null(strstr(boot, "clwb"));
	ck_assert_ptr_null(strstr(boot, "bmi1"));
	ck_assert_ptr_null(strstr(boot, "xlevel2"));
	free_cpu(one);
	free_cpu(other);
}
END_TEST

/* Which CPUs of a Linux rack can share translated code: who they are makes no difference, one bit
 * does, and where that is no matter. */
START_TEST(linux_rack_kinds)
{
	struct realised *cpus[] = { haswell(), haswell(), haswell(), haswell(), haswell() };
	CLEANUP_FREE char *kinds = NULL;

	add_property(cpus[1], "model", "85");
	add_property(cpus[1], "stepping", "9");
	add_property(cpus[1], "model-id", "another");
	add_property(cpus[2], "bmi1", "on");
	add_property(cpus[3], "bmi1", "off");
	add_property(cpus[4], "xlevel", "5");
	add_property(cpus[4], "bmi1", "on");
	kinds = rack_linux_kinds((const struct realised *const *)cpus, 5);
	ck_assert_str_eq(kinds, "quirklab_kinds=0,0,2,3,2");
	for (size_t i = 0; i < 5; i++)
		free_cpu(cpus[i]);
}
END_TEST

/* What the script makes of an emulator's words, and that it is written once. */
START_TEST(one_thread_script)
{
	char folder[] = "/tmp/quirklab-single-XXXXXX";
	CLEANUP_FREE char *emulator = NULL, *path = NULL, *again = NULL, *run = NULL, *out = NULL;
	static const char words[] = "#!/bin/sh\nprintf '<%s>' \"$@\"\n";
	struct stat first, second;
	size_t length = 0;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	emulator = xasprintf("%s/an emulator", folder);
	ck_assert_int_eq(file_write(emulator, words, strlen(words), NULL), 0);
	ck_assert_int_eq(chmod(emulator, 0755), 0);
	path = single_thread_script(folder, emulator);
	ck_assert_ptr_nonnull(path);
	run = xasprintf("'%s' -name tcg -accel tcg -m '1 2' -accel kvm '' > %s/out", path, folder);
	ck_assert_int_eq(system(run), 0);
	free(run);
	run = xasprintf("%s/out", folder);
	ck_assert_int_eq(file_read(run, 4096, &out, &length, NULL), 0);
	ck_assert_str_eq(out, "<-name><tcg><-accel><tcg,thread=single><-m><1 2><-accel><kvm><>");
	ck_assert_int_eq(stat(path, &first), 0);
	again = single_thread_script(folder, emulator);
	ck_assert_str_eq(again, path);
	ck_assert_int_eq(stat(path, &second), 0);
	ck_assert_uint_eq(first.st_ino, second.st_ino);
	ck_assert_ptr_null(single_thread_script(folder, "/no/such/emulator"));
	folder_remove(folder, NULL);
}
END_TEST

START_TEST(rack_command_types)
{
	struct realised *cpu = haswell();
	CLEANUP_FREE char *text = NULL;
	json_t *command;
	const json_t *arguments;

	add_property(cpu, "model-id", "80486");
	text = rack_command(cpu, 7);
	command = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_str_eq(json_string_value(json_object_get(command, "execute")), "device_add");
	arguments = json_object_get(command, "arguments");
	ck_assert_str_eq(json_string_value(json_object_get(arguments, "driver")),
			 "base-x86_64-cpu");
	ck_assert_int_eq(json_integer_value(json_object_get(arguments, "socket-id")), 7);
	ck_assert_int_eq(json_integer_value(json_object_get(arguments, "core-id")), 0);
	ck_assert_int_eq(json_integer_value(json_object_get(arguments, "family")), 6);
	ck_assert(json_is_integer(json_object_get(arguments, "xlevel")));
	ck_assert_int_eq(json_integer_value(json_object_get(arguments, "xlevel")), 0x80000008);
	ck_assert(json_is_true(json_object_get(arguments, "erms")));
	ck_assert(json_is_false(json_object_get(arguments, "fsrm")));
	ck_assert_str_eq(json_string_value(json_object_get(arguments, "vendor")), "GenuineIntel");
	ck_assert_str_eq(json_string_value(json_object_get(arguments, "model-id")), "80486");
	json_decref(command);
	free_cpu(cpu);
}
END_TEST

/* --- the watchdog: 10 s for a bare guest, 30 s for Linux, 120 s for a disk; 65, 600 and 1200 s in
 * all
 * ----------------------- */

static struct watchdog watch(enum guest_image image, double scale, unsigned guests, unsigned cores)
{
	const struct guest_request request = { .image = image, .cpu_count = 1 };
	const struct watchdog_load load = { .timeout_scale = scale,
					    .guests = guests,
					    .cores = cores };
	struct watchdog watchdog;

	watchdog_start(&watchdog, &request, &load);
	watchdog_resume(&watchdog, 100);
	return watchdog;
}

static bool bites(const struct watchdog *watchdog, double now)
{
	char reason[256] = "";
	bool result = watchdog_bites(watchdog, now, reason, sizeof(reason));

	ck_assert_int_eq(result, reason[0] != '\0');
	return result;
}

START_TEST(watchdog_limits)
{
	struct watchdog bare = watch(GUEST_BARE, 1, 1, 2);
	struct watchdog silent_linux = watch(GUEST_LINUX, 1, 1, 2);
	struct watchdog disk = watch(GUEST_DISK, 1, 1, 2);
	struct watchdog slow = watch(GUEST_BARE, 3, 1, 2);
	struct watchdog crowded = watch(GUEST_BARE, 1, 8, 2);
	struct watchdog unscaled = watch(GUEST_BARE, 0, 0, 0);

	ck_assert(!bites(&bare, 109.9));
	ck_assert(bites(&bare, 110.1));
	ck_assert(!bites(&silent_linux, 129.9));
	ck_assert(bites(&silent_linux, 130.1));
	ck_assert(!bites(&disk, 219.9));
	ck_assert(bites(&disk, 220.1));
	ck_assert(!bites(&slow, 129.9));
	ck_assert(bites(&slow, 130.1));
	ck_assert(!bites(&crowded, 139.9));
	ck_assert(bites(&crowded, 140.1));
	ck_assert(!bites(&unscaled, 109.9));
	ck_assert(bites(&unscaled, 110.1));
	ck_assert_double_eq(bare.create, 60);
	ck_assert_double_eq(slow.create, 180);
}
END_TEST

START_TEST(watchdog_progress)
{
	struct watchdog watchdog = watch(GUEST_BARE, 1, 1, 1);

	watchdog_report(&watchdog, 100, 1, 104);
	ck_assert(!bites(&watchdog, 113.9));
	watchdog_console(&watchdog, 1, 108);
	ck_assert(!bites(&watchdog, 117.9));
	/* Bytes that make no frame are no progress. */
	watchdog_report(&watchdog, 100000, 0, 112);
	ck_assert(bites(&watchdog, 118.1));
}
END_TEST

START_TEST(watchdog_wall)
{
	struct watchdog watchdog = watch(GUEST_BARE, 1, 1, 1);

	for (int now = 100; now < 165; now++) {
		watchdog_report(&watchdog, 12, 1, now);
		ck_assert(!bites(&watchdog, now));
	}
	watchdog_report(&watchdog, 12, 1, 165.5);
	ck_assert(bites(&watchdog, 165.5));
}
END_TEST

START_TEST(watchdog_floods)
{
	struct watchdog report = watch(GUEST_BARE, 1, 1, 1);
	struct watchdog console = watch(GUEST_BARE, 1, 1, 1);

	watchdog_report(&report, 16 << 20, 1, 101);
	ck_assert(!bites(&report, 101));
	watchdog_report(&report, 1, 1, 101);
	ck_assert(bites(&report, 101));
	/* A console beyond what is kept is no progress any more. */
	watchdog_console(&console, 1 << 20, 101);
	watchdog_console(&console, 1, 105);
	ck_assert(bites(&console, 111.1));
}
END_TEST

/* --- this machine
 * ---------------------------------------------------------------------------------- */

/* A folder of its own for each test, with XDG_RUNTIME_DIR and XDG_CACHE_HOME in it. */
static char folder[64];

static void setup(void)
{
	CLEANUP_FREE char *cache = NULL;

	snprintf(folder, sizeof(folder), "/tmp/quirklab-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	cache = xasprintf("%s/cache", folder);
	setenv("XDG_RUNTIME_DIR", folder, 1);
	setenv("XDG_CACHE_HOME", cache, 1);
}

static void teardown(void)
{
	folder_remove(folder, NULL);
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void make_file(const char *path, const char *bytes)
{
	struct error err = { 0 };

	ck_assert_msg(file_write(path, bytes, strlen(bytes), &err) == 0, "%s", err.text);
}

START_TEST(accelerator_words)
{
	CLEANUP_FREE char *device = xasprintf("%s/kvm", folder);
	CLEANUP_FREE char *modules = xasprintf("%s/modules", folder);
	CLEANUP_FREE char *foreign = xasprintf("%s/modules/kvm_pvm", folder);
	CLEANUP_FREE char *amd = xasprintf("%s/modules/kvm_amd", folder);
	const struct accelerator_paths paths = { device, modules };
	char words[512];

	ck_assert_int_eq(accelerator_explain(&paths, words, sizeof(words)), ACCELERATOR_KVM_NONE);
	ck_assert_ptr_nonnull(strstr(words, "No such file"));
	make_file(device, "");
	ck_assert_int_eq(folder_make(foreign, NULL), 0);
	ck_assert_int_eq(accelerator_explain(&paths, words, sizeof(words)),
			 ACCELERATOR_KVM_FOREIGN);
	ck_assert_ptr_nonnull(strstr(words, "found: kvm_pvm"));
	ck_assert_int_eq(folder_make(amd, NULL), 0);
	ck_assert_int_eq(accelerator_explain(&paths, words, sizeof(words)), ACCELERATOR_KVM_WORKS);
	ck_assert_int_eq(accelerator_explain(&paths, NULL, 0), ACCELERATOR_KVM_WORKS);
}
END_TEST

START_TEST(root_is_private)
{
	struct root root;
	struct error err = { 0 };
	CLEANUP_FREE char *conf = NULL, *bytes = NULL, *path = NULL;
	struct stat status;
	size_t length;

	ck_assert_msg(root_open(&root, &err) == 0, "%s", err.text);
	ck_assert_int_eq(strncmp(root.path, folder, strlen(folder)), 0);
	ck_assert_int_eq(stat(root.path, &status), 0);
	ck_assert_int_eq(status.st_mode & 0777, 0700);
	conf = xasprintf("%s/etc/qemu.conf", root.path);
	ck_assert_int_eq(file_read(conf, 65536, &bytes, &length, &err), 0);
	ck_assert_ptr_nonnull(strstr(bytes, "stdio_handler = \"file\"\n"));
	ck_assert_ptr_nonnull(strstr(bytes, "seccomp_sandbox = 1\n"));
	path = xstrdup(root.path);
	root_close(&root);
	ck_assert(!exists(path));
	ck_assert_ptr_null(root.path);
	root_close(&root);
}
END_TEST

/* A runtime folder whose sockets' paths would be too long, or that a URI cannot hold, is not taken.
 */
START_TEST(root_is_short)
{
	static const char *const unfit[] = { "a-folder-whose-name-is-long-enough-for-trouble",
					     "sp ace", "question?mark" };
	struct root root;
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(unfit) / sizeof(*unfit); i++) {
		CLEANUP_FREE char *runtime = xasprintf("%s/%s", folder, unfit[i]);

		ck_assert_int_eq(folder_make(runtime, NULL), 0);
		setenv("XDG_RUNTIME_DIR", runtime, 1);
		ck_assert_msg(root_open(&root, &err) == 0, "%s", err.text);
		ck_assert_int_eq(strncmp(root.path, "/tmp/quirklab-", 14), 0);
		root_close(&root);
	}
}
END_TEST

START_TEST(root_of_a_stranger)
{
	CLEANUP_FREE char *base = xasprintf("%s/quirklab", folder);
	struct root root;
	struct error err = { 0 };

	ck_assert_int_eq(mkdir(base, 0700), 0);
	ck_assert_int_eq(chmod(base, 0777), 0);
	ck_assert_int_lt(root_open(&root, &err), 0);
	ck_assert_int_eq(err.kind, ERROR_LAB);
	ck_assert_ptr_nonnull(strstr(err.text, "XDG_RUNTIME_DIR"));
}
END_TEST

START_TEST(sweep_takes_what_nobody_holds)
{
	struct root held, left;
	struct error err = { 0 };
	CLEANUP_FREE char *left_path = NULL;
	int second;

	ck_assert_int_eq(root_open(&held, &err), 0);
	ck_assert_int_eq(root_open(&left, &err), 0);
	ck_assert_str_ne(held.path, left.path);
	left_path = xstrdup(left.path);
	/* Held by a supervisor alone: not swept. */
	second = root_hold(left_path);
	ck_assert_int_ge(second, 0);
	close(left.lock);
	left.lock = -1;
	root_sweep();
	ck_assert(exists(left_path));
	close(second);
	root_sweep();
	ck_assert(!exists(left_path));
	ck_assert(exists(held.path));
	free(left.path);
	root_close(&held);
}
END_TEST

/* A process that names the file among its arguments and does not end by itself; as a QEMU has them,
 * or as one that reads the file. */
static pid_t start_follower(const char *file, bool qemu)
{
	pid_t pid = fork();

	if (pid == 0) {
		close(STDERR_FILENO); /* there is no file -no-user-config */
		execlp("tail", "tail", "-qf", "--", file, qemu ? "-no-user-config" : NULL, NULL);
		_exit(127);
	}
	usleep(50000); /* until it is tail */
	return pid;
}

static bool ends_within(pid_t pid, double seconds)
{
	const double begin = clock_seconds();

	while (clock_seconds() - begin < seconds) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
		usleep(5000);
	}
	return false;
}

START_TEST(orphans_by_folder)
{
	CLEANUP_FREE char *mine = xasprintf("%s/mine", folder);
	CLEANUP_FREE char *inside = xasprintf("%s/mine/file", folder);
	CLEANUP_FREE char *beside = xasprintf("%s/mine2", folder);
	pid_t orphan, neighbour, reader;

	ck_assert_int_eq(folder_make(mine, NULL), 0);
	make_file(inside, "");
	make_file(beside, "");
	orphan = start_follower(inside, true);
	neighbour = start_follower(beside, true);
	reader = start_follower(inside, false);
	ck_assert_uint_eq(orphans_end(mine, 0, 1000), 1);
	ck_assert(ends_within(orphan, 1));
	ck_assert_int_eq(kill(neighbour, 0), 0);
	ck_assert_int_eq(waitpid(neighbour, NULL, WNOHANG), 0);
	ck_assert_int_eq(waitpid(reader, NULL, WNOHANG), 0);
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
	kill(neighbour, SIGKILL);
	waitpid(neighbour, NULL, 0);
}
END_TEST

/* The harness that a supervisor watches is a child here, so that it can be killed. */
static pid_t start_harness(const char *path, bool drop)
{
	int ready[2];
	char byte;
	pid_t harness;

	ck_assert_int_eq(pipe(ready), 0);
	harness = fork();
	if (harness == 0) {
		struct supervisor supervisor;

		if (supervisor_start(&supervisor, NULL) < 0)
			_exit(1);
		supervisor_add_root(&supervisor, path);
		if (drop)
			supervisor_drop_root(&supervisor, path);
		/* Whoever ends a group of processes at once does not get the supervisor. */
		kill(supervisor.pid, SIGTERM);
		kill(supervisor.pid, SIGINT);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return harness;
}

START_TEST(supervisor_ends_what_is_left)
{
	struct root root;
	struct error err = { 0 };
	CLEANUP_FREE char *file = NULL;
	pid_t harness, orphan;
	double begin;

	ck_assert_int_eq(root_open(&root, &err), 0);
	file = xasprintf("%s/lock", root.path);
	harness = start_harness(root.path, false);
	orphan = start_follower(file, true);
	ck_assert_int_eq(kill(orphan, 0), 0);
	ck_assert(exists(root.path));
	begin = clock_seconds();
	kill(harness, SIGKILL);
	waitpid(harness, NULL, 0);
	ck_assert(ends_within(orphan, 2));
	while (exists(root.path) && clock_seconds() - begin < 2)
		usleep(5000);
	ck_assert(!exists(root.path));
	root_close(&root);
}
END_TEST

START_TEST(supervisor_forgets)
{
	struct root root;
	struct error err = { 0 };
	pid_t harness;

	ck_assert_int_eq(root_open(&root, &err), 0);
	harness = start_harness(root.path, true);
	kill(harness, SIGKILL);
	waitpid(harness, NULL, 0);
	usleep(600000); /* it waits 0.25 s before it removes a root */
	ck_assert(exists(root.path));
	root_close(&root);
}
END_TEST

/* libvirt's children must be left to libvirt; a daemon's orphan is reaped. */
START_TEST(reaper_takes_only_orphans)
{
	struct supervisor supervisor;
	struct error err = { 0 };
	struct reaper *reaper;
	pid_t child, parent, orphan = 0;
	int ends[2], status;

	ck_assert_int_eq(supervisor_start(&supervisor, &err), 0);
	reaper = reaper_start(supervisor.pid, &err);
	ck_assert_ptr_nonnull(reaper);
	child = fork();
	if (child == 0)
		_exit(7);
	ck_assert_int_eq(pipe(ends), 0);
	parent = fork();
	if (parent == 0) { /* as libvirt makes a daemon */
		setsid();
		orphan = fork();
		if (orphan == 0) {
			usleep(100000);
			_exit(0);
		}
		_exit(write(ends[1], &orphan, sizeof(orphan)) == sizeof(orphan) ? 8 : 1);
	}
	ck_assert_int_eq(read(ends[0], &orphan, sizeof(orphan)), sizeof(orphan));
	close(ends[0]);
	close(ends[1]);
	usleep(400000);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	ck_assert_int_eq(waitpid(parent, &status, 0), parent);
	ck_assert_int_eq(WEXITSTATUS(status), 8);
	/* Not even a zombie. */
	ck_assert_int_lt(kill(orphan, 0), 0);
	ck_assert_int_eq(errno, ESRCH);
	supervisor_stop(&supervisor);
	reaper_join(reaper);
}
END_TEST

START_TEST(capabilities_travel)
{
	CLEANUP_FREE char *first = xasprintf("%s/first", folder);
	CLEANUP_FREE char *second = xasprintf("%s/second", folder);
	CLEANUP_FREE char *from = xasprintf("%s/cache/qemu/capabilities", first);
	CLEANUP_FREE char *probed = xasprintf("%s/abc.xml", from);
	CLEANUP_FREE char *other = xasprintf("%s/abc.xml.new", from);
	CLEANUP_FREE char *seeded = xasprintf("%s/cache/qemu/capabilities/abc.xml", second);
	CLEANUP_FREE char *unwanted = xasprintf("%s.new", seeded);
	CLEANUP_FREE char *bytes = NULL;
	size_t length;

	ck_assert_int_eq(folder_make(from, NULL), 0);
	ck_assert_int_eq(folder_make(second, NULL), 0);
	capability_cache_load(second); /* nothing there yet */
	make_file(probed, "<qemuCaps/>");
	make_file(other, "half");
	capability_cache_save(first);
	capability_cache_load(second);
	ck_assert_int_eq(file_read(seeded, 100, &bytes, &length, NULL), 0);
	ck_assert_str_eq(bytes, "<qemuCaps/>");
	ck_assert(!exists(unwanted));
}
END_TEST

START_TEST(capabilities_stay_out_of_anothers_home)
{
	CLEANUP_FREE char *root = xasprintf("%s/root", folder);
	CLEANUP_FREE char *from = xasprintf("%s/cache/qemu/capabilities", root);
	CLEANUP_FREE char *probed = xasprintf("%s/abc.xml", from);
	CLEANUP_FREE char *theirs = xasprintf("%s/theirs", folder);
	CLEANUP_FREE char *taken = xasprintf("%s/quirklab", theirs);
	CLEANUP_FREE char *home = xasprintf("%s/home", folder);
	CLEANUP_FREE char *kept = xasprintf("%s/.cache/quirklab/capabilities/abc.xml", home);

	if (geteuid()) /* nobody else can give a folder away */
		return;
	ck_assert_int_eq(folder_make(from, NULL), 0);
	ck_assert_int_eq(folder_make(theirs, NULL), 0);
	ck_assert_int_eq(folder_make(home, NULL), 0);
	make_file(probed, "<qemuCaps/>");
	ck_assert_int_eq(chown(theirs, 65534, 65534), 0);
	setenv("XDG_CACHE_HOME", theirs, 1);
	setenv("HOME", home, 1);
	capability_cache_save(root);
	ck_assert(!exists(taken));
	ck_assert(exists(kept));
}
END_TEST

START_TEST(last_words)
{
	CLEANUP_TEXT struct text log = { 0 };
	char words[256];

	qemu_log_last_words(&log, words, sizeof(words));
	ck_assert_str_eq(words, "");
	text_addf(&log, "/usr/bin/qemu-system-x86_64 \\\n-S\n"
			"2026-01-01T00:00:00Z qemu-system-x86_64: warning: first\n"
			"2026-01-01T00:00:00Z qemu-system-x86_64: cannot \033[31mgo on\n"
			"2026-01-01 00:00:00+0000: shutting down, reason=crashed\n");
	qemu_log_last_words(&log, words, sizeof(words));
	ck_assert_str_eq(words, "qemu-system-x86_64: cannot \\x1b[31mgo on");
}
END_TEST

/* libvirt's own test driver: a connection that works, and a hypervisor that runs no QEMU guest. */
START_TEST(hypervisor_that_refuses)
{
	const struct connection_options options = { .uri = "test:///default" };
	struct realised *cpu = haswell();
	const struct realised *const cpus[] = { cpu };
	const struct guest_request request = {
		.kernel = "/dev/null", .cpus = cpus, .cpu_count = 1, .timeout_scale = 1
	};
	struct guest_result result;
	struct error err = { 0 };
	struct connection *connection = connection_open(&options, &err);

	ck_assert_msg(connection != NULL, "%s", err.text);
	guest_boot(connection, &request, &result);
	ck_assert_int_eq(result.end, GUEST_ERROR);
	ck_assert_str_ne(result.reason, "");
	ck_assert_ptr_nonnull(result.reader);
	guest_result_free(&result);
	connection_interrupt(connection);
	guest_boot(connection, &request, &result);
	ck_assert_int_eq(result.end, GUEST_INTERRUPTED);
	guest_result_free(&result);
	connection_close(connection);
	free_cpu(cpu);
}
END_TEST

START_TEST(no_hypervisor)
{
	const struct connection_options options = { .uri = "nosuch:///system" };
	struct error err = { 0 };

	ck_assert_ptr_null(connection_open(&options, &err));
	ck_assert_int_eq(err.kind, ERROR_LAB);
	ck_assert_ptr_nonnull(strstr(err.text, "nosuch:///system"));
}
END_TEST

Suite *suite_guest(void);

Suite *suite_guest(void)
{
	Suite *suite = suite_create("guest");
	TCase *domains = tcase_create("domains");
	TCase *watchdogs = tcase_create("watchdog");
	TCase *machine = tcase_create("machine");

	tcase_add_test(domains, single_bare);
	tcase_add_test(domains, disk_image);
	tcase_add_test(domains, single_without_microvm);
	tcase_add_test(domains, rack);
	tcase_add_test(domains, rack_of_one);
	tcase_add_test(domains, linux_guest);
	tcase_add_test(domains, nvdimm);
	tcase_add_test(domains, libvirt_model);
	tcase_add_test(domains, comma_in_a_value);
	tcase_add_test(domains, refused_requests);
	tcase_add_test(domains, rack_command_types);
	tcase_add_test(domains, linux_rack);
	tcase_add_test(domains, linux_rack_kinds);
	tcase_add_test(domains, one_thread_script);
	suite_add_tcase(suite, domains);
	tcase_add_test(watchdogs, watchdog_limits);
	tcase_add_test(watchdogs, watchdog_progress);
	tcase_add_test(watchdogs, watchdog_wall);
	tcase_add_test(watchdogs, watchdog_floods);
	suite_add_tcase(suite, watchdogs);
	tcase_add_checked_fixture(machine, setup, teardown);
	tcase_set_timeout(machine, 60);
	tcase_add_test(machine, accelerator_words);
	tcase_add_test(machine, root_is_private);
	tcase_add_test(machine, root_is_short);
	tcase_add_test(machine, root_of_a_stranger);
	tcase_add_test(machine, sweep_takes_what_nobody_holds);
	tcase_add_test(machine, orphans_by_folder);
	tcase_add_test(machine, supervisor_ends_what_is_left);
	tcase_add_test(machine, supervisor_forgets);
	tcase_add_test(machine, reaper_takes_only_orphans);
	tcase_add_test(machine, capabilities_travel);
	tcase_add_test(machine, capabilities_stay_out_of_anothers_home);
	tcase_add_test(machine, last_words);
	tcase_add_test(machine, hypervisor_that_refuses);
	tcase_add_test(machine, no_hypervisor);
	suite_add_tcase(suite, machine);
	return suite;
}
