# Software RAID0 of 1 to 4 SCSI disks of 24 MB/s behind a bus of 60 MB/s: what burst finds of it, and what inspect says.
# lab: --kind scsi --disks 4 --rate 24 --bus-rate 60 --module raid0
. ./guest.sh

# raid DISK...: makes /dev/md0 of these without mdadm and with nothing written on the disks, by
# Documentation/admin-guide/md.rst.
raid() {
    echo md0 > /sys/module/md_mod/parameters/new_array
    array=/sys/block/md0/md
    echo none > $array/metadata_version
    echo raid0 > $array/level
    echo 65536 > $array/chunk_size
    echo $# > $array/raid_disks
    slot=0
    for disk in "$@"; do
        cat "/sys/block/$disk/dev" > $array/new_dev
        echo $(($(cat "/sys/block/$disk/size") / 2)) > "$array/dev-$disk/size"
        echo $slot > "$array/dev-$disk/slot"
        slot=$((slot + 1))
    done
    echo active > $array/array_state
    cat $array/array_state; blockdev --getsize64 /dev/md0
}
raid sda sdb sdc sdd
grep . $array/* /proc/mdstat 2>&1
./halfpower burst /dev/md0 --request-size 256KiB --duration 3s --repetitions 3 --no-store 
dmesg | tail -20
