# An NVMe disk of 40 MB/s.
# lab: --kind nvme --rate 40
. ./guest.sh

./halfpower doctor /dev/nvme0n1 > doctor 2>&1
check "doctor names the disk" "$(cat doctor)" grep -q '^target .*/dev/nvme0n1 (nvme0n1, nvme, QEMU NVMe' doctor

check_inspected /dev/nvme0n1 '^  nvme0n1 .*disk, 256 MiB, nvme, QEMU NVMe Ctrl, firmware ' '^  link *250 MB/s *PCIe 2.5 GT/s × 1, 8b/10b'

check_rate "a direct read has the disk's rate" read 40 /dev/nvme0n1 --buffering direct --duration 2s
check_rate "so have random reads, sixteen deep" random 40 /dev/nvme0n1 --buffering direct --pattern random --request-size 16KiB --depth 16 --duration 2s
check_rate "so have writes, four deep" write 40 /dev/nvme0n1 --overwrite=/dev/nvme0n1 --op write --buffering direct --depth 4 --duration 2s

io unpolled /dev/nvme0n1 --ring iopoll --buffering direct --requests 20
check "a disk without queues for polling is read all the same" "$(cat unpolled.messages)" [ "$(figure unpolled total requests)" = 20 ]
check "and it is said why it is not polled" "$(sed -n '/"instrument"/,/}/p' unpolled)" grep -q "iopoll: needs a device with polled queues" unpolled
