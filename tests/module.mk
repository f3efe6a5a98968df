# Checks that are no suites.
.PHONY: fresh-check
fresh-check: ## make fresh-check          both README commands in a fresh Debian 12 (root, debootstrap, 3 minutes)
	@tests/fresh-check
