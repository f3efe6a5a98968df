# poolbench: build, check, bench. `make help` lists the targets.
#
#   make                      build/poolbench and build/poolcmp
#   make check                every test suite, under two minutes
#   make BUILD=build/asan SAN=address,undefined check
#   make BUILD=build/tsan SAN=thread check
#   make BUILD=build/check CHECK=1 check       strategies wrapped by the checker
#
# Sources are found by name: a new strategies/NAME.c, workloads/NAME.c, workloads/NAME/*.c,
# harness/NAME.c, comparer/NAME.c or tests/test_NAME.c needs no line here. Targets of one part
# live in its module.mk.

BUILD ?= build
PREFIX ?= /usr/local
PKG_CONFIG ?= pkg-config

have = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo 1)

WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
       -Wvla -Wformat=2 -Wundef
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARN) $(CFLAGS) -fno-omit-frame-pointer -pthread -I. -MMD -MP
LDLIBS = -pthread -lm -ldl

ifdef WERROR
ALL_CFLAGS += -Werror
endif
ifdef SAN
ALL_CFLAGS += -fsanitize=$(SAN) -fno-sanitize-recover=all
ALL_LDFLAGS += -fsanitize=$(SAN)
endif
ifdef CHECK
ALL_CFLAGS += -DPOOL_CHECK
endif
ALL_LDFLAGS += $(LDFLAGS)

LIBS_HARNESS = hwloc jansson ck
ALL_CFLAGS += $(shell $(PKG_CONFIG) --cflags $(LIBS_HARNESS) 2>/dev/null)
HARNESS_LDLIBS = $(shell $(PKG_CONFIG) --libs $(LIBS_HARNESS) 2>/dev/null)
ifeq ($(call have,papi),1)
ALL_CFLAGS += -DHAVE_PAPI $(shell $(PKG_CONFIG) --cflags papi)
HARNESS_LDLIBS += $(shell $(PKG_CONFIG) --libs papi)
endif

# Sources by name. *_main.c hold a main and stay out of the libraries.
COMPARER_SRC := $(filter-out %_main.c,$(wildcard comparer/*.c))
HARNESS_SRC := $(filter-out %_main.c,$(wildcard harness/*.c))
STRATEGY_SRC := $(wildcard strategies/*.c)
SUPPORT_SRC := $(wildcard strategies/support/*.c)
WORKLOAD_SRC := $(wildcard workloads/*.c)
WORKLOAD_DIRS := $(sort $(patsubst %/,%,$(dir $(wildcard workloads/*/*.c))))
WORKLOAD_DIR_SRC := $(wildcard workloads/*/*.c)
TEST_SRC := $(wildcard tests/test_*.c)

STRATEGY_NAMES := $(sort $(patsubst strategies/%.c,%,$(STRATEGY_SRC)))
WORKLOAD_NAMES := $(sort $(patsubst workloads/%.c,%,$(WORKLOAD_SRC)) $(notdir $(WORKLOAD_DIRS)))

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
COMPARER_OBJ := $(call objects,$(COMPARER_SRC))
BENCH_OBJ := $(call objects,$(HARNESS_SRC) $(STRATEGY_SRC) $(SUPPORT_SRC) $(WORKLOAD_SRC) $(WORKLOAD_DIR_SRC)) \
             $(BUILD)/obj/registry.o
TEST_BIN := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_SRC))

.DEFAULT_GOAL := all
.PHONY: all check deps install uninstall clean help format lint
.DELETE_ON_ERROR:

all: $(BUILD)/poolbench $(BUILD)/poolcmp

$(BUILD)/poolcmp: $(BUILD)/obj/comparer/poolcmp_main.o $(BUILD)/libcomparer.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/poolbench: $(BUILD)/obj/harness/poolbench_main.o $(BUILD)/libbench.a $(BUILD)/libcomparer.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(HARNESS_LDLIBS) $(LDLIBS)

$(BUILD)/libcomparer.a: $(COMPARER_OBJ)
$(BUILD)/libbench.a: $(BENCH_OBJ)
$(BUILD)/%.a:
	@rm -f $@
	$(AR) rcs $@ $^

# What the objects are compiled with, so that a change of flags rebuilds them.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || printf '%s\n' '$(CC) $(ALL_CFLAGS)' >$@
FORCE:

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# The registry, from the file names alone.
identifier = $(subst -,_,$(1))
$(BUILD)/registry.c: $(STRATEGY_SRC) $(WORKLOAD_SRC) $(WORKLOAD_DIR_SRC) Makefile
	@mkdir -p $(@D)
	@{ echo '/* Written by make from the names in strategies/ and workloads/. */'; \
	   echo '#include "workloads/workload.h"'; \
	   for n in $(call identifier,$(STRATEGY_NAMES)); do echo "extern const struct strategy strategy_$$n;"; done; \
	   echo 'const struct strategy *const strategies[] = {'; \
	   for n in $(call identifier,$(STRATEGY_NAMES)); do echo "    &strategy_$$n,"; done; \
	   echo '    NULL};'; \
	   for n in $(call identifier,$(WORKLOAD_NAMES)); do echo "extern const struct workload workload_$$n;"; done; \
	   echo 'const struct workload *const workloads[] = {'; \
	   for n in $(call identifier,$(WORKLOAD_NAMES)); do echo "    &workload_$$n,"; done; \
	   echo '    NULL};'; } >$@
$(BUILD)/obj/registry.o: $(BUILD)/registry.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Tests: one program a module, tests/test_NAME.c.
CMOCKA_LIBS = $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null)
$(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(BUILD)/libbench.a $(BUILD)/libcomparer.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CMOCKA_LIBS) $(HARNESS_LDLIBS) $(LDLIBS)

check: all $(TEST_BIN)
	@tests/run-suites $(BUILD)

help:
	@awk -F: '/^[a-z][a-z-]*:.*##/ {sub(/.*## /, "", $$0); print}' $(MAKEFILE_LIST)
	@sed -n 's/^#   //p' Makefile

clean:
	rm -rf $(BUILD)

-include $(wildcard */module.mk)
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
