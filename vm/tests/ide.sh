# An IDE disk of 12 MB/s.
# lab: --kind ide --rate 12
. ./guest.sh

./halfpower doctor /dev/sda > doctor 2>&1
check "doctor names the disk" "$(cat doctor)" grep -q '^target .*/dev/sda (sda, sata, QEMU HARDDISK' doctor

io read /dev/sda --buffering direct --duration 2s
check_rate "a direct read has the disk's rate" read 12
