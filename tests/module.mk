# The C code on a page, for the suite that tries it.
$(BUILD)/%_example.inc: docs/%.md
	@mkdir -p $(@D)
	@awk '/^```c$$/ {inside = 1; next} /^```$$/ {inside = 0} inside' $< >$@

# Checks that are no suites.
.PHONY: fresh-check
fresh-check: ## make fresh-check          both README commands in a fresh Debian 12 (root, debootstrap, 3 minutes)
	@tests/fresh-check

# What poolcmp's statistics claim, simulated; the table stands in docs/statistics.md.
.PHONY: calibrate
calibrate: $(BUILD)/calibrate ## make calibrate            false alarms, coverage and power by simulation (20 s)
	@$<
$(BUILD)/calibrate: $(BUILD)/obj/comparer/calibrate_main.o $(BUILD)/libcomparer.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)
