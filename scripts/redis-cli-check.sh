#!/bin/sh
# Tries a server with redis-cli and redis-benchmark: builds bloomery, starts it on
# a free port, sends what people send, and compares the answers.
#
#   scripts/redis-cli-check.sh            # needs Go; installs redis-tools with apt when missing
#   PORT=7000 scripts/redis-cli-check.sh  # on this port
set -eu

cd "$(dirname "$0")/.."

scripts/need-redis redis-cli redis-benchmark

dir=$(mktemp -d)
go build -ldflags="-s -w" -o "$dir/bloomery" ./cmd/bloomery
printf 'user default on nopass ~* &* +@all\n' >"$dir/users.acl"
chmod 600 "$dir/users.acl"
: >"$dir/log" # it is read at once
"$dir/bloomery" serve --addr "127.0.0.1:${PORT:-0}" --http "" --dir "$dir/data" --acl-file "$dir/users.acl" --log-format json 2>"$dir/log" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$dir"' EXIT
for _ in $(seq 600); do
	port=$(sed -n 's/.*"msg":"ready".*"addr":"127.0.0.1:\([0-9]*\)".*/\1/p' "$dir/log")
	[ -n "$port" ] && redis-cli -p "$port" ping >/dev/null 2>&1 && break
	sleep 0.05
done
if [ -z "$port" ]; then
	cat "$dir/log"
	exit 1
fi

failed=0
# check WANT ARGS...: redis-cli ARGS must answer WANT.
check() {
	want=$1
	shift
	got=$(redis-cli -p "$port" "$@" 2>&1) || true
	if [ "$got" != "$want" ]; then
		printf 'FAIL %s\n  got  %s\n  want %s\n' "$*" "$got" "$want"
		failed=1
	fi
}
# contains WORD ARGS...: the answer must have WORD in it.
contains() {
	want=$1
	shift
	got=$(redis-cli -p "$port" "$@" 2>&1) || true
	case $got in
	*"$want"*) ;;
	*)
		printf 'FAIL %s\n  got  %s\n  want %s in it\n' "$*" "$got" "$want"
		failed=1
		;;
	esac
}

check PONG ping
check OK BF.RESERVE bf 0.01 1000
check 1 BF.ADD bf hello
check 0 BF.ADD bf hello
check 1 BF.EXISTS bf hello
check "$(printf '1\n0')" BF.MEXISTS bf hello nobody
contains "Number of items inserted" BF.INFO bf
check 1 CF.ADD cf x
check 2 EXISTS bf cf
check MBbloom-- TYPE bf
contains "(integer) 1" --no-raw CF.COUNT cf x
contains "(true)" --no-raw -3 BF.EXISTS bf hello
contains "(false)" --no-raw -3 BF.EXISTS bf nobody
contains "1# Capacity => (integer) 1000" --no-raw -3 BF.INFO bf CAPACITY
contains "redis_version:7.4" INFO server
contains "bf.add" COMMAND DOCS bf.add
contains "calls=" INFO commandstats
contains "hello" ECHO hello

# Interactive use asks for COMMAND DOCS at the start.
if ! printf 'PING\nBF.CARD bf\n' | redis-cli -p "$port" | grep -q '^1$'; then
	echo "FAIL redis-cli from standard input"
	failed=1
fi
# Scanning the key space.
for option in --scan --bigkeys --memkeys; do
	if ! redis-cli -p "$port" $option 2>&1 | grep -q 'bf\|Sampled'; then
		echo "FAIL redis-cli $option"
		failed=1
	fi
done
# Mass insertion.
i=0
while [ $i -lt 1000 ]; do
	printf '*3\r\n$6\r\nBF.ADD\r\n$4\r\npipe\r\n$4\r\n%04d\r\n' $i
	i=$((i + 1))
done >"$dir/commands"
redis-cli -p "$port" --pipe <"$dir/commands" >"$dir/pipe"
if ! grep -q 'errors: 0, replies: 1000' "$dir/pipe"; then
	echo "FAIL redis-cli --pipe"
	cat "$dir/pipe"
	failed=1
fi
# A dump moves through a file.
redis-cli -p "$port" --raw DUMP bf | head -c -1 >"$dir/dump"
if [ "$(redis-cli -p "$port" -x RESTORE copy 0 <"$dir/dump")" != OK ]; then
	echo "FAIL RESTORE of DUMP"
	failed=1
fi
check 1 BF.EXISTS copy hello

# Users.
check OK ACL SETUSER alice on '>a1' '~alice:*' +@bloom -@delete '+acl|whoami' addrate=1000
check alice --user alice --pass a1 --no-auth-warning ACL WHOAMI
check 1 --user alice --pass a1 --no-auth-warning BF.ADD alice:f x
check "NOPERM No permissions to access a key" --user alice --pass a1 --no-auth-warning BF.ADD bf x
check "NOPERM User alice has no permissions to run the 'del' command" --user alice --pass a1 --no-auth-warning DEL alice:f
contains "WRONGPASS" --user alice --pass wrong --no-auth-warning PING
contains "addrate=1000" ACL LIST
check OK ACL SAVE
check 1 ACL DELUSER alice
check OK ACL LOAD
check alice --user alice --pass a1 --no-auth-warning ACL WHOAMI
check 1 ACL DELUSER alice

for command in PING "BF.ADD bench __rand_int__" "BF.EXISTS bench __rand_int__" "CF.ADD cbench __rand_int__" "SET s __rand_int__"; do
	# shellcheck disable=SC2086
	if ! redis-benchmark -p "$port" -q -n 20000 -P 16 -r 100000 $command | tr '\r' '\n' | grep 'requests per second'; then
		echo "FAIL redis-benchmark $command"
		failed=1
	fi
done

# TLS, where redis-cli and openssl have it: the same port, after a restart.
if redis-cli --help 2>&1 | grep -q -e --cacert && command -v openssl >/dev/null; then
	stop() { kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; }
	stop
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$dir/key.pem" -out "$dir/cert.pem" 2>/dev/null
	"$dir/bloomery" serve --addr "127.0.0.1:$port" --dir "$dir/data" --log-level error --tls-cert "$dir/cert.pem" --tls-key "$dir/key.pem" \
		--tls-ca "$dir/cert.pem" --tls-auth-clients yes &
	server=$!
	tls="--tls --cacert $dir/cert.pem --cert $dir/cert.pem --key $dir/key.pem"
	for _ in $(seq 600); do
		# shellcheck disable=SC2086
		redis-cli -p "$port" $tls ping 2>/dev/null | grep -q PONG && break # not while it loads
		sleep 0.05
	done
	# shellcheck disable=SC2086
	check PONG $tls ping
	# shellcheck disable=SC2086
	check 1 $tls BF.EXISTS bf hello
	contains "expects TLS" ping
	# shellcheck disable=SC2086
	if ! redis-cli -p "$port" $tls --pipe <"$dir/commands" | grep -q 'errors: 0, replies: 1000'; then
		echo "FAIL redis-cli --tls --pipe"
		failed=1
	fi
	# shellcheck disable=SC2086
	if ! redis-benchmark -p "$port" $tls -q -n 20000 -P 16 -r 100000 BF.EXISTS bench __rand_int__ | tr '\r' '\n' | grep 'requests per second'; then
		echo "FAIL redis-benchmark --tls"
		failed=1
	fi
	# shellcheck disable=SC2086
	if ! "$dir/bloomery" ping --addr "127.0.0.1:$port" $tls >/dev/null; then
		echo "FAIL bloomery ping"
		failed=1
	fi
	# A new certificate by SIGHUP.
	before=$(openssl x509 -in "$dir/cert.pem" -noout -serial)
	openssl req -x509 -key "$dir/key.pem" -days 3 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -out "$dir/cert.pem" 2>/dev/null
	kill -HUP "$server"
	for _ in $(seq 600); do
		shown=$(openssl s_client -connect "127.0.0.1:$port" </dev/null 2>/dev/null | openssl x509 -noout -serial) || true
		[ "$shown" != "$before" ] && break
		sleep 0.05
	done
	if [ "$shown" != "$(openssl x509 -in "$dir/cert.pem" -noout -serial)" ]; then
		echo "FAIL SIGHUP: the server shows $shown"
		failed=1
	fi
	# shellcheck disable=SC2086
	check PONG $tls ping
fi

if [ $failed = 0 ]; then echo "redis-cli and redis-benchmark: all well"; fi
exit $failed
