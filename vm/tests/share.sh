# A file system that another machine keeps: a directory outside, by 9p over virtio.
# lab: --share --module 9p --module 9pnet_virtio
. ./guest.sh

mount -t 9p -o trans=virtio,version=9p2000.L,cache=mmap lab /mnt || not_ok "the directory is mounted" "it is not"
io written /mnt/file --op write --size 4MiB --bytes 4MiB --request-size 64KiB
check "a file on it is written" "$(cat written.messages)" [ "$(figure written total bytes)" = 4194304 ]
check "and known to be on the network" "$(cat written)" [ "$(figure written target transport)" = network ]

./halfpower inspect /mnt/file --no-store > inspected 2>&1
for pattern in '^  file system   9p on /mnt, from lab ' '^  server .*share lab, ' '^  server .*mmap' ' trans=virtio' \
    '^  virtio[0-9]* *virtual, unknown, the hypervisor' '^  link *unknown *the hypervisor' '^  bus *unknown'; do
    check "inspect says $pattern" "$(cat inspected)" grep -q "$pattern" inspected
done
check "and no device" "$(cat inspected)" [ "$(grep -c '^  device' inspected)" = 0 ]
umount /mnt
