# harness: what run.json says about this build.
$(BUILD)/obj/harness/record.o: private ALL_CFLAGS += -DPOOLBENCH_FLAGS='"$(strip $(CFLAGS) $(if $(SAN),-fsanitize=$(SAN)) $(if $(CHECK),-DPOOL_CHECK))"'

.PHONY: bench
bench: all ## the figures that must be reached; about two minutes, with nothing else running
	@harness/bench.sh $(BUILD)
