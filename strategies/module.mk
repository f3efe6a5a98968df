# The example strategy in docs/strategies.md is compiled and tested as it stands there.
$(BUILD)/strategy_example.inc: docs/strategies.md
	@mkdir -p $(@D)
	@awk '/^```c$$/ {inside = 1; next} /^```$$/ {inside = 0} inside' $< >$@
$(BUILD)/obj/tests/test_strategies.o: $(BUILD)/strategy_example.inc
$(BUILD)/obj/tests/test_strategies.o: ALL_CFLAGS += -I$(BUILD)
