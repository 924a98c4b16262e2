# Four SCSI disks of 24 MB/s behind a bus of 60 MB/s, which re-reading a small region of 1 to 4 of them finds.
# lab: --kind scsi --disks 4 --rate 24 --bus bps-total=60e6
. ./guest.sh

# values FILE: the rate of each setting, in bytes per second
values() { awk '$1 == "\"limit\":" { exit } $1 == "\"bytes_per_s\":" && $2 == "{" { inside = 1 } inside && $1 == "\"value\":" { sub(/,$/, "", $2); print $2; inside = 0 }' "$1"; }

# are_near WANTED...: whether the settings have these rates in MB/s, within 5 %. Each alone, then 2, 3 and 4 at once.
are_near() {
    values link | awk -v wanted="$*" '
        BEGIN { count = split(wanted, rates, " ") }
        $1 < rates[NR] * 0.95e6 || $1 > rates[NR] * 1.05e6 { bad = 1 }
        END { exit bad || NR != count }'
}

# Longer than the tenth of a second that the throttle allows at once; once more where this machine was disturbed.
for _ in 1 2 3; do
    ./halfpower link /dev/sda /dev/sdb /dev/sdc /dev/sdd --duration 3s --repetitions 3 --no-store --json > link 2> messages
    are_near 24 24 24 24 48 60 60 && break
done
check "1 to 4 disks give 24, 48, 60 and 60 MB/s" "they gave $(values link | tr '\n' ' ') bytes/s; $(cat messages)" are_near 24 24 24 24 48 60 60
limit=$(sed -n '/"limit": {/,$p' link | awk '$1 == "\"targets\":" { sub(/,$/, "", $2); print $2; exit }')
check "three disks reach what they share" "it says ${limit:-none}" [ "$limit" = 3 ]
