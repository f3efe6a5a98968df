# harness: what run.json says about this build.
$(BUILD)/obj/harness/record.o: private ALL_CFLAGS += -DPOOLBENCH_FLAGS='"$(strip $(CFLAGS) $(if $(SAN),-fsanitize=$(SAN)) $(if $(CHECK),-DPOOL_CHECK))"'

.PHONY: bench
bench: all ## make bench                the figures that must be reached; four minutes, nothing else running
	@harness/bench.sh $(BUILD)
.PHONY: bench-states
bench-states: all ## make bench-states        the price of timing states, on against off; six minutes, nothing else running
	@PARTS=states ROUNDS=$${ROUNDS:-201} harness/bench.sh $(BUILD)
