# A disk that disappears while it is measured, and one that cannot read a sector.
# lab: --kind scsi --disks 3 --rate 24 --bad-sector 2048
. ./guest.sh

# vanish DISK PERSONALITY ARGUMENT...: takes the disk away in mid-run
vanish() {
    disk=$1 personality=$2
    shift 2
    { sleep 2; echo 1 > "/sys/block/$disk/device/delete"; } &
    started=$(date +%s)
    io gone "/dev/$disk" --buffering direct --size 512KiB --personality "$personality" --duration 20s "$@"
    status=$?
    took_s=$(($(date +%s) - started))
    wait
    check "$personality: the end comes when the disk goes" "it took $took_s s" [ $took_s -lt 10 ]
    check "$personality: the program says it failed" "its status was $status" [ $status -eq 1 ]
    requests=$(figure gone total requests)
    check "$personality: what was measured is kept" "${requests:-no} requests" [ "${requests:-0}" -gt 10 ]
    check_messages "$personality: the message names the cause" gone "removed?"
}

io bad /dev/sda --buffering direct --request-size 64KiB --size 2MiB --bytes 2MiB
check "a sector that cannot be read fails the sample" "failure $(figure bad failure code)" [ "$(figure bad failure code)" = ENODATA ]
message=$(figure bad failure message)
check "and the message says where" "$message" [ "${message#*at offset 1048576}" != "$message" ]

vanish sda io_uring --depth 4
vanish sdb sync
vanish sdc sg
