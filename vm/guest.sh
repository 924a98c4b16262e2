# What the tests inside share: they say `ok NAME` or `not ok NAME: WHY` of everything they look at, which the host counts.

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1: $2"; }

# check NAME WHY COMMAND...: ok when the command succeeds
check() {
    name=$1 why=$2
    shift 2
    if "$@"; then ok "$name"; else not_ok "$name" "$why"; fi
}

# io OUTPUT ARGUMENT...: one workload; its record goes to the file OUTPUT, what it says to OUTPUT.messages
io() {
    output=$1
    shift
    ./halfpower io "$@" --no-store --json > "$output" 2> "$output.messages"
}

# figure OUTPUT PART KEY: a value of a record, `figure sample total bytes_per_s`
figure() {
    awk -v part="\"$2\":" -v key="\"$3\":" '
        $1 == part { inside = 1 }
        inside && $1 == key { sub(/^ *[^ ]* /, ""); gsub(/^"|"?,?$/, ""); print; exit }' "$1"
}

# bottleneck FILE: of reads, as the pyramid of a run names it
bottleneck() {
    awk '$1 == "\"pyramids\":" { inside = 1 } inside && $1 == "\"bottleneck\":" { gsub(/[",]/, ""); print $2; exit }' "$1"
}

# is_near VALUE WANTED: within 15 %
is_near() { awk -v value="$1" -v wanted="$2" 'BEGIN { exit !(value > wanted * 0.85 && value < wanted * 1.15) }'; }

# check_rate NAME OUTPUT MB/S ARGUMENT...: whether a workload runs to its end and its rate is as known. What disturbs this
# machine only slows it, so a slow sample, unlike a fast one, is taken again.
check_rate() {
    name=$1 sample=$2 wanted=$3 seen=
    shift 3
    for _ in 1 2 3; do
        io "$sample" "$@" || break
        rate=$(figure "$sample" total bytes_per_s)
        seen="$seen $rate"
        if is_near "$rate" "${wanted}e6"; then
            ok "$name"
            return
        fi
        awk -v rate="$rate" -v wanted="${wanted}e6" 'BEGIN { exit !(rate < wanted) }' || break
    done
    not_ok "$name" "not $wanted MB/s but$seen bytes/s; $(cat "$sample.messages")"
}

# check_messages NAME OUTPUT TEXT: whether what the program said holds the text
check_messages() { check "$1" "it said: $(cat "$2.messages")" grep -q "$3" "$2.messages"; }

# refused OUTPUT NAME TEXT ARGUMENT...: whether a workload is not even begun, and the reason holds the text
refused() {
    output=$1 name=$2 text=$3
    shift 3
    if io "$output" "$@"; then not_ok "$name" "it was run"; else check_messages "$name" "$output" "$text"; fi
}

# check_inspected DISK PATTERN...: whether inspect says each of these of a disk, and a peak that is given
check_inspected() {
    disk=$1
    shift
    ./halfpower inspect "$disk" --no-store > inspected 2>&1
    for pattern in "$@"; do check "inspect says $pattern" "$(cat inspected)" grep -q "$pattern" inspected; done
    ./halfpower inspect "$disk" --pap device=24MB/s --no-store > given 2>&1
    check "inspect takes a peak that is given" "$(cat given)" grep -q '^  device *24 MB/s *given' given
}

# zeros DEVICE FIRST COUNT: how many bytes of these MiB are zero
zeros() { dd if="$1" bs=1M skip="$2" count="$3" 2> /dev/null | tr -dc '\000' | wc -c; }

# check_written NAME DEVICE PERSONALITY ARGUMENT...: whether a personality writes the first 4 MiB and nothing beside them,
# by what a plain read finds
check_written() {
    name=$1 device=$2 personality=$3
    shift 3
    dd if=/dev/zero of="$device" bs=1M count=5 conv=fsync 2> /dev/null
    io written "$device" --personality "$personality" --op write --overwrite="$device" --size 4MiB --bytes 4MiB "$@"
    # Of random bytes, one in 256 is zero.
    found="$(zeros "$device" 0 4) $(zeros "$device" 4 1)"
    case $found in
        [0-9][0-9][0-9][0-9][0-9]" 1048576") ok "$name" ;;
        *) not_ok "$name" "so many bytes are zero, there and after: $found; $(cat written.messages)" ;;
    esac
}

# check_trimmed NAME DEVICE PERSONALITY ARGUMENT...: whether it gives back what check_written has written
check_trimmed() {
    name=$1 device=$2 personality=$3
    shift 3
    io trimmed "$device" --personality "$personality" --op trim --overwrite="$device" --size 4MiB --request-size 256KiB \
        --requests 16 "$@"
    found=$(zeros "$device" 0 4)
    check "$name" "$found bytes of 4 MiB are zero; $(cat trimmed.messages)" [ "$found" -eq 4194304 ]
}
