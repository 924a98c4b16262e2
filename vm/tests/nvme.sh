# An NVMe disk of 40 MB/s.
# lab: --kind nvme --rate 40
. ./guest.sh

./halfpower doctor /dev/nvme0n1 > doctor 2>&1
check "doctor names the disk" "$(cat doctor)" grep -q '^target .*/dev/nvme0n1 (nvme0n1, nvme, QEMU NVMe' doctor

io read /dev/nvme0n1 --buffering direct --duration 2s
check_rate "a direct read has the disk's rate" read 40
io random /dev/nvme0n1 --buffering direct --pattern random --request-size 16KiB --depth 16 --duration 2s
check_rate "so have random reads, sixteen deep" random 40
io write /dev/nvme0n1 --overwrite=/dev/nvme0n1 --op write --buffering direct --depth 4 --duration 2s
check_rate "so have writes, four deep" write 40
