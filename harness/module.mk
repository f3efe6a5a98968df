# harness: what run.json says about this build.
$(BUILD)/obj/harness/record.o: private ALL_CFLAGS += -DPOOLBENCH_FLAGS='"$(strip $(CFLAGS) $(if $(SAN),-fsanitize=$(SAN)) $(if $(CHECK),-DPOOL_CHECK))"'

.PHONY: bench
bench: all ## make bench                the figures that must be reached; two minutes, nothing else running
	@harness/bench.sh $(BUILD)
.PHONY: bench-price
bench-price: all ## make bench-price         what timing states and single ops costs; six minutes, nothing else running
	@PARTS=price ROUNDS=$${ROUNDS:-201} harness/bench.sh $(BUILD)
