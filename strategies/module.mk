# The example strategy in docs/strategies.md is compiled and tested as it stands there.
$(BUILD)/obj/tests/test_strategies.o: $(BUILD)/strategies_example.inc
$(BUILD)/obj/tests/test_strategies.o: ALL_CFLAGS += -I$(BUILD)
