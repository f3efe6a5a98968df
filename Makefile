# poolbench: build, check, bench. `make help` lists the targets.
#
#   make                      build/poolbench and build/poolcmp
#   make check                every test suite, under two minutes
#   make check-asan           the suites under the address and undefined-behaviour sanitizers
#   make check-tsan           the suites that start threads under the thread sanitizer
#   make check-checked        the suites with strategies wrapped by the checker
#   make lint                 gcc and clang with warnings as errors, shellcheck, clang-format
#   make deps                 installs the Debian packages of packages.txt
#
# BUILD=folder builds elsewhere; WERROR=1, SAN=address,undefined, CHECK=1 and CC=clang combine.
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
LIBS_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(LIBS_HARNESS) 2>/dev/null)
HARNESS_LDLIBS := $(shell $(PKG_CONFIG) --libs $(LIBS_HARNESS) 2>/dev/null)
ifeq ($(call have,papi),1)
LIBS_CFLAGS += -DHAVE_PAPI $(shell $(PKG_CONFIG) --cflags papi)
HARNESS_LDLIBS += $(shell $(PKG_CONFIG) --libs papi)
endif
ALL_CFLAGS += $(LIBS_CFLAGS)

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
.PHONY: suites check-asan check-tsan check-checked
.DELETE_ON_ERROR:
# Objects of tests are intermediate to make, which would delete and rebuild them every time.
.SECONDARY:

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

# What the objects are compiled with, so that a change of flags rebuilds them (-Werror changes none).
# A first build says which packages are missing before the compiler trips over the first header.
OBJECTS_BY = $(CC) $(filter-out -Werror,$(ALL_CFLAGS))
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@[ -e $@ ] || harness/deps.sh check build
	@printf '%s\n' '$(OBJECTS_BY)' | cmp -s - $@ || printf '%s\n' '$(OBJECTS_BY)' >$@
FORCE:
.PHONY: FORCE

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# The registry, from the file names alone: written each time, since a file that is gone is newer than
# nothing, and replaced when it differs.
identifier = $(subst -,_,$(1))
$(BUILD)/registry.c: FORCE
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
	   echo '    NULL};'; } >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$(BUILD)/obj/registry.o: $(BUILD)/registry.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Tests: one program a module, tests/test_NAME.c.
CMOCKA_LIBS = $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null)
$(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(BUILD)/libbench.a $(BUILD)/libcomparer.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CMOCKA_LIBS) $(HARNESS_LDLIBS) $(LDLIBS)

# What is missing is installed first; the second make then sees the new pkg-config files.
check:
	@harness/deps.sh ask build,tests
	@$(MAKE) --no-print-directory suites
suites: all $(TEST_BIN)
	@tests/run-suites $(BUILD)

# Each in a build folder of its own, so that they do not rebuild one another.
check-asan:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan SAN=address,undefined suites
check-checked:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/checked CHECK=1 suites

# The comparer and the report have one thread; a suite counts as threaded when its source names
# what starts threads.
TSAN_TESTS = $(shell grep -lE 'pthread|team_|worker_|strategy_|strategies/' $(TEST_SRC) /dev/null)
# Kernels that randomise addresses widely (vm.mmap_rnd_bits) do not leave gcc 12's thread sanitizer
# its shadow; setarch -R turns that off where it is allowed.
check-tsan:
	@$(shell setarch -R true 2>/dev/null && echo setarch -R) $(MAKE) --no-print-directory BUILD=$(BUILD)/tsan SAN=thread TEST_SRC="$(TSAN_TESTS)" suites

deps:
	@harness/deps.sh install build,tests counters,plots,allocator

SCRIPTS = $(shell grep -rlE --exclude-dir=build --exclude-dir=.git '^\#!.*\<(ba)?sh\>' .)
C_FILES = $(shell find . -path ./build -prune -o -name '*.[ch]' -print)
.PHONY: lint-gcc lint-clang lint-text
lint: lint-gcc lint-clang lint-text
lint-gcc lint-clang: lint-%:
	@harness/deps.sh check build,tests,lint
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/lint-$* CC=$* WERROR=1 all tests
lint-text:
	shellcheck -x $(SCRIPTS)
	@clang-format --dry-run -Werror $(C_FILES) && echo 'clang-format: nothing to change'
.PHONY: tests
tests: $(TEST_BIN)

format:
	clang-format -i $(C_FILES)

help:
	@awk -F: '/^[a-z][a-z-]*:.*##/ {sub(/.*## /, "", $$0); print}' $(MAKEFILE_LIST)
	@sed -n 's/^#   //p' Makefile

clean:
	rm -rf $(BUILD)

-include $(wildcard */module.mk)
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
