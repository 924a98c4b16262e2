# Four SCSI disks of 24 MB/s behind a bus of 60 MB/s, each alone and more and more of them together: what a study and `run`
# find, and that the bus they share is the bottleneck.
# lab: --kind scsi --disks 4 --rate 24 --bus bps-total=60e6 --limit 600
. ./guest.sh
disks="/dev/sda /dev/sdb /dev/sdc /dev/sdd"

# rates FILE DURATION: which targets, and bytes per second, of each cell of sequential reads of 1 MiB with trials so long
rates() {
    awk -v duration="$2," '
        $1 == "\"bytes_per_s\":" && $2 == "{" { inside = 1 }
        inside && $1 == "\"value\":" { rate = $2 + 0; inside = 0 }
        $1 == "\"workload\":" { among = "all"; wanted = 1 }
        $1 == "\"among\":" { among = $2; gsub(/[",]/, "", among) }
        $1 == "\"duration_s\":" && $2 != duration { wanted = 0 }
        $1 == "\"pattern\":" && $2 !~ /sequential/ { wanted = 0 }
        $1 == "\"request_size\":" && $2 != "1048576," { wanted = 0 }
        $1 == "\"workers\":" && wanted && rate { print among, rate; rate = 0 }
        $1 == "\"findings\":" { exit }' "$1"
}

# shared FILE: MB/s of all together and share of the sum alone, of the finding on sequential reads
shared() {
    awk '$1 == "\"code\":" { inside = $2 ~ /shared_limit/; count = 0 }
        inside && $1 == "\"value\":" { value[count++] = $2 + 0 }
        inside && $1 == "\"subject\":" && /sequential/ { print value[1] / 1e6, value[0]; exit }' "$1"
}

# are_within SHARE FOUND: whether rates of `rates` are as known
are_within() {
    echo "$2" | awk -v share="$1" '
        BEGIN { known["first=2"] = 48; known["first=3"] = known["all"] = 60
                for (disk = 1; disk <= 4; disk++) known["only=" disk] = 24 }
        { count++; off = $2 / 1e6 / known[$1] - 1; if (off > share || off < -share) bad = 1 }
        END { exit bad || count != 7 }'
}

# is_held SHARE FOUND: whether the finding says 60 MB/s, 62.5 % of the sum
is_held() {
    echo "$2" | awk -v share="$1" '
        function near(value, known) { return value > known * (1 - share) && value < known * (1 + share) }
        END { exit !(near($1, 60) && near($2, 0.625)) }'
}

# looked_at NAME FILE DURATION SHARE
looked_at() {
    found=$(rates "$2" "$3")
    check "$1: 1 to 4 disks give 24, 48, 60 and 60 MB/s" "they gave $(echo "$found" | tr '\n' ' '); $(tail -3 messages)" \
        are_within "$4" "$found"
    found=$(shared "$2")
    check "$1: what they share holds them to 60 MB/s" "it says ${found:-nothing}" is_held "$4" "$found"
}

# A request of 1 MiB more or less at the ends of 2 s is 2 % of the 48 MB that one disk gives in them; more than the rest of
# the tenth of a second that a throttle allows at once is used up before.
cat > study.toml <<'END'
name = "bus"
question = "Do these disks hold one another back?"
[trial]
warmup = "500ms"
duration = "2s"
repetitions = { min = 2, max = 2, precision = 0.05 }
order = "blocks"
seed = 1
[[sweep]]
name = "together"
operation = "read"
pattern = "sequential"
request_size = "1MiB"
depth = 8
buffering = "direct"
among = ["each", "growing"]
END
named=$(for disk in $disks; do echo "--target $disk"; done)
for _ in 1 2; do
    ./halfpower study run study.toml $named --no-store --no-report --json > study 2> messages
    are_within 0.05 "$(rates study 2.0)" && break
done
looked_at "a study" study 2.0 0.05

# The trials of `run` last 250 ms: there one request is 17 % of what a disk gives, 7 % of what all give.
./halfpower run --quick --no-writes $disks --no-store --no-report --json > run 2> messages
looked_at "run" run 0.25 0.18
