# A SCSI disk of 24 MB/s.
# lab: --kind scsi --rate 24
. ./guest.sh

./halfpower doctor /dev/sda > doctor 2>&1
check "doctor names the disk" "$(cat doctor)" grep -q '^target .*/dev/sda (sda, .*QEMU HARDDISK)' doctor
check "doctor: direct I/O works" "$(cat doctor)" grep -q '^direct I/O .*works, in multiples of 512 B' doctor

check_inspected /dev/sda '^  sda .*disk, 256 MiB, virtio, QEMU HARDDISK, firmware ' '^    target0:0:0 *scsi, unknown' '^  link *unknown'

check_rate "a direct read has the disk's rate" read 24 /dev/sda --buffering direct --duration 2s
check_rate "so have random reads, eight deep" random 24 /dev/sda --buffering direct --pattern random --request-size 16KiB --depth 8 --duration 2s
check_rate "so have direct writes that are written through" write 24 /dev/sda --overwrite=/dev/sda --op write --buffering none --request-size 256KiB --duration 2s

io whole /dev/sda --overwrite=/dev/sda --op write --size 4MiB --bytes 4MiB
zeros=$(dd if=/dev/sda bs=1M count=4 2> /dev/null | tr -dc '\000' | wc -c)
check "what is written is on the disk" "$zeros bytes of 4 MiB are zero" [ "$zeros" -lt 40000 ]
io unsaid /dev/sda --op write --duration 1s && not_ok "a disk is not written unasked" "it was"
check_messages "a disk is not written unasked" unsaid overwrite
