#!/usr/bin/env bash
# Installs a build, moves what was installed, and uses it as others do: projects in C and in C++ that
# find it, programs that send each other messages, headers by themselves, Debian packages.
# Usage: package_test.sh BUILD VERSION CC CXX. Prints one line a check; status 1 if one failed.
set -uo pipefail
build=$1 version=$2
export CC=$3 CXX=$4
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
abi=${version%.*}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/moved
failed=0

# check NAME COMMAND...: what it prints is shown if it fails.
check() {
  if "${@:2}" >"$work/log" 2>&1; then echo "ok      $1"; return; fi
  echo "FAILED  $1"
  sed 's/^/        /' "$work/log"
  failed=1
}

# --- README's own lines, in a folder where nothing is built yet.
readme_line() { sed -n '/^## Installing/,/^## /s/^    \(cmake .*\)/\1/p' "$source/README.md" | sed -n "$1p"; }

# What they would build is told instead of built: the target, what it needs, and what that needs.
cmake_tells() {
  if [ "$1" != --build ]; then command cmake "$@"; return; fi
  command cmake "$@" -- -t query "package/${*: -1}" && command cmake "$@" -- -t inputs "${*: -1}"
}

fresh_folder() (
  mkdir "$work/fresh" && cd "$work/fresh" || return
  find "$source" -mindepth 1 -maxdepth 1 ! -name build ! -name '.*' -exec ln -s -t . {} +
)

builds_only_what_is_installed() (
  local line file
  line=$(readme_line 1)
  cd "$work/fresh" || return
  eval "${line//cmake /cmake_tells }" >"$work/told" || { cat "$work/told"; return 1; }
  for file in libnetio.so libnetio.a libnetio_channels.so libnetio_channels.a netio-send.1.gz bench/bench-raw netio_objects.dir netio_cli.dir; do
    grep -qF "$file" "$work/told" || { echo "$file would not be built by: $line"; return 1; }
  done
  ! grep -nE 'tests/|examples/|fuzz/|_test\.cpp' "$work/told"
)

# Before it is built: words, and no half of it.
says_what_is_not_built() (
  local line
  line=$(readme_line 2)
  cd "$work/fresh" || return
  if DESTDIR=$work/nowhere eval "$line" >"$work/said" 2>&1; then echo "it installs"; return 1; fi
  cat "$work/said"
  grep -qF 'Nothing was installed, because' "$work/said" &&
    grep -qE 'cmake --build .*/build/release --target netio_to_install$' "$work/said" &&
    [ ! -e "$work/nowhere" ]
)

# --- What is installed.
files() { (cd "$1" && find . ! -type d -printf '%P\n' | grep -v "${2-^$}" | LC_ALL=C sort); }

# Each command has a page of its own.
commands() { "$build/netio" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

# What belongs there: nothing else may be.
wanted() {
  local doc=share/doc/netio
  (cd "$source" && find include -name '*.h' -o -name '*.hpp')
  (cd "$source" && printf '%s\n' LICENSE {README,CHANGELOG,ARCHITECTURE,CONTRIBUTING,STYLE}.md docs/*.md docs/*/*.{svg,json} \
    examples/*.c examples/*.cpp) | sed "s|^|$doc/|"
  (cd "$build" && find bench -maxdepth 1 -name 'bench-*' ! -name '*-aeron' ! -name '*-iceoryx2') |
    sed 's|^bench|libexec/netio|'  # the two belong to no build
  printf 'lib/%s\n' libnetio.a libnetio.so "libnetio.so.$abi" "libnetio.so.$version" \
    libnetio_channels.{a,so} "libnetio_channels.so.$abi" "libnetio_channels.so.$version" \
    pkgconfig/netio{,-channels}.pc cmake/netio/netio{Config,ConfigVersion,Targets,Targets-release}.cmake
  echo bin/netio
  commands | sed 's|.*|share/man/man1/netio-&.1.gz|'
  printf 'share/%s\n' man/man1/netio.1.gz bash-completion/completions/netio zsh/site-functions/_netio
}
installed_as_wanted() { diff <(wanted | LC_ALL=C sort) <(files "$prefix"); }

no_trace_of_the_build() { ! grep -rlF -e "$build" -e "$source" -e "$work" "$prefix"; }

soname() { readelf -d "$prefix/lib/libnetio.so" | grep -F "SONAME" | grep -F "[libnetio.so.$abi]"; }

command_runs() { diff <("$prefix/bin/netio" --version) <(echo "netio $version"); }

# --- Headers, each as the only one of a program. With a compiler cache once for all clones.
ccache=$(command -v ccache)
export ccache CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1 prefix
alone() {  # HEADER
  local program=$prefix.alone/${1//\//_}.cpp
  cd "$prefix" && echo "#include <$1>" >"$program" &&
    $ccache "$CXX" -std=c++20 -pedantic -Wall -Wextra -Werror -I"$prefix/include" -c "$program" -o "$program.o"
}
export -f alone
compiles() {  # COMPILER LANGUAGE STANDARD HEADER
  echo "#include <$4>" |
    "$1" -x "$2" -std="$3" -pedantic -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" -
}
headers_alone() {
  local asio=.
  echo '#include <asio.hpp>' | "$CXX" -x c++ -E - >/dev/null 2>&1 || asio=asio.hpp
  # shellcheck disable=SC2016  # the inner shell expands it
  mkdir "$prefix.alone" && (cd "$prefix/include" && find netio -name '*.hpp' ! -path "netio/$asio") |
    xargs -P "$(nproc)" -n 1 bash -c 'alone "$0"'
}

says_which_standard() {
  local said
  said=$(compiles "$CXX" c++ c++17 netio/netio.hpp 2>&1)
  echo "$said" | sed -n '0,/error/{/error/p}' | grep -F 'C++20'
}

# --- Projects of others.
project() {  # NAME OPTION...
  cmake -G Ninja -S "$source/tests/package/$1" -B "$work/$1" -DCMAKE_PREFIX_PATH="$prefix" \
    -DWANTED="$abi" -DEXAMPLES="$prefix/share/doc/netio/examples" "${@:2}" &&
    cmake --build "$work/$1"
}

by_hand() {  # pkg-config says the rest
  local examples=$prefix/share/doc/netio/examples cflags libs static channels
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
  mkdir "$work/hand" && cd "$work/hand" || return
  [ "$(pkg-config --modversion netio)" = "$version" ] || return
  read -ra cflags < <(pkg-config --cflags netio)
  read -ra libs < <(pkg-config --libs netio)
  read -ra static < <(pkg-config --static --libs netio | sed 's/-lnetio/-l:libnetio.a/')
  "$CC" -std=c99 -c "${cflags[@]}" "$examples/c_pull.c" -o pull.o &&
    "$CXX" -std=c++20 -c "${cflags[@]}" "$examples/push.cpp" -o push.o &&
    "$CXX" -std=c++20 "${cflags[@]}" "$examples/channels.cpp" \
      "$(pkg-config --variable=libdir netio)"/libnetio_channels.a "${static[@]}" -o channels_static &&
    read -ra channels < <(pkg-config --cflags --libs netio-channels) &&
    "$CXX" -std=c++20 "$examples/channels.cpp" "${channels[@]}" -o channels &&
    "$CC" pull.o "${libs[@]}" -o pull && "$CC" pull.o "${static[@]}" -o pull_static &&
    "$CXX" push.o "${libs[@]}" -o push && "$CXX" push.o "${static[@]}" -o push_static
}

# A thousand messages go from PUSH to PULL, each with the library it was linked with, or with none.
exchange() {  # PULL PUSH LIBRARIES
  local out address="" program
  out=$(mktemp -p "$work")
  export LD_LIBRARY_PATH=$prefix/lib
  for program in "$1" "$2"; do
    [ "$(ldd "$program" | grep -c "libnetio.so.$abi => $prefix/")" = "$3" ] || { ldd "$program"; return 1; }
  done
  timeout 20 "$1" tcp://127.0.0.1:0 >"$out" &
  for ((i = 0; i < 200; ++i)); do
    address=$(sed -n 's/^listening at //p' "$out")
    [ -z "$address" ] || break
    sleep 0.02
  done
  timeout 20 "$2" "$address" | grep -Fx '1000 of 1000 delivered' && wait $! &&
    grep '^1000 messages' "$out"
}

# Ten messages go over a channel that the command lines describe.
channel() {  # RECEIVER SENDER
  local out text=name=data,method address="" i
  out=$(mktemp -p "$work")
  export LD_LIBRARY_PATH=$prefix/lib
  timeout 20 "$1" --channel-config "$text=bind,type=pull,address=tcp://127.0.0.1:0" >"$out" &
  for ((i = 0; i < 200; ++i)); do
    address=$(sed -n 's/^pulling at //p' "$out")
    [ -z "$address" ] || break
    sleep 0.02
  done
  timeout 20 "$2" --channel-config "$text=connect,type=push,address=$address" && wait $! &&
    grep -Fx 'event 9' "$out"
}

# As a folder of another project nothing of netio is installed with that.
folder_installs_nothing() {
  cmake -G Ninja -S "$source/tests/package/folder" -B "$work/folder" -DNETIO="$source" &&
    cmake --install "$work/folder" --prefix "$work/of_the_other" &&
    [ ! -e "$work/of_the_other" ]
}

# --- Debian packages.
field() { dpkg-deb --field "$work/deb/$1_${version}_"*.deb "$2"; }
packages() {
  local name
  cpack -G DEB -B "$work/deb" --config "$build/CPackConfig.cmake" -D CPACK_DEBIAN_COMPRESSION_TYPE=none &&
    [ "$(find "$work/deb" -maxdepth 1 -name '*.deb' | wc -l)" = 4 ] || return
  for name in "libnetio$abi" libnetio-dev netio netio-bench; do
    dpkg-deb --extract "$work/deb/${name}_${version}_"*.deb "$work/all" || return
    ls "$work/all/usr/share/doc/$name/copyright" || return
  done
  diff <(files "$prefix" /netio/LICENSE) <(files "$work/all/usr" '/copyright$\|/changelog.gz$') &&
    field libnetio-dev Depends | grep -Fx "libnetio$abi (= $version)" &&
    field "libnetio$abi" Recommends | grep -F libfabric1 &&
    ! field "libnetio$abi" Depends | grep -F libfabric
}

# The notices of what was compiled into netio, with the texts of their licences.
notices() {
  local copyright=$work/all/usr/share/doc/netio/copyright holder name
  for holder in 'Henry Schreiner' 'Niels Lohmann' 'Florian Loitsch' 'Bjoern Hoehrmann'; do
    grep -F "$holder" "$copyright" || { echo "$holder is not in $copyright"; return 1; }
  done
  # Each licence that is named has its text.
  sed -n '/^Files:/,/^$/s/^License: //p' "$copyright" | sort -u >"$work/named"
  while read -r name; do
    grep -A 1 -Fx "License: $name" "$copyright" | grep '^ ' || grep -q ' and ' <<<"$name" ||
      { echo "$copyright has no text of $name"; return 1; }
  done <"$work/named"
}

# Lintian's errors, but for two that this test or its user makes: packages that are not compressed,
# and an address of who packages that only DEBEMAIL can tell.
lintian_is_content() {
  local ours=(bogus-mail-host{,-in-debian-changelog} uses-no-compression-for-{control,data}-tarball)
  lintian --no-cfg --allow-root --fail-on error --suppress-tags "$(IFS=, && echo "${ours[*]}")" \
    "$work"/deb/*.deb
}

check "a fresh folder" fresh_folder
check "README's line builds what is installed, and nothing else" builds_only_what_is_installed
check "installing what is not built says so, and installs nothing" says_what_is_not_built
check "it installs" cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$prefix" || exit
check "all that belongs there is installed, and nothing else" installed_as_wanted
check "what is installed knows no folder of the build" no_trace_of_the_build
check "the library's name has the version of its ABI" soname
check "the installed command runs and says its version" command_runs
check "each public header compiles alone" headers_alone
check "netio.h compiles as C99" compiles "$CC" c c99 netio.h
check "netio.h compiles as C++11" compiles "$CXX" c++ c++11 netio.h
check "C++17 is told to be too old" says_which_standard
check "a project in C finds it" project c
check "a project in C++ finds it" project cpp
check "programs of both, with the shared library" exchange "$work/c/pull" "$work/cpp/push" 1
check "programs of both, with the static library" exchange "$work/c/pull_static" "$work/cpp/push_static" 0
check "pkg-config finds it" by_hand
check "programs by pkg-config, with the shared library" exchange "$work/hand/pull" "$work/hand/push" 1
check "programs by pkg-config, with the static library" exchange "$work/hand/pull_static" "$work/hand/push_static" 0
check "programs of channels, with the shared library and the static one" channel "$work/hand/channels" "$work/hand/channels_static"
check "programs of channels by CMake, with both" channel "$work/cpp/channels" "$work/cpp/channels_static"
check "a project with netio as a folder installs nothing of it" folder_installs_nothing
if command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null; then
  check "Debian packages have the same files, and need what they should" packages
  check "Debian packages have the notices of what is compiled into them" notices
  if command -v lintian >/dev/null; then
    check "lintian finds no error in the Debian packages" lintian_is_content
  else
    echo "skipped lintian: it is not installed (script/bootstrap --all)"
  fi
else
  echo "skipped Debian packages: dpkg-dev and file are not installed (script/bootstrap --all)"
fi
[ $failed = 0 ]
