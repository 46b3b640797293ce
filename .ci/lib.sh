# Shared by the gates: steps with their seconds, and the tools that they need.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CARGO_TERM_COLOR=never
# Traffic of the tests stays on loopback; no proxy stands between.
export no_proxy=localhost,127.0.0.1

began=$SECONDS

# step NAME COMMAND...: runs a command and says how long it took; the first failure ends the gate.
step() {
  local name=$1 start=$SECONDS code=0
  shift
  printf '\n==> %s\n' "$name"
  # Apart, and not as part of a condition, in which a step of several commands would go on after one that failed.
  set +e
  (set -euo pipefail; "$@")
  code=$?
  set -e
  printf '<== %s: %s in %d s\n' "$name" "$([ "$code" = 0 ] && echo ok || echo "FAILED ($code)")" "$((SECONDS - start))"
  [ "$code" = 0 ] || exit "$code"
}

finish() {
  printf '\nall steps passed in %d s\n' "$((SECONDS - began))"
}

# tool CRATE: installs a cargo subcommand unless it is there.
tool() {
  command -v "$1" >/dev/null || cargo install --locked --debug "$1"
}

# debian PROGRAM PACKAGE...: installs Debian packages unless the program is there; no service of theirs is started.
debian() {
  local program=$1
  shift
  PATH=$PATH:/usr/sbin command -v "$program" >/dev/null && return
  apt-get update -qq
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

tools() {
  tool cargo-hack
  tool cargo-fuzz
  cargo +nightly --version
}

# The models run the shipped types on loom's primitives; nothing that needs a runtime takes part.
models() { # PREEMPTIONS
  RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=$1 \
    cargo test --release --lib --features discovery,health,tower --target-dir target/loom loom_
}

fuzz() { # SECONDS
  local target
  for target in $(cargo +nightly fuzz list); do
    cargo +nightly fuzz run "$target" -- -max_total_time="$1" -timeout=20 -verbosity=0 -print_final_stats=1
  done
}

# net COMMAND...: runs a cargo command in the workspace of the examples against real control planes.
net() {
  (cd examples/net && PATH=$PATH:/usr/sbin cargo "$@")
}
