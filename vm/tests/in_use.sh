# md, device-mapper and loop devices on SCSI disks: what rests on what, and which of them is never overwritten.
# lab: --kind scsi --disks 3 --disk-size 8 --module raid0 --module dm_mod --module loop --module ext4
# tools: dmsetup
. ./guest.sh
write="--op write --requests 4 --request-size 64KiB"

# all: what every disk holds
all() { cat /dev/sda /dev/sdb /dev/sdc | md5sum; }

# spared NAME TEXT TARGET...: each is rejected for this reason, by every kind of command, and no byte changes
spared() {
    case=$1 reason=$2
    shift 2
    before=$(all)
    for target in "$@"; do
        refused "out" "$case: $target is not written" "$reason" "$target" $write --overwrite
        refused "out" "$case: $target is not written by name" "$reason" "$target" $write --overwrite="$target"
        refused "out" "$case: $target is not trimmed" "$reason" "$target" --op trim --requests 4 --overwrite
        check "$case: $target is as it was" "its bytes changed" [ "$(all)" = "$before" ]
    done
}

for disk in sda sdb sdc; do dd if=/dev/urandom of=/dev/$disk bs=1M 2> /dev/null; done

# md, without mdadm and with nothing written on its members (Linux, admin-guide/md.rst)
array=/sys/block/md0/md
echo md0 > /sys/module/md_mod/parameters/new_array
echo none > $array/metadata_version
echo raid0 > $array/level
echo 65536 > $array/chunk_size
echo 2 > $array/raid_disks
slot=0
for disk in sda sdb; do
    cat "/sys/block/$disk/dev" > $array/new_dev
    echo $(($(cat "/sys/block/$disk/size") / 2)) > "$array/dev-$disk/size"
    echo $slot > "$array/dev-$disk/slot"
    slot=$((slot + 1))
done
echo active > $array/array_state
until [ -b /dev/md0 ] && [ "$(blockdev --getsize64 /dev/md0)" -gt 0 ]; do sleep 0.1; done
spared "a RAID that nobody uses" "is part of md0" /dev/sda /dev/sdb
losetup /dev/loop0 /dev/md0
losetup /dev/loop1 /dev/sdb
spared "a loop device on a RAID" "is not written" /dev/md0 /dev/sda /dev/loop1
losetup -d /dev/loop1
mke2fs /dev/md0 > /dev/null 2>&1
mount -o ro /dev/md0 /mnt
spared "a RAID that is mounted" "is not written" /dev/md0 /dev/sda /dev/sdb /dev/loop0
umount /mnt
losetup -d /dev/loop0
io out /dev/md0 $write --overwrite
check "a RAID that nobody uses is written" "$(cat out.messages)" grep -q '"requests": 4' out

# Two volumes beside one another on one disk.
sectors=$(($(cat /sys/block/sdc/size) / 2))
echo "0 $sectors linear /dev/sdc 0" | ./dmsetup create one --noudevsync
echo "0 $sectors linear /dev/sdc $sectors" | ./dmsetup create two --noudevsync
mkdir -p /dev/mapper
one=/dev/dm-0 two=/dev/dm-1
spared "the disk of two volumes" "is part of dm-" /dev/sdc
mke2fs $one > /dev/null 2>&1
mount -o ro $one /mnt
losetup /dev/loop0 $one
losetup /dev/loop1 /dev/sdc
spared "a volume that is mounted" "is mounted on" $one /dev/loop0 /dev/loop1
spared "a volume beside it, of which a loop device has the disk" "is not written" $two
losetup -d /dev/loop1
losetup -d /dev/loop0
before=$(md5sum < $one)
io out $two $write --overwrite
check "the volume beside it is written" "$(cat out.messages)" grep -q '"requests": 4' out
check "and the one that is mounted is as it was" "its bytes changed" [ "$(md5sum < $one)" = "$before" ]
umount /mnt
