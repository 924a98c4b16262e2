# Four SCSI disks of 24 MB/s behind a bus of 60 MB/s.
# lab: --kind scsi --disks 4 --rate 24 --bus bps-total=60e6
. ./guest.sh

# together MB/S DISK...: the disks at once give this much
together() {
    wanted=$1
    shift
    # As in check_rate: once more where it was slow.
    for _ in 1 2; do
        for disk in "$@"; do io "$disk" "/dev/$disk" --buffering direct --warmup 500ms --duration 3s & done
        wait
        sum=$(for disk in "$@"; do figure "$disk" total bytes_per_s; done | awk '{ sum += $1 } END { print sum }')
        awk -v sum="$sum" -v wanted="${wanted}e6" 'BEGIN { exit !(sum < wanted * 0.85) }' || break
    done
    check "$# disks at once give $wanted MB/s" "they gave $sum bytes/s" is_near "$sum" "${wanted}e6"
}

together 24 sda
together 48 sda sdb
together 60 sda sdb sdc
together 60 sda sdb sdc sdd
