# A disk of an iSCSI target, which is this kernel too.
# lab: --module virtio_net --module target_core_iblock --module crc32c_generic --module iscsi_target_mod --module iscsi_tcp
# tools: iscsistart:open-iscsi
. ./guest.sh

ip link set lo up
name=iqn.2026-01.test:lab
mount -t configfs none /sys/kernel/config
cd /sys/kernel/config/target || not_ok iscsi "there is no target"
mkdir -p core/iblock_0/lab
echo udev_path=/dev/sda > core/iblock_0/lab/control
echo 1 > core/iblock_0/lab/enable
mkdir -p iscsi/$name/tpgt_1/lun/lun_0
ln -s /sys/kernel/config/target/core/iblock_0/lab iscsi/$name/tpgt_1/lun/lun_0/lab
mkdir iscsi/$name/tpgt_1/np/127.0.0.1:3260
echo 1 > iscsi/$name/tpgt_1/attrib/generate_node_acls
echo 0 > iscsi/$name/tpgt_1/attrib/authentication
echo 0 > iscsi/$name/tpgt_1/attrib/demo_mode_write_protect
echo 1 > iscsi/$name/tpgt_1/enable
cd /lab
./iscsistart -i iqn.2026-01.test:here -t $name -g 1 -a 127.0.0.1 -p 3260 > started 2>&1
tries=0
until [ -b /dev/sdb ] || [ $tries -ge 100 ]; do tries=$((tries + 1)); sleep 0.1; done
check "there is a disk" "$(cat started)" [ -b /dev/sdb ]
io written /dev/sdb --op write --overwrite --bytes 4MiB --request-size 64KiB
check "it is written" "$(cat written.messages)" [ "$(figure written total bytes)" = 4194304 ]
check "and known to be on the network" "$(cat written)" [ "$(figure written target transport)" = network ]
./halfpower inspect /dev/sdb --no-store > inspected 2>&1
check "inspect says so" "$(cat inspected)" grep -q 'network, unknown, iSCSI to 127.0.0.1, ' inspected
