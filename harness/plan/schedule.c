// SPDX-License-Identifier: MIT
/*
 * Runs the cells of a plan: a queue of boots, worker threads that take the next one, and what
 * becomes of a guest: results, or boots that have to follow.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/realise.h"
#include "harness/guest/payload.h"
#include "harness/judge/boots.h"
#include "harness/judge/program.h"
#include "harness/guest/disk.h"
#include "harness/plan/expected.h"
#include "harness/plan/groups.h"
#include "harness/plan/plan.h"
#include "harness/util/cleanup.h"
#include "images/linux/cmdline.h"
#include "images/linux/job.h"

#define TRIES 2
/* Of short boots one in so many is followed by a full one, which has to show the same. */
#define SAMPLED_EVERY 32
/* An appliance takes half a minute to start: the logs of so many dead guests tell what is wrong. */
#define DISK_LOGS_MOST 8

/* One guest to be booted. */
struct boot {
	struct boot *next;
	unsigned attempt; /* 1..TRIES, of each of its cells */
	bool rack;
	struct cell_result *brief; /* of its one cell after a short boot: this one is full, to be
				      compared. NULL: it is not. Owned */
	size_t count;
	size_t cells[]; /* indices into the plan */
};

struct schedule {
	const struct plan *plan;
	const struct plan_options *options;
	struct results *results;
	const struct schedule_events *events;
	struct expected expected;
	atomic_uint disk_logs; /* collected so far */

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct boot *first, **last; /* what waits, in order */
	unsigned under_way;
	bool ended; /* interrupted, or err is set */
	size_t unfinished;
	struct error *err;
	char *symbols; /* of the kernel that is judged, as a guest of it said; NULL: none did */

	pthread_mutex_t in_order; /* records and events come in one order */
};

struct worker {
	pthread_t thread;
	struct schedule *schedule;
	struct connection *connection;
	struct guest_result guest;
	const struct realised *realised; /* of the boot's cells, while it lasts */
};

/* --- the queue -----------------------------------------------------------------------------------
 */

static struct boot *boot_new(size_t count, unsigned attempt, bool rack)
{
	struct boot *boot = xcalloc(1, sizeof(*boot) + count * sizeof(*boot->cells));

	boot->count = count;
	boot->attempt = attempt;
	boot->rack = rack;
	return boot;
}

static void boot_free(struct boot *boot)
{
	if (boot->brief)
		cell_result_free(boot->brief);
	free(boot->brief);
	free(boot);
}

static void push(struct schedule *schedule, struct boot *boot)
{
	pthread_mutex_lock(&schedule->lock);
	*schedule->last = boot;
	schedule->last = &boot->next;
	pthread_cond_signal(&schedule->changed);
	pthread_mutex_unlock(&schedule->lock);
}

/* Takes over BRIEF, which may be NULL. */
static void push_alone(struct schedule *schedule, size_t cell, unsigned attempt,
		       struct cell_result *brief)
{
	struct boot *boot = boot_new(1, attempt, false);

	boot->brief = brief;
	boot->cells[0] = cell;
	push(schedule, boot);
}

/* The next boot; waits for those under way, which may bring more; NULL when there is nothing left.
 */
static struct boot *take(struct schedule *schedule)
{
	const struct schedule_events *events = schedule->events;
	struct boot *boot = NULL;

	pthread_mutex_lock(&schedule->lock);
	for (;;) {
		if (events->stop && events->stop(events->context))
			schedule->ended = true;
		if (schedule->ended || schedule->first || !schedule->under_way)
			break;
		pthread_cond_wait(&schedule->changed, &schedule->lock);
	}
	if (!schedule->ended && schedule->first) {
		boot = schedule->first;
		schedule->first = boot->next;
		if (!schedule->first)
			schedule->last = &schedule->first;
		schedule->under_way++;
	}
	pthread_mutex_unlock(&schedule->lock);
	return boot;
}

static void done(struct schedule *schedule)
{
	pthread_mutex_lock(&schedule->lock);
	schedule->under_way--;
	pthread_cond_broadcast(&schedule->changed);
	pthread_mutex_unlock(&schedule->lock);
}

/* Ends the run; the first error is the one that is told. */
static void end_run(struct schedule *schedule, const struct error *err)
{
	pthread_mutex_lock(&schedule->lock);
	schedule->ended = true;
	if (err && schedule->err && schedule->err->kind == ERROR_NONE)
		*schedule->err = *err;
	pthread_cond_broadcast(&schedule->changed);
	pthread_mutex_unlock(&schedule->lock);
}

/* The cells of a group, shared out evenly among `guests` boots; returns how many those are. */
static size_t share_out(struct boot **boots, const struct plan *plan, const unsigned *group,
			unsigned number, size_t cells, size_t guests)
{
	size_t count = 0, in_boot = 0;

	for (size_t i = 0; i < plan->count; i++) {
		if (group[i] != number)
			continue;
		if (!in_boot) {
			size_t share = cells / guests + (count < cells % guests);

			boots[count] = boot_new(share, 1, share > 1);
		}
		boots[count]->cells[in_boot++] = i;
		if (in_boot == boots[count]->count) {
			in_boot = 0;
			count++;
		}
	}
	return count;
}

static int compare_boots(const void *left, const void *right)
{
	const struct boot *const *a = left, *const *b = right;

	if ((*a)->count != (*b)->count)
		return (*a)->count < (*b)->count ? 1 : -1;
	return (*a)->cells[0] < (*b)->cells[0] ? -1 : 1;
}

/* The largest first: they are the long boots, and what is short fills the gaps at the end. */
static void fill_queue(struct schedule *schedule, const struct hypervisor *const *hypervisors,
		       size_t hypervisor_count, size_t workers)
{
	const struct plan *plan = schedule->plan;
	const struct plan_options *options = schedule->options;
	CLEANUP_FREE unsigned *group = xcalloc(plan->count + 1, sizeof(*group));
	CLEANUP_FREE struct boot **boots = xcalloc(plan->count + 1, sizeof(*boots));
	CLEANUP_FREE size_t *sizes = NULL, *guests = NULL;
	size_t groups, count = 0;

	groups = groups_make(group, plan, options, hypervisors, hypervisor_count);
	sizes = xcalloc(groups + 1, sizeof(*sizes));
	guests = xcalloc(groups + 1, sizeof(*guests));
	for (size_t i = 0; i < plan->count; i++) {
		schedule->unfinished += !plan->cells[i].finished;
		if (group[i])
			sizes[group[i] - 1]++;
	}
	groups_split(guests, sizes, groups, options->pack, groups_small(options->image), workers);
	for (unsigned number = 1; number <= groups; number++)
		count += share_out(boots + count, plan, group, number, sizes[number - 1],
				   guests[number - 1]);
	qsort(boots, count, sizeof(struct boot *), compare_boots);
	for (size_t i = 0; i < count; i++)
		push(schedule, boots[i]);
	for (size_t i = 0; i < plan->count; i++)
		if (!group[i] && !plan->cells[i].finished)
			push_alone(schedule, i, 1, NULL);
}

/* --- one cell's result ---------------------------------------------------------------------------
 */

static void fill_identity(struct worker *worker, struct cell_result *result,
			  const struct plan_cell *cell)
{
	const struct plan_options *options = worker->schedule->options;
	const struct cpu *cpu = cell->cpu;

	snprintf(result->run, sizeof(result->run), "%s", results_run(worker->schedule->results));
	snprintf(result->cell, sizeof(result->cell), "%s", cell->name);
	snprintf(result->name, sizeof(result->name), "%s", cpu->name);
	snprintf(result->vendor, sizeof(result->vendor), "%s", cpu->vendor);
	result->family = cpu->family;
	result->model = cpu->model;
	result->stepping = cpu->stepping;
	snprintf(result->spec, sizeof(result->spec), "%s", cpu->spec);
	snprintf(result->uarch, sizeof(result->uarch), "%s", cpu->uarch);
	for (size_t i = 0; i < cpu->edit_count; i++)
		result->edits[i] = xstrdup(cpu->edits[i]);
	result->edit_count = cpu->edit_count;
	snprintf(result->image, sizeof(result->image), "%s", plan_image(options));
	snprintf(result->subject, sizeof(result->subject), "%s", options->subject);
	snprintf(result->accel, sizeof(result->accel), "%s",
		 connection_hypervisor(worker->connection)->kvm ? "kvm" : "tcg");
	snprintf(result->qemu, sizeof(result->qemu), "%s",
		 connection_qemu_text(worker->connection));
	snprintf(result->libvirt, sizeof(result->libvirt), "%s",
		 connection_libvirt_text(worker->connection));
}

static void fill_guest(struct cell_result *result, const struct boot *boot,
		       const struct guest_result *guest, const struct observation *observation)
{
	double share = 1.0 / (double)boot->count;

	result->pack = (unsigned)boot->count;
	result->tries = boot->attempt;
	result->seconds.create = guest->create * share;
	result->seconds.guest = guest->guest * share;
	result->seconds.destroy = guest->destroy * share;
	result->seconds.total = (guest->create + guest->guest + guest->destroy) * share;
	if (observation)
		snprintf(result->kernel, sizeof(result->kernel), "%s", observation->version);
}

/* A libvirt model that models.tsv does not have, and that does not even run a 64-bit guest. */
static void fill_unknown(struct cell_result *result)
{
	char reason[sizeof(result->reason)];

	snprintf(reason, sizeof(reason), "no expected pick; %.400s", result->reason);
	memcpy(result->reason, reason, sizeof(reason));
	result->verdict = VERDICT_SKIP;
	result->pick_count = 0;
}

static void record(struct worker *worker, const struct cell_result *result)
{
	struct schedule *schedule = worker->schedule;
	struct error err = { 0 };

	pthread_mutex_lock(&schedule->in_order);
	if (results_add(schedule->results, result, &err) < 0) {
		end_run(schedule, &err);
	} else {
		pthread_mutex_lock(&schedule->lock);
		schedule->unfinished--;
		pthread_mutex_unlock(&schedule->lock);
		schedule->events->cell(schedule->events->context, result);
	}
	pthread_mutex_unlock(&schedule->in_order);
}

/* --- one guest -----------------------------------------------------------------------------------
 */

/* NULL: this CPU did not report. */
static const struct observation *observation_of(const struct worker *worker,
						const struct boot *boot, size_t place)
{
	if (!worker->guest.reader)
		return NULL;
	return report_cpu(worker->guest.reader, (uint16_t)(boot->rack ? place + 1 : 0));
}

static void keep_logs(struct worker *worker, const struct boot *boot, const size_t *places,
		      size_t count, const char *part)
{
	const struct plan *plan = worker->schedule->plan;
	CLEANUP_FREE const char **names = xcalloc(count + 1, sizeof(*names));
	struct error err = { 0 };

	for (size_t i = 0; i < count; i++)
		names[i] = plan->cells[boot->cells[places[i]]].name;
	if (count &&
	    results_logs(worker->schedule->results, names, count, part, &worker->guest, &err) < 0)
		end_run(worker->schedule, &err);
	for (size_t i = 0; i < count; i++) {
		const struct observation *seen = observation_of(worker, boot, places[i]);

		if (seen && seen->program &&
		    results_program(worker->schedule->results, names[i], part, seen->program,
				    &err) < 0)
			end_run(worker->schedule, &err);
	}
}

static bool retried(enum verdict verdict)
{
	return verdict == VERDICT_HUNG || verdict == VERDICT_CRASHED || verdict == VERDICT_ERROR;
}

/* By the version of the subject: the kernel's release is that of what else boots. */
static const struct expectations *expectations_of(struct worker *worker,
						  const struct observation *observation)
{
	struct expected *expected = &worker->schedule->expected;
	char version[64];

	if (!observation->program)
		return expected_of(expected, observation->version);
	program_version(version, sizeof(version), observation->program);
	return expected_of(expected, version);
}

/* What a short boot cannot tell, a full one is asked at the second try. */
static bool is_short(const struct plan_options *options, const struct boot *boot)
{
	return options->kind == SUBJECT_KERNEL && options->image == GUEST_LINUX &&
	       !options->full_boot && boot->attempt == 1 && !boot->brief;
}

/* What becomes of one cell of a guest that has ended. */
enum fate { FATE_RECORDED, FATE_ALONE, FATE_AGAIN, FATE_SAMPLED, FATE_COMPARED };

static enum fate settle(struct worker *worker, const struct boot *boot, size_t place,
			struct cell_result *result)
{
	const struct plan_cell *cell = &worker->schedule->plan->cells[boot->cells[place]];
	const struct guest_result *guest = &worker->guest;
	const struct observation *observation = observation_of(worker, boot, place);
	const struct plan_options *options = worker->schedule->options;
	bool whole;

	whole = observation && observation->done;
	if (!whole && boot->rack)
		return FATE_ALONE;
	fill_identity(worker, result, cell);
	result->forced = worker->realised[place].forced;
	result->unavailable = worker->realised[place].unavailable;
	fill_guest(result, boot, guest, observation);
	if (observation)
		judge(result, cell->cpu, observation, expectations_of(worker, observation));
	if (result->kernel_seen && options->image == GUEST_LINUX)
		snprintf(result->kernel_seen->boot, sizeof(result->kernel_seen->boot), "%s",
			 is_short(options, boot) ? "short" : "full");
	if (!whole)
		judge_death(result, guest);
	if (retried(result->verdict) && !cell->cpu->identity_known)
		fill_unknown(result);
	if (retried(result->verdict) && boot->attempt < TRIES)
		return FATE_AGAIN;
	if (boot->brief)
		return FATE_COMPARED;
	return is_short(options, boot) && boot->cells[place] % SAMPLED_EVERY == 0 ? FATE_SAMPLED
										  : FATE_RECORDED;
}

/* A cell of the sample: its record is that of the short boot, and an error where the full one shows
 * something else. */
static void record_compared(struct worker *worker, struct cell_result *brief,
			    const struct cell_result *full)
{
	char what[400];

	brief->seconds.create += full->seconds.create;
	brief->seconds.guest += full->seconds.guest;
	brief->seconds.destroy += full->seconds.destroy;
	brief->seconds.total += full->seconds.total;
	if (retried(full->verdict)) {
		brief->verdict = VERDICT_ERROR;
		snprintf(brief->reason, sizeof(brief->reason),
			 "no full boot to compare the short one with: %.400s", full->reason);
	} else if (!boots_agree(what, sizeof(what), brief, full)) {
		brief->verdict = VERDICT_ERROR;
		snprintf(brief->reason, sizeof(brief->reason),
			 "a short boot does not tell what a full one does: %s", what);
	} else {
		snprintf(brief->kernel_seen->boot, sizeof(brief->kernel_seen->boot), "both");
	}
	record(worker, brief);
}

/* What follows from a cell's fate. What it needs of the result later, it moves out. */
static void follow(struct worker *worker, struct boot *boot, size_t place, enum fate fate,
		   struct cell_result *result)
{
	struct schedule *schedule = worker->schedule;
	struct cell_result *brief = boot->brief;

	switch (fate) {
	case FATE_RECORDED:
		record(worker, result);
		break;
	case FATE_COMPARED:
		record_compared(worker, brief, result);
		break;
	case FATE_SAMPLED:
		brief = xcalloc(1, sizeof(*brief));
		*brief = *result;
		*result = (struct cell_result){ 0 };
		push_alone(schedule, boot->cells[place], 1, brief);
		break;
	case FATE_ALONE:
		push_alone(schedule, boot->cells[place], boot->attempt, NULL);
		break;
	case FATE_AGAIN:
		boot->brief = NULL;
		push_alone(schedule, boot->cells[place], boot->attempt + 1, brief);
		break;
	}
}

/* Of a guest that its own init had booted, and that will not be tried again. */
static void collect_logs(struct worker *worker, struct cell_result *result)
{
	struct schedule *schedule = worker->schedule;
	struct guest_result *guest = &worker->guest;
	struct error err = { 0 };
	size_t length;

	if (!schedule->options->full_boot || !guest->overlay || !retried(result->verdict) ||
	    guest->end == GUEST_FINISHED ||
	    atomic_fetch_add(&schedule->disk_logs, 1) >= DISK_LOGS_MOST)
		return;
	length = strlen(result->reason);
	if (disk_logs(&guest->logs, worker->connection, guest->overlay, &err) < 0)
		snprintf(result->reason + length, sizeof(result->reason) - length,
			 "; its logs cannot be read: %.200s", err.text);
	else
		snprintf(result->reason + length, sizeof(result->reason) - length, "%s",
			 guest->logs.length ? "; its logs are in disk.log" : "; it wrote no logs");
}

static void settle_all(struct worker *worker, struct boot *boot)
{
	CLEANUP_FREE struct cell_result *results = xcalloc(boot->count, sizeof(*results));
	CLEANUP_FREE enum fate *fates = xcalloc(boot->count, sizeof(*fates));
	CLEANUP_FREE size_t *places = xcalloc(boot->count, sizeof(*places));
	static const struct {
		enum fate fate;
		const char *part;
	} parts[] = {
		{ FATE_RECORDED, NULL }, { FATE_SAMPLED, NULL },  { FATE_COMPARED, "full" },
		{ FATE_ALONE, "rack" },	 { FATE_AGAIN, "try-1" },
	};

	for (size_t i = 0; i < boot->count; i++) {
		fates[i] = settle(worker, boot, i, &results[i]);
		if (fates[i] == FATE_RECORDED)
			collect_logs(worker, &results[i]);
	}
	/* The logs first: a record says that all of its cell is there. */
	for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) {
		size_t count = 0;

		for (size_t i = 0; i < boot->count; i++)
			if (fates[i] == parts[p].fate)
				places[count++] = i;
		keep_logs(worker, boot, places, count, parts[p].part);
	}
	for (size_t i = 0; i < boot->count; i++) {
		follow(worker, boot, i, fates[i], &results[i]);
		cell_result_free(&results[i]);
	}
}

/* A CPU that cannot be realised at all: no guest can say more. */
static void record_unrealised(struct worker *worker, size_t cell, const struct error *why)
{
	CLEANUP_FREE struct cell_result *result = xcalloc(1, sizeof(*result));

	fill_identity(worker, result, &worker->schedule->plan->cells[cell]);
	result->pack = result->tries = 1;
	result->verdict = VERDICT_ERROR;
	snprintf(result->reason, sizeof(result->reason), "%.500s", why->text);
	record(worker, result);
	cell_result_free(result);
}

/* Realises each cell of the boot; those that cannot be are recorded and leave it. */
static void realise_all(struct worker *worker, struct boot *boot, struct realised *realised)
{
	const struct plan_options *options = worker->schedule->options;
	size_t kept = 0;

	for (size_t i = 0; i < boot->count; i++) {
		struct error err = { 0 };
		size_t cell = boot->cells[i];

		if (realise(&realised[kept], worker->schedule->plan->cells[cell].cpu,
			    options->image == GUEST_BARE ? REALISE_BARE : REALISE_LINUX,
			    connection_hypervisor(worker->connection), &err) < 0)
			record_unrealised(worker, cell, &err);
		else
			boot->cells[kept++] = cell;
	}
	boot->count = kept;
}

/* The first guest of a kernel says where its symbols are; the next need not look. */
static void learn_symbols(struct schedule *schedule, const struct guest_result *guest)
{
	const struct observation *observation = guest->reader ? report_cpu(guest->reader, 0) : NULL;

	if (!observation || !observation->complete || !observation->kernel ||
	    !*observation->kernel->symbols)
		return;
	pthread_mutex_lock(&schedule->lock);
	if (!schedule->symbols)
		schedule->symbols = xstrdup(observation->kernel->symbols);
	pthread_mutex_unlock(&schedule->lock);
}

/* What a guest is spared that knows it from an earlier one. */
static void add_symbols(struct text *words, struct schedule *schedule)
{
	pthread_mutex_lock(&schedule->lock);
	if (schedule->symbols)
		text_addf(words, " " LINUX_SYMBOLS_WORD "=%s", schedule->symbols);
	pthread_mutex_unlock(&schedule->lock);
}

/* Of a Linux guest; NULL for another. Caller frees. */
static char *kernel_cmdline(struct schedule *schedule, bool brief, bool rack)
{
	const struct plan_options *options = schedule->options;
	bool kernel = options->kind == SUBJECT_KERNEL;
	CLEANUP_TEXT struct text words = { 0 };

	if (options->image == GUEST_BARE)
		return NULL;
	text_addf(&words, "%s", kernel ? LINUX_CMDLINE_KERNEL : LINUX_CMDLINE);
	if (brief) {
		text_addf(&words, " " LINUX_CMDLINE_SHORT);
		add_symbols(&words, schedule);
	}
	if (rack)
		text_addf(&words, " " LINUX_CMDLINE_RACK);
	if (kernel)
		text_addf(&words, " " LINUX_SUBJECT_WORD "=" LINUX_SUBJECT_KERNEL);
	if (options->image == GUEST_DISK)
		text_addf(&words, " %s %s", options->root,
			  options->full_boot ? LINUX_FULL_BOOT : LINUX_AGENT_BOOT);
	if (options->words)
		text_addf(&words, " %s", options->words);
	if (options->append)
		text_addf(&words, " %s", options->append);
	return xstrdup(text_string(&words));
}

/* Of a guest with a program. Its files are there up to three times: as they come, as they are
 * unpacked, and as the copy that the program sees. */
static unsigned memory_mib(const struct plan_options *options)
{
	if (!options->payload || options->image == GUEST_DISK)
		return 0;
	return LINUX_PROGRAM_MEMORY_MIB + 4 * (unsigned)(payload_bytes(options->payload) >> 20);
}

static void run_boot(struct worker *worker, struct boot *boot)
{
	const struct plan_options *options = worker->schedule->options;
	CLEANUP_FREE struct realised *realised = xcalloc(boot->count, sizeof(*realised));
	CLEANUP_FREE const struct realised **cpus = xcalloc(boot->count, sizeof(*cpus));
	const bool brief = is_short(options, boot);
	CLEANUP_FREE char *cmdline = kernel_cmdline(worker->schedule, brief, boot->rack);
	struct guest_request request = {
		.image = options->image,
		.kernel = brief && options->unpacked ? options->unpacked : options->kernel,
		.initrd =
			boot->rack && options->rack_initrd ? options->rack_initrd : options->initrd,
		.disk = options->disk,
		.cmdline = cmdline,
		.nvdimm = options->nvdimm,
		.cpus = cpus,
		.rack = boot->rack,
		.memory_mib = memory_mib(options),
		.program_seconds = options->payload ? options->silence * JOB_TOTAL_FACTOR : 0,
		.timeout_scale = options->timeout_scale,
	};

	realise_all(worker, boot, realised);
	for (size_t i = 0; i < boot->count; i++)
		cpus[i] = &realised[i];
	request.cpu_count = boot->count;
	worker->realised = realised;
	if (boot->count) {
		memset(&worker->guest, 0, sizeof(worker->guest));
		guest_boot(worker->connection, &request, &worker->guest);
		if (worker->guest.end == GUEST_INTERRUPTED)
			end_run(worker->schedule, NULL);
		else
			settle_all(worker, boot);
		learn_symbols(worker->schedule, &worker->guest);
		guest_result_free(&worker->guest);
	}
	for (size_t i = 0; i < boot->count; i++)
		realised_free(&realised[i]);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct boot *boot;

	while ((boot = take(worker->schedule))) {
		run_boot(worker, boot);
		boot_free(boot);
		done(worker->schedule);
	}
	return NULL;
}

/* --- the run -------------------------------------------------------------------------------------
 */

static void start_and_join(struct schedule *schedule, struct connection *const *connections,
			   size_t connection_count, size_t count)
{
	struct worker *workers = xcalloc(count, sizeof(*workers));
	size_t started = 0;

	for (size_t i = 0; i < count; i++) {
		struct error err = { 0 };
		char name[32];
		int code;

		workers[i].schedule = schedule;
		workers[i].connection = connections[i % connection_count];
		code = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
		if (code) {
			error_set(&err, ERROR_LAB, "no thread for a guest: %s", strerror(code));
			end_run(schedule, &err);
			break;
		}
		snprintf(name, sizeof(name), "boot-%zu", i + 1);
		pthread_setname_np(workers[i].thread, name);
		started++;
	}
	for (size_t i = 0; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	free(workers);
}

int schedule_run(const struct plan *plan, const struct plan_options *options,
		 struct connection *const *connections, size_t connection_count,
		 struct results *results, const struct schedule_events *events, struct error *err)
{
	struct error failure = { 0 };
	struct schedule schedule = {
		.plan = plan,
		.options = options,
		.results = results,
		.events = events,
		.err = &failure,
	};
	size_t workers = options->jobs * connection_count;
	CLEANUP_FREE const struct hypervisor **hypervisors =
		xcalloc(connection_count, sizeof(*hypervisors));

	if (expected_open(&schedule.expected, options, err) < 0)
		return -1;
	schedule.last = &schedule.first;
	pthread_mutex_init(&schedule.lock, NULL);
	pthread_mutex_init(&schedule.in_order, NULL);
	pthread_cond_init(&schedule.changed, NULL);
	for (size_t i = 0; i < connection_count; i++)
		hypervisors[i] = connection_hypervisor(connections[i]);
	fill_queue(&schedule, hypervisors, connection_count, workers);
	start_and_join(&schedule, connections, connection_count, workers);
	while (schedule.first) {
		struct boot *boot = schedule.first;

		schedule.first = boot->next;
		boot_free(boot);
	}
	pthread_cond_destroy(&schedule.changed);
	free(schedule.symbols);
	pthread_mutex_destroy(&schedule.in_order);
	pthread_mutex_destroy(&schedule.lock);
	expected_close(&schedule.expected);
	if (failure.kind != ERROR_NONE) {
		if (err)
			*err = failure;
		return -1;
	}
	if (schedule.unfinished)
		return error_set(err, ERROR_LAB, "interrupted: %zu cell%s no result",
				 schedule.unfinished, schedule.unfinished == 1 ? " has" : "s have");
	return 0;
}
