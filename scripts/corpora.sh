#!/bin/sh
# Fetches real text for benchmarks into corpora/, which git ignores: the names of
# all npm packages and all paths of Debian's packages. Needs Debian, npm and, for
# what is not installed, root. What is there already is not fetched again.
set -eu
cd "$(dirname "$0")/.."
mkdir -p corpora
cd corpora

codename=bookworm
names=all-the-package-names@2.0.2578

if [ ! -s names.txt ]; then
  tarball=$(npm pack --silent "$names")
  tar -xzf "$tarball" package/names.json
  sed -nE 's/^  "(.*)",?$/\1/p' package/names.json > names.tmp
  mv names.tmp names.txt
  rm -r package "$tarball"
fi

contents() { # contents amd64: all paths, without the column of packages
  apt-get indextargets --format '$(FILENAME)' 'Created-By: Contents-deb' "Codename: $codename" "Architecture: $1" |
    xargs -r /usr/lib/apt/apt-helper cat-file |
    sed -E 's/[[:space:]]+[^[:space:]]+$//'
}

if [ ! -s paths.txt ]; then
  command -v apt-file > /dev/null || apt-get install -y -qq apt-file
  apt-file update > /dev/null
  { contents all; contents amd64; } | LC_ALL=C sort -u > paths.tmp
  mv paths.tmp paths.txt
fi

wc -l names.txt paths.txt
