#!/usr/bin/env bash
# Runs the dashboard's tests in a browser, against its own demonstration. It needs bin/coleo,
# the agent CLIs in COLEO_AGENTS, and web/node_modules.
set -euo pipefail
cd "$(dirname "$0")/../.."

browser=${CHROMIUM:-/usr/bin/chromium}
if [ ! -x "$browser" ]; then
	if [ "$(id -u)" != 0 ]; then
		echo "no browser at $browser: install Debian's chromium, or set CHROMIUM" >&2
		exit 1
	fi
	echo 'installing chromium (once)'
	apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium >/dev/null
fi

node web/test/squat.mjs

COLEO_DIR=$(mktemp -d /tmp/coleo.XXXX)
export COLEO_DIR
trap 'bin/coleo down --arms >/dev/null; rm -rf "$COLEO_DIR"' EXIT
mkdir -p "$COLEO_DIR/config"
printf '[serve]\naddr = "127.0.0.1:0"\n' >"$COLEO_DIR/config/config.toml"
bin/coleo up --demo >"$COLEO_DIR/demo.log"
at=http://$(cat "$COLEO_DIR/state/serve.sock.addr")
token=$(cat "$COLEO_DIR/state/token")

node web/test/page.mjs "$at" "$token"
node web/test/demo.mjs "$at" "$token" "$@"
