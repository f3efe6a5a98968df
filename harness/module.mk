# harness: what run.json says about this build.
$(BUILD)/obj/harness/record.o: private ALL_CFLAGS += -DPOOLBENCH_FLAGS='"$(strip $(CFLAGS) $(if $(SAN),-fsanitize=$(SAN)) $(if $(CHECK),-DPOOL_CHECK))"'

.PHONY: bench
bench: all ## make bench                the figures that must be reached; two minutes, nothing else running
	@harness/bench.sh $(BUILD)
.PHONY: bench-states
bench-states: all ## make bench-states        the price of timing states, on against off; two minutes, nothing else running
	@harness/bench-states.sh $(BUILD)
