# Mounts of this host's kernel: a share of Samba, an NFS export, and a volume by NVMe over TCP.
# lab: --serve smb --serve nfs --module virtio_net --module ctr --module ghash-generic --module seqiv --module cmac --module gcm --module ccm --module ecb --module sha512_generic --module nls_utf8 --module cifs --module nfsv4 --module nvmet_tcp --module nvme_tcp
. ./guest.sh

ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up

# mounted KIND SERVER OPTION...: what is written and read on /mnt, and what inspect says
mounted() {
    kind=$1 server=$2
    shift 2
    io written /mnt/file --op write --size 4MiB --bytes 4MiB --request-size 64KiB --durability flush_at_end
    check "$kind: a file is written" "$(cat written.messages)" [ "$(figure written total bytes)" = 4194304 ]
    check "$kind: and known to be on the network" "$(cat written)" [ "$(figure written target transport)" = network ]
    io read /mnt/file --request-size 64KiB --bytes 4MiB --buffering direct
    check "$kind: and read" "$(cat read.messages)" [ "$(figure read total bytes)" = 4194304 ]
    ./halfpower inspect /mnt/file --no-store > inspected 2>&1
    for pattern in "^  file system   $kind on /mnt, " "^  server .*$server" 'virtio' "$@"; do
        check "$kind: inspect says $pattern" "$(cat inspected)" grep -q "$pattern" inspected
    done
    umount /mnt
}

if mount -t cifs //10.0.2.101/share /mnt -o ip=10.0.2.101,user=root,pass=lab,vers=3.1.1; then
    mounted cifs 10.0.2.101 vers=3.1.1 rsize= wsize=
else
    not_ok cifs "the share cannot be mounted"
fi
if mount -t nfs4 10.0.2.102:/share /mnt -o vers=4.1,addr=10.0.2.102,clientaddr=10.0.2.15; then
    mounted nfs4 10.0.2.102 vers=4.1 proto=tcp rsize= wsize=
else
    not_ok nfs "the export cannot be mounted"
fi

# The target of NVMe over TCP is this kernel too.
mount -t configfs none /sys/kernel/config
cd /sys/kernel/config/nvmet || not_ok nvme-tcp "there is no target"
mkdir -p subsystems/lab/namespaces/1 ports/1
echo 1 > subsystems/lab/attr_allow_any_host
echo /dev/sda > subsystems/lab/namespaces/1/device_path
echo 1 > subsystems/lab/namespaces/1/enable
echo tcp > ports/1/addr_trtype
echo ipv4 > ports/1/addr_adrfam
echo 127.0.0.1 > ports/1/addr_traddr
echo 4420 > ports/1/addr_trsvcid
ln -s /sys/kernel/config/nvmet/subsystems/lab ports/1/subsystems/lab
cd /lab
echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=lab" > /dev/nvme-fabrics
tries=0
until [ -b /dev/nvme0n1 ] || [ $tries -ge 50 ]; do tries=$((tries + 1)); sleep 0.1; done
io written /dev/nvme0n1 --op write --overwrite --bytes 4MiB --request-size 64KiB
check "nvme-tcp: a volume is written" "$(cat written.messages)" [ "$(figure written total bytes)" = 4194304 ]
check "nvme-tcp: and known to be on the network" "$(cat written)" [ "$(figure written target transport)" = network ]
./halfpower inspect /dev/nvme0n1 --no-store > inspected 2>&1
check "nvme-tcp: inspect says so" "$(cat inspected)" grep -q 'network, unknown, tcp to 127.0.0.1, ' inspected
