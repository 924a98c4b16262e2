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
polled "a disk is polled" read $disk --pattern random --requests 500 --depth 8
count=$(($(interrupts) - before))
check "and does not interrupt" "$count interrupts for 500 reads" [ $count -lt 50 ]
before=$(interrupts)
io interrupted $disk --buffering direct --pattern random --requests 500 --depth 8
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

# One request every 10 ms, each of 26 ms at this rate: what comes while the disk is asked must not wait for its answer.
polled "an open loop is polled" open $disk --request-size 1MiB --arrivals constant --rate 100/s --duration 1s --depth 128
late=$(figure open arrivals late)
echo "late $late"; grep -n -A12 arrivals open
# A disk that has nothing to do meanwhile.
polled "an open loop at leisure is polled" leisure $disk --arrivals constant --rate 50/s --duration 1s --depth 4

mke2fs /dev/nvme1n1 > /dev/null 2>&1
mount -t ext4 /dev/nvme1n1 /mnt || not_ok "the disk is mounted" "it is not"
polled "files on the disk are polled" file /mnt/file --size 8MiB --op write --file-state preallocated --bytes 8MiB --depth 8 --verify read-back
polled "files that grow are polled" grown /mnt/grown --size 8MiB --op write --file-state append --bytes 8MiB --depth 8 --verify read-back
polled "files are read polled" read /mnt/file --pattern random --requests 300 --depth 8
umount /mnt
