# The scripts go where an installed poolbench looks for them.
plotsdir = $(DESTDIR)$(PREFIX)/share/poolbench/plots
install: install-plots
uninstall: uninstall-plots
.PHONY: install-plots uninstall-plots
install-plots:
	install -d $(plotsdir)
	install -m 644 plots/*.gp $(plotsdir)
uninstall-plots:
	rm -rf $(plotsdir)
