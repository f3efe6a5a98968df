# The fixtures of workload compare are assembled into the program (.incbin), so that it finds them
# however it is started.
$(BUILD)/obj/workloads/compare/fixtures.o: $(wildcard workloads/objects/*.json)

# The example workload in docs/workloads.md is compiled and tested as it stands there.
$(BUILD)/obj/tests/test_workload_example.o: $(BUILD)/workloads_example.inc
$(BUILD)/obj/tests/test_workload_example.o: ALL_CFLAGS += -I$(BUILD)
