# io_uring that asks the disk (iopoll): two NVMe disks of 40 MB/s whose driver has a queue for polling.
# lab: --kind nvme --disks 2 --rate 40 --module 'nvme poll_queues=1' --module ext4
. ./guest.sh
disk=/dev/nvme0n1

# interrupts: how many the queues of the disk's reads and writes have had
interrupts() { awk '/nvme0q[1-9]/ { for (field = 2; $field ~ /^[0-9]+$/; field++) sum += $field } END { print sum + 0 }' /proc/interrupts; }

# is_polled OUTPUT: whether a sample was
is_polled() { sed -n '/"obtained": \[/,/\]/p' "$1" | grep -q '"iopoll"' && ! grep -q '"refused"' "$1"; }

# polled NAME OUTPUT ARGUMENT...: whether a workload is polled and ends well
polled() {
    name=$1 output=$2
    shift 2
    if io "$output" "$@" --ring iopoll --buffering direct; then
        check "$name" "$(sed -n '/"obtained"/,/\]/p; /"refused"/,/\]/p' "$output")" is_polled "$output"
    else
        not_ok "$name" "$(cat "$output.messages")"
    fi
}

check "the disk has a queue for polling" "$(cat /proc/interrupts)" [ "$(cat /sys/block/nvme0n1/queue/io_poll)" = 1 ]
before=$(interrupts)
polled "a disk is polled" read $disk --pattern random --requests 500 --depth 2
count=$(($(interrupts) - before))
check "and does not interrupt" "$count interrupts for 500 reads" [ $count -lt 50 ]
before=$(interrupts)
io interrupted $disk --buffering direct --pattern random --requests 500 --depth 2
count=$(($(interrupts) - before))
check "as it does otherwise" "$count interrupts for 500 reads" [ $count -ge 50 ]

check_rate "sixteen deep it has the disk's rate" rate 40 $disk --ring iopoll --pattern random --request-size 16KiB --depth 16 --duration 2s
check_rate "so have writes" write 40 $disk --overwrite=$disk --op write --ring iopoll --depth 4 --duration 2s
for ring in iopoll iopoll,sqpoll iopoll,no-registered_files,no-registered_buffers iopoll,no-defer_taskrun \
    iopoll,no-single_issuer,no-coop_taskrun,no-registered_ring; do
    if io verified $disk --overwrite=$disk --op mix=40 --pattern random --size 4MiB --requests 1000 --depth 8 --workers 2 \
        --buffering direct --verify read-back --ring $ring; then
        check "$ring: polled" "$(sed -n '/"obtained"/,/\]/p; /"refused"/,/\]/p' verified)" is_polled verified
        found="$(figure verified verified blocks) $(figure verified verified wrong)"
        check "$ring: what it writes and reads is verified" "blocks and wrong ones: $found" [ "${found#[1-9]*[0-9] }" = 0 ]
    else
        not_ok "$ring: what it writes and reads is verified" "$(cat verified.messages)"
    fi
done
check_written "what is written polled, a plain read finds" $disk io_uring --ring iopoll --buffering direct --depth 8
check_trimmed "what is trimmed meanwhile is empty" $disk io_uring --ring iopoll --buffering direct --depth 2
polled "writes are flushed meanwhile" flushed $disk --overwrite=$disk --op write --durability fsync=4 --requests 100 --depth 4
polled "a stripe over two disks is polled" stripe $disk /dev/nvme1n1 --layout stripe=64KiB --request-size 128KiB --requests 200 --depth 4

# A request every 4 ms, each of 6.5 ms: what arrives while the disk is asked must not wait for its answer.
polled "an open loop is polled" open $disk --request-size 256KiB --arrivals constant --rate 250/s --duration 1s --depth 256
late_ns=$(figure open lateness_ns p50)
check "and its requests go when they are due" "$late_ns ns late" [ "$late_ns" -lt 1000000 ]

# 127 pieces of memory are the most that a command to this disk names.
polled "the largest that is not cut is polled" whole $disk --request-size 508KiB --requests 20 --depth 2
io cut $disk --request-size 512KiB --requests 20 --depth 2 --ring iopoll --buffering direct
check "what would be cut is done otherwise" "$(cat cut.messages)" [ "$(figure cut total requests)" = 20 ]
check "and it is said why" "$(sed -n '/"instrument"/,/}/p' cut)" grep -q "iopoll: needs requests that the block layer does not split, here up to 508 KiB" cut
polled "in a stripe its chunks count" chunks $disk /dev/nvme1n1 --layout stripe=256KiB --request-size 1MiB --requests 20 --depth 2

refused buffered "buffered requests are not polled" "iopoll asks a device" $disk --personality io_uring --ring iopoll --buffering buffered
refused sync "nor those of sync" "ring is for" $disk --ring iopoll --personality sync

mke2fs /dev/nvme1n1 > /dev/null 2>&1
mount -t ext4 /dev/nvme1n1 /mnt || not_ok "files on the disk are polled" "it is not mounted"
polled "files on the disk are polled" file /mnt/file --size 8MiB --op write --file-state sparse --bytes 8MiB --depth 8 --verify read-back
polled "files that grow are polled" grown /mnt/grown --size 8MiB --op write --file-state append --bytes 8MiB --depth 8 --verify read-back
polled "files are read polled" read /mnt/file --pattern random --requests 300 --depth 8
umount /mnt

{ sleep 2; echo 1 > /sys/block/nvme1n1/device/device/remove; } &
started=$(date +%s)
io gone /dev/nvme1n1 --ring iopoll --buffering direct --depth 8 --size 512KiB --duration 20s
took_s=$(($(date +%s) - started))
wait
check "the end comes when the disk goes" "it took $took_s s" [ $took_s -lt 10 ]
check_messages "and the message names the cause" gone "removed?"
