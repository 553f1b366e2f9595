# Programs that are subjects. The example is a static one, for a test of the whole way.
SUBJECT_CFLAGS = -std=gnu17 $(OPT) $(WARN) -I.
TEST_IMAGES   += $(B)/subjects/example

$(B)/subjects/%: tests/subjects/%.c tests/subjects/quirklab.h $(B)/flags
	@mkdir -p $(@D)
	$(call brief,CC)
	$(Q)$(CC) $(SUBJECT_CFLAGS) -static -o $@ $<
