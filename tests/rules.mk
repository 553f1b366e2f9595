# The tests. Each folder adds its own: UNIT is the Check program, TEST_IMAGES are guests for tests.
UNIT        :=
TEST_IMAGES :=
-include tests/unit/rules.mk
-include tests/guests/rules.mk
-include tests/subjects/rules.mk
-include tests/fuzz/rules.mk

# The same sources under AddressSanitizer and UndefinedBehaviorSanitizer, in a build folder of their own.
SAN := SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer' \
	OPT='-O1 -g' B=$(B)/san

.PHONY: test-programs san-programs
test-programs: all $(UNIT) $(TEST_IMAGES)
# A folder of images is known by its bare.elf.
san-programs: $(B)/cpu-models $(UNIT) $(FUZZ_REPLAY) $(DISK) $(B)/images/bare.elf

check-full: needs-browser
check check-full: needs-check
	@$(MAKE) --no-print-directory $(PARALLEL) test-programs
	@$(MAKE) --no-print-directory $(PARALLEL) $(SAN) san-programs
	@B='$(abspath $(B))' CC='$(CC)' tests/check $(if $(filter check-full,$@),--full) \
		$(UNIT) $(UNIT:$(B)/%=$(B)/san/%) $(FUZZ_REPLAY:$(B)/%=$(B)/san/%)

check-valgrind: needs-check
	@$(MAKE) --no-print-directory $(PARALLEL) test-programs
	B='$(abspath $(B))' tests/check tests/e2e/valgrind.sh

check-browser: needs-check needs-browser
	@$(MAKE) --no-print-directory $(PARALLEL) all
	B='$(abspath $(B))' tests/check tests/browser/browser.sh

check-fresh: needs-fresh
	tests/fresh/check-fresh $(SUITE)

bench: needs-run
	@$(MAKE) --no-print-directory $(PARALLEL) all
	B='$(abspath $(B))' tests/bench/bench

# quirklab bench beside perf bench; wants linux-perf and jq, and a machine with nothing else to do.
bench-peers: needs-run
	@$(MAKE) --no-print-directory $(PARALLEL) all
	B='$(abspath $(B))' tests/bench/peers

lint: needs-lint
	@HOST_CFLAGS="$(subst ",\",$(HOST_CFLAGS))" DISPATCH_CFLAGS='$(filter-out $(NO_IDIOMS),$(DISPATCH_CFLAGS))' .ci/lint
