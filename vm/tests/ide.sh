# An IDE disk of 12 MB/s.
# lab: --kind ide --rate 12
. ./guest.sh

./halfpower doctor /dev/sda > doctor 2>&1
check "doctor names the disk" "$(cat doctor)" grep -q '^target .*/dev/sda (sda, ata, QEMU HARDDISK' doctor

check_inspected /dev/sda '^  sda .*disk, 256 MiB, ata, QEMU HARDDISK' '^  link *16.7 MB/s *ATA in mode MW_DMA_2'

check_rate "a direct read has the disk's rate" read 12 /dev/sda --buffering direct --duration 2s
check_rate "and so has one by SCSI commands, which the kernel translates" sg 12 /dev/sda --personality sg --duration 2s
