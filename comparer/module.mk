# Installing poolcmp, measuring it, fuzzing it.

DESTDIR ?=
bindir = $(DESTDIR)$(PREFIX)/bin
mandir = $(DESTDIR)$(PREFIX)/share/man/man1

install: all ## make install              poolcmp, poolbench and the manual under PREFIX (/usr/local)
	install -d $(bindir) $(mandir)
	install -m 755 $(BUILD)/poolcmp $(BUILD)/poolbench $(bindir)
	install -m 644 docs/poolcmp.1 $(mandir)

# poolcmp alone needs no library beyond libc.
.PHONY: install-poolcmp
install-poolcmp: $(BUILD)/poolcmp ## make install-poolcmp      poolcmp and its manual alone
	install -d $(bindir) $(mandir)
	install -m 755 $(BUILD)/poolcmp $(bindir)
	install -m 644 docs/poolcmp.1 $(mandir)

uninstall:
	rm -f $(bindir)/poolcmp $(bindir)/poolbench $(mandir)/poolcmp.1

$(BUILD)/benchgen $(BUILD)/benchrun: $(BUILD)/%: $(BUILD)/obj/comparer/%_main.o
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: bench-poolcmp
bench-poolcmp: $(BUILD)/poolcmp $(BUILD)/benchgen $(BUILD)/benchrun ## make bench-poolcmp        CPU and memory of poolcmp on generated files (1 minute)
	@comparer/bench-poolcmp $(BUILD)

# Coverage-guided fuzzing of the reader and of the expressions, each for half of FUZZ_SECONDS.
# Findings and the grown corpus stay in $(BUILD)/fuzz.
FUZZ_SECONDS ?= 120
FUZZ_CC ?= clang
FUZZ_FLAGS = -std=gnu11 -D_GNU_SOURCE -O1 -g -I. -fsanitize=fuzzer,address,undefined \
             -fno-sanitize-recover=all
FUZZ_SRC = $(COMPARER_SRC)

$(BUILD)/fuzz/%: comparer/fuzz_%_main.c $(FUZZ_SRC) $(wildcard comparer/*.h)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -o $@ $< $(FUZZ_SRC) -lm

.PHONY: fuzz-poolcmp
fuzz-poolcmp: $(BUILD)/fuzz/reader $(BUILD)/fuzz/expr ## make fuzz-poolcmp         libFuzzer on reader and expressions (FUZZ_SECONDS=120)
	@for part in reader expr; do \
	  mkdir -p $(BUILD)/fuzz/corpus-$$part; \
	  (cd $(BUILD)/fuzz && ./$$part -max_total_time=$$(($(FUZZ_SECONDS) / 2)) -timeout=10 \
	    -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 corpus-$$part \
	    $(CURDIR)/tests/data/fuzz/$$part) || exit 1; \
	done
