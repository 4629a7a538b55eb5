#!/bin/sh
# Compares the benchmarks of the working tree with those of another commit:
#
#	bench/compare.sh REF [COUNT] [PATTERN]
#
# Both sides are compiled once and then run in turns, A B A B, so that what
# else happens on the machine meets both. benchstat shows the difference and
# whether it is more than noise. BENCHTIME is the time of one benchmark.
set -eu

ref=${1:?usage: compare.sh REF [COUNT] [PATTERN]}
count=${2:-10}
pattern=${3:-.}
benchtime=${BENCHTIME:-100ms}
packages='bloom internal/kernel hashing sizing'

root=$(git rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'git -C "$root" worktree remove --force "$work/tree" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

git -C "$root" worktree add --quiet --detach "$work/tree" "$ref"

# build SIDE DIRECTORY compiles the tests of all packages that are there.
build() {
	for package in $packages; do
		if [ -d "$2/$package" ]; then
			(cd "$2" && go test -c -o "$work/$1-$(echo "$package" | tr / -)" "./$package")
		fi
	done
}

# run SIDE DIRECTORY PACKAGE adds one run to the results of a side.
run() {
	binary=$work/$1-$(echo "$3" | tr / -)
	if [ -x "$binary" ]; then
		(cd "$2/$3" && "$binary" -test.run '^$' -test.bench "$pattern" -test.benchtime "$benchtime") >>"$work/$1.txt"
	fi
}

build old "$work/tree"
build new "$root"
for i in $(seq "$count"); do
	echo "round $i of $count" >&2
	for package in $packages; do
		run old "$work/tree" "$package"
		run new "$root" "$package"
	done
done
cd "$root/bench"
go tool benchstat "$ref=$work/old.txt" "now=$work/new.txt"
