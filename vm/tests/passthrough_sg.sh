# The sg personality: a SCSI disk of 24 MB/s that cannot read its MiB 32, and the kernel's own mock of one, which reports
# errors in the other format, of sectors 1234h to 123dh.
# lab: --kind scsi --rate 24 --bad-sector 65536 --module "scsi_debug dev_size_mb=8 virtual_gb=1 opts=2 dsense=1"
. ./guest.sh
until [ -b /dev/sdb ]; do sleep 0.1; done
for disk in sda sdb; do
    grep -q scsi_debug "/sys/block/$disk/device/model" && mock=/dev/$disk || real=/dev/$disk
done

./halfpower doctor "$real" > doctor 2>&1
check "doctor lists sg" "$(cat doctor)" grep -q '^sg  *works' doctor
check "and says why nvme does not work here" "$(cat doctor)" grep -q '^nvme .*no NVMe disk' doctor

check_rate "a read has the disk's rate" read 24 "$real" --personality sg --size 16MiB --duration 2s
check_rate "so have writes that are written through" write 24 "$real" --personality sg --size 16MiB --op write --overwrite="$real" --buffering none --duration 2s
check_written "what sg writes, a plain read finds" "$real" sg
check_trimmed "what sg trims is empty" "$real" sg
io flush "$real" --personality sg --op flush --overwrite="$real" --requests 10
check "it flushes" "$(cat flush.messages)" [ "$(figure flush total requests)" = 10 ]

failure_of() { io "failed-$1" "$2" --personality "$1" --buffering direct --size 34MiB --bytes 34MiB; }
failure_of sg "$real"
failure_of sync "$real"
check_messages "a block that cannot be read is told in words" failed-sg "the medium failed: the blocks cannot be read (sense 3h/11h/00h)"
check "with the error of a plain read" "$(cat failed-sync.messages)" \
    [ "$(figure failed-sg failure code)" = "$(figure failed-sync failure code)" ]
check_messages "and its place" failed-sg "at offset 33554432"

io mock "$mock" --personality sg --size 8MiB --bytes 8MiB
check_messages "so is one in the descriptor format" mock "at offset 2359296 .*(sense 3h/11h/00h)"
{ sleep 1; echo 0 > /sys/bus/pseudo/drivers/scsi_debug/virtual_gb; } &
io shrunk "$mock" --personality sg --pattern random --duration 20s
wait
check_messages "a read beyond the end is told in words" shrunk "the blocks are beyond its end (sense 5h/21h/00h)"
check "after the device's announcement was passed over" "$(cat shrunk.messages)" [ "$(figure shrunk failure code)" = EREMOTEIO ]

refused large "a request larger than a command is refused" "at most .* per command" \
    "$real" --personality sg --request-size 256MiB
refused odd "and one of no whole blocks" "multiples of 512 B" "$real" --personality sg --buffering direct \
    --request-size 1000
refused deep "and more than one at a time" "one request outstanding" "$real" --personality sg --depth 4
refused cached "and the page cache" "bypass the page cache" "$real" --personality sg --buffering buffered
printf 'n\np\n1\n\n\nw\n' | fdisk "$real" > /dev/null 2>&1
refused partition "and a partition, beyond whose borders commands go" "it is a partition.*name $real" "${real}1" --personality sg
refused file "and a file" "whole disks" /tmp/file --size 1MiB --op write --personality sg
refused unsaid "and a write unasked" overwrite "$real" --personality sg --op write
