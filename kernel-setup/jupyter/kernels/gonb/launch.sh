#!/bin/sh
# Starts the GoNB kernel of this repository: launch.sh CONNECTION_FILE.
# The repository is found from this script's own place, so a clone may be moved or have spaces in its path.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../../../.." && pwd -P)
bin="$root/.birl/bin"
if [ ! -x "$bin/gonb" ]; then
	echo "the Go kernel is not installed: run 'go run ./kernel-setup install' in $root" >&2
	exit 1
fi

# goimports, which GoNB runs for each cell, must be the pinned one.
PATH="$bin:$PATH"
export PATH

# A user's own workspace or module mode would override the workspace that makes cells see this repository.
unset GOWORK
case " ${GOFLAGS:-} " in
*" -mod="*)
	flags=
	for flag in $GOFLAGS; do
		case $flag in -mod=*) ;; *) flags="$flags $flag" ;; esac
	done
	export GOFLAGS="$flags"
	;;
esac

# Each cell is linked anew, which takes half as long without tables for debuggers. Traces of panics do not need them.
case "${GOFLAGS:-}" in
*-ldflags*) ;;
*) export GOFLAGS="${GOFLAGS:-} -ldflags=-w" ;;
esac

# Outside of kernel-setup too, the XLA plugin and Python are those that kernel-setup installed.
if [ -z "${PJRT_PLUGIN_LIBRARY_PATH:-}" ]; then
	export PJRT_PLUGIN_LIBRARY_PATH="$root/.birl/pjrt"
fi
if [ -z "${BIRL_PYTHON:-}" ] && [ -x "$root/.birl/venv/bin/python" ]; then
	export BIRL_PYTHON="$root/.birl/venv/bin/python"
fi
if [ -z "${XLA_FLAGS+set}" ] && [ ! -e "$root/.birl/nvidia" ]; then
	export XLA_FLAGS="--xla_cpu_multi_thread_eigen=false --xla_cpu_enable_concurrency_optimized_scheduler=false"
fi
export GOMLX_NO_AUTO_INSTALL=1

exec "$bin/gonb" --kernel "$1" -raw_error=true -go_work="$root"
