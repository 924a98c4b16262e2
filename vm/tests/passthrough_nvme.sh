# The nvme personality: two NVMe disks of 40 MB/s that cannot read their MiB 32.
# lab: --kind nvme --disks 2 --rate 40 --bad-sector 65536
. ./guest.sh
disk=/dev/nvme0n1

./halfpower doctor $disk > doctor 2>&1
check "doctor lists nvme" "$(cat doctor)" grep -q '^nvme  *works' doctor
check "and says why sg does not work here" "$(cat doctor)" grep -q '^sg .*no SCSI or SATA disk' doctor

check_rate "a read has the disk's rate" read 40 $disk --personality nvme --size 16MiB --duration 2s
check_rate "so have random reads, sixteen deep" random 40 $disk --personality nvme --pattern random --request-size 16KiB --depth 16 --size 16MiB --duration 2s
depth=$(figure random depth_mean counted)
check "and the depth is reached" "it was $depth" is_near "$depth" 16
check_rate "and large ones, thirty-two deep" large 40 $disk --personality nvme --request-size 256KiB --depth 32 --size 16MiB --duration 2s
check_rate "and writes that are written through" write 40 $disk --personality nvme --size 16MiB --op write --overwrite=$disk --buffering none --depth 4 --duration 2s
check_written "what nvme writes, a plain read finds" $disk nvme --depth 8 --request-size 16KiB
check_trimmed "what nvme trims is empty" $disk nvme --depth 2
io flush $disk --personality nvme --op flush --overwrite=$disk --requests 10 --depth 2
check "it flushes" "$(cat flush.messages)" [ "$(figure flush total requests)" = 10 ]

for personality in nvme sync; do
    io "failed-$personality" $disk --personality $personality --buffering direct --size 34MiB --bytes 34MiB
done
check_messages "a block that cannot be read is told in words" failed-nvme "the medium failed: the blocks cannot be read (status 2h/81h"
check "with the error of a plain read" "$(cat failed-sync.messages)" \
    [ "$(figure failed-nvme failure code)" = "$(figure failed-sync failure code)" ]
check_messages "and its place" failed-nvme "at offset 33554432"

refused large "a request larger than a command is refused" "at most .* per command" $disk --personality nvme --request-size 64MiB
refused cached "and the page cache" "bypass the page cache" $disk --personality nvme --buffering buffered
refused unsaid "and a write unasked" overwrite $disk --personality nvme --op write
io claimed $disk --personality nvme --op write --overwrite=$disk --size 16MiB --duration 3s &
sleep 2
refused second "and a second writer" "has nvme0n1 open" $disk --personality nvme --op write --overwrite=$disk
wait
printf 'n\np\n1\n\n\nw\n' | fdisk $disk > /dev/null 2>&1
refused partition "and a partition, beyond whose borders commands go" "it is a partition.*name $disk" ${disk}p1 --personality nvme
rm /dev/ng0n1; mknod /dev/ng0n1 c $(tr : ' ' < /sys/class/nvme-generic/ng1n1/dev)
refused wrong "and another namespace under its name" "is not the device that belongs to nvme0n1" $disk --personality nvme

{ sleep 2; echo 1 > /sys/block/nvme1n1/device/device/remove; } &
started=$(date +%s)
io gone /dev/nvme1n1 --personality nvme --depth 8 --size 512KiB --duration 20s
wait
check "the end comes when the disk goes" "it took $(($(date +%s) - started)) s" [ $(($(date +%s) - started)) -lt 10 ]
check_messages "and the message names the cause" gone "removed"
