# `just check` is what CI runs; `just` lists the rest.

set shell := ["bash", "-euo", "pipefail", "-c"]

target := env("CARGO_TARGET_DIR", "target")
output := target / "test-output.txt"

_list:
    @just --list --unsorted

# Everything CI runs; the tests' results come last
check: test tidy format-check lint doc deny msrv instructions packages results

# Every test of every crate, in a program that has Parquet and `serve`; what a passing test prints is shown, so that none is skipped in silence
test:
    mkdir -p '{{ target }}'
    cargo test --workspace --features halfpower/parquet,halfpower/serve --locked -- --show-output 2>&1 | tee '{{ output }}'

# The property tests with new random cases
draw:
    PROPTEST_RNG_SEED=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ') cargo test --workspace --locked

# Write the golden files anew; look at the difference before keeping it
golden:
    INSTA_UPDATE=always cargo test --workspace --locked
    git status --short -- '*.snap'

# The papers' figures: the tables of docs/studies, whose difference wants a look, and both reports, in target/studies
studies:
    INSTA_UPDATE=always cargo test -p halfpower --bin halfpower --locked -- pages::
    cargo build --release -p halfpower --locked
    mkdir -p '{{ target }}/studies'
    for study in nt4 win2000; do '{{ target }}/release/halfpower' study run $study --no-store --report '{{ target }}'/studies/$study.html >/dev/null; done
    git status --short -- docs/studies

# Format the sources
fmt:
    cargo fmt --all

format-check:
    cargo fmt --all --check

# How large the project is, and how tangled; compare before and after a change of structure
size *arguments:
    .ci/size.py {{ arguments }}

# Short files, short functions, nothing left to do
tidy:
    git ls-files '*.rs' | xargs awk -f .ci/tidy.awk

# Clippy on everything, warnings denied
lint:
    cargo clippy --workspace --features halfpower/parquet,halfpower/serve --all-targets --locked -- -D warnings

# The documentation of every item, private ones too, warnings denied
doc:
    RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items --locked

# Licences, duplicates and sources of every dependency; known holes where their database can be had
deny:
    cargo deny --locked check licenses bans sources
    @.ci/advisories

# The least Rust that Cargo.toml promises, where rustup has it
msrv:
    @.ci/msrv

# What the 95 % intervals hold, on thousands of made-up data sets; five to eight minutes
coverage:
    cargo test --release --locked -p halfpower-analysis --test coverage -- --nocapture

# The bottlenecks of 1200 simulated machines, named from what a host sees of them; five minutes
hidden:
    cargo test --release --locked -p halfpower-sim --test hidden -- --include-ignored --nocapture

# The slow laws of random and shipped simulated machines; NAME: those with it in their name
slow NAME="":
    cargo test --release --locked -p halfpower-sim --lib -- --ignored '{{ NAME }}'

# Damaged files against every reader of files, or those of the FORMS named, for SECONDS each; needs nightly Rust and cargo-fuzz
fuzz SECONDS *FORMS:
    fuzz/run {{ SECONDS }} {{ FORMS }}

# User-space instructions a request against bench/instructions.toml, where valgrind is
instructions:
    @.ci/instructions
# The program on disks of known rates, in a virtual machine of our own; NAMES of vm/tests, or all
vm *NAMES:
    cargo build --release --locked
    vm/test '{{ target }}/release/halfpower' {{ NAMES }}

# The packages on a clean Debian, where their tools and mmdebstrap are
packages:
    @.ci/packages

# Manual pages, completions and licences, for the packages
package-files binary=(target / "release/halfpower"):
    rm -rf target/package && mkdir -p target/package/{man,completions} target/package/wheel/data/share/{man/man1,doc/halfpower}
    '{{ binary }}' man target/package/man
    for shell in bash zsh fish; do '{{ binary }}' completions $shell > target/package/completions/halfpower.$shell; done
    mv target/package/completions/halfpower.zsh target/package/completions/_halfpower
    .ci/licences > target/package/LICENCES
    cat LICENSE-MIT <(echo) LICENSE-APACHE > target/package/copyright
    cp target/package/man/* target/package/wheel/data/share/man/man1
    cp target/package/LICENCES target/package/wheel/data/share/doc/halfpower
    install -Dm 644 target/package/completions/halfpower.bash target/package/wheel/data/share/bash-completion/completions/halfpower
    install -Dm 644 target/package/completions/_halfpower -t target/package/wheel/data/share/zsh/site-functions
    install -Dm 644 target/package/completions/halfpower.fish -t target/package/wheel/data/share/fish/vendor_completions.d

# target/debian/halfpower_….deb; needs cargo-deb (`cargo install cargo-deb`)
deb:
    cargo build --release --locked --features serve
    just package-files
    cargo deb --no-build --locked

# target/wheels/halfpower-….whl, for glibc 2.17 and later; needs maturin and ziglang (`pip install maturin ziglang`)
wheel:
    cargo build --release --locked --features serve
    just package-files
    maturin build --release --zig --compatibility manylinux2014

# An image named halfpower; needs podman or docker
container:
    $(command -v podman || command -v docker) build --tag halfpower --file Containerfile .

# The documents as a site, in target/book; needs mdbook
book:
    rm -rf target/book-source && mkdir -p target/book-source
    git ls-files -z '*.md' docs examples include machines studies 'LICENSE-*' | xargs -0 cp --parents --target-directory target/book-source
    mdbook build

# The results of the last `just test`
results:
    @grep -E '^ +(Running|Doc-tests) |^test result: |^skipped: ' '{{ output }}'
