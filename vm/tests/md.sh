# Software RAID0 over 1 to 4 SCSI disks of 24 MB/s behind a bus of 60 MB/s: what link finds, what
# inspect says of it, and which level the pyramid names.
# lab: --kind scsi --disks 4 --rate 24 --bus bps-total=60e6 --module raid0
. ./guest.sh
array=/sys/block/md0/md
chunk=65536

# assemble DISK...: /dev/md0 of these, without mdadm and with nothing written on them (Linux, admin-guide/md.rst)
assemble() {
    echo md0 > /sys/module/md_mod/parameters/new_array
    echo none > $array/metadata_version
    echo raid0 > $array/level
    echo $chunk > $array/chunk_size
    echo $# > $array/raid_disks
    slot=0
    for disk in "$@"; do
        cat "/sys/block/$disk/dev" > $array/new_dev
        echo $(($(cat "/sys/block/$disk/size") / 2)) > "$array/dev-$disk/size"
        echo $slot > "$array/dev-$disk/slot"
        slot=$((slot + 1))
    done
    # It then says that it is clean.
    echo active > $array/array_state
    until [ -b /dev/md0 ] && [ "$(blockdev --getsize64 /dev/md0)" -gt 0 ]; do sleep 0.1; done
}

# disassemble: it goes when nobody has it open any more
disassemble() {
    echo clear > $array/array_state
    until [ ! -e $array ]; do sleep 0.1; done
}

# link_near MB/S: measures, and tells whether it is as known within 4 %
link_near() {
    ./halfpower link /dev/md0 --request-size $((chunk * count)) --duration 3s --repetitions 3 --no-store --json > link 2> messages
    rate=$(awk '$1 == "\"bytes_per_s\":" && $2 == "{" { inside = 1 } inside && $1 == "\"value\":" { print $2 + 0; exit }' link)
    awk -v rate="$rate" -v wanted="$1" 'BEGIN { exit !(rate > wanted * 0.96e6 && rate < wanted * 1.04e6) }'
}

# link_of MB/S DISK...: requests of a chunk from each, so that all have the same to do. What is left of the tenth of a second
# that a throttle allows at once is 3 % of 3 s.
link_of() {
    wanted=$1
    shift
    count=$#
    assemble "$@"
    seen=
    for _ in 1 2 3; do
        link_near "$wanted" && break
        seen="$seen $rate"
        # Only slow is disturbed.
        awk -v rate="$rate" -v wanted="$wanted" 'BEGIN { exit !(rate > wanted * 1e6) }' && break
    done
    check "RAID0 of $count gives $wanted MB/s" "it gave$seen bytes/s; $(cat messages)" \
        awk -v rate="$rate" -v wanted="$wanted" 'BEGIN { exit !(rate > wanted * 0.96e6 && rate < wanted * 1.04e6) }'
    [ $count -eq 4 ] || disassemble
}

link_of 24 sda
link_of 48 sda sdb
link_of 60 sda sdb sdc
link_of 60 sda sdb sdc sdd

./halfpower inspect /dev/md0 --no-store > inspected 2>&1
for pattern in '^  md0  *raid0 of 4, chunks of 64 KiB, 1 GiB' '^    sda .*disk, 256 MiB, virtio, QEMU HARDDISK.*held by md0' \
    '^    sdb ' '^    sdc ' '^    sdd ' '^  bus  *unknown' '^  link  *unknown  *4 × ' '^  device  *unknown  *4 × '; do
    check "inspect says $pattern" "$(cat inspected)" grep -q "$pattern" inspected
done
./halfpower inspect /dev/md0 --pap device=24MB/s --pap bus=60MB/s --no-store > given 2>&1
check "four disks of 24 MB/s are given as 96" "$(cat given)" grep -q '^  device *96 MB/s *4 × (given)' given
check "and the bus that they share as 60" "$(cat given)" grep -q '^  bus *60 MB/s *given' given

# A request of 1 MiB more or less at the ends of 3 s is 0.6 % of what 60 MB/s are in them.
cat > study.toml <<'END'
name = "array"
question = "What holds this array back?"
[trial]
warmup = "500ms"
duration = "3s"
repetitions = { min = 2, max = 2, precision = 0.05 }
order = "blocks"
seed = 1
[[sweep]]
name = "in order"
operation = "read"
pattern = "sequential"
request_size = "1MiB"
depth = 8
buffering = "direct"
END
for _ in 1 2 3; do
    ./halfpower study run study.toml --target /dev/md0 --pap device=24MB/s --pap bus=60MB/s --no-store --no-report --json \
        > study 2> messages
    [ "$(bottleneck study)" != bus ] || break
done
said=$(grep -A40 '"bottleneck"' study | grep -m1 '"sentence"')
check "the pyramid of the array names the bus" "it says $said; $(tail -3 messages)" [ "$(bottleneck study)" = bus ]
