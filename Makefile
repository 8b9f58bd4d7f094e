# Bulkhead: the two commands that matter are `make run` and `make test`
#
#   make run          sets up what is missing, builds and runs the showcase, reports
#       FOR=20s           how long, in the machine's time
#       REALTIME=1        by the wall clock, until Ctrl-C, for interactive use
#       FAULT=NAME        linux-panic, control-wild-write, plant-hang, linux-flood
#       LINUX_CORES=2     an SMP Linux
#       KERNEL=…          an arm64 Image, a Debian kernel package or its .deb, debian-rt, pseudo-nmi
#       INITRD=…          an initial file system of one's own
#       SYSTEM=…          another system than systems/drive
#       BOARD=…           another board than the system's, as xlnx-versal-virt
#   make test         sets up what is missing and runs all tests
#   make test-long    also those that take hours
#   make check        format, lints, layers, licences
#   make setup        only sets up; FLAVOURS="debian debian-rt" names kernels
#   make clean        removes what was built, keeps what was fetched

.PHONY: run test test-long check setup clean help
.NOTPARALLEL:

export FOR REALTIME FAULT LINUX_CORES KERNEL INITRD SYSTEM BOARD

tools = root=. && . setup/tools.sh

run:
	@setup/run.sh

# The experiment that measures Linux PREEMPT_RT fetches it, beside other cases; the long cases compile a Linux that masks
# interrupts by priority.
test-long: FLAVOURS = debian debian-rt pseudo-nmi
test test-long: export FIRST_BUILD = --bin xtask

test: setup
	@$(tools) && cargo xtask test

test-long: setup
	@$(tools) && cargo xtask test --long

check: setup
	@$(tools) && for part in format rules clippy; do cargo xtask test $$part || exit 1; done

setup:
	@setup/setup.sh $(FLAVOURS)

clean:
	@rm -rf out target
	@[ ! -e omp/Makefile ] || $(MAKE) --no-print-directory -C omp clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile
