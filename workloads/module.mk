# The fixtures of workload compare are assembled into the program (.incbin), so that it finds them
# however it is started.
$(BUILD)/obj/workloads/compare/fixtures.o: $(wildcard workloads/objects/*.json)
