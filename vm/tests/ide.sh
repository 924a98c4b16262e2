# An IDE disk of 12 MB/s.
# lab: --kind ide --rate 12
. ./guest.sh

./halfpower doctor /dev/sda > doctor 2>&1
check "doctor names the disk" "$(cat doctor)" grep -q '^target .*/dev/sda (sda, sata, QEMU HARDDISK' doctor

check_rate "a direct read has the disk's rate" read 12 /dev/sda --buffering direct --duration 2s
check_rate "and so has one by SCSI commands, which the kernel translates" sg 12 /dev/sda --personality sg --duration 2s
