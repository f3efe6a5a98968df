# harness: what run.json says about this build.
$(BUILD)/obj/harness/record.o: private ALL_CFLAGS += -DPOOLBENCH_FLAGS='"$(strip $(CFLAGS) $(if $(SAN),-fsanitize=$(SAN)) $(if $(CHECK),-DPOOL_CHECK))"'
