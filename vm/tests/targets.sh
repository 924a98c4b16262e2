# `run` over four SCSI disks of 24 MB/s behind a bus of 60 MB/s.
# lab: --kind scsi --disks 4 --rate 24 --bus-rate 60 
. ./guest.sh
mount -t debugfs d /sys/kernel/debug
m() { grep -E 'MemFree|MemAvail|^Buffers|^Cached|Shmem:|Slab|Unevic|Mlocked|AnonP|SUnre' /proc/meminfo | tr '\n' ' '; echo; }
m
( for x in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 4; m; grep -E 'VmRSS|VmLck|VmPin|RssAnon|RssFile|RssShm' /proc/$(pidof halfpower)/status | tr '\n' ' '; done ) &
timeout 60 ./halfpower run --quick --no-writes /dev/sda /dev/sdb /dev/sdc /dev/sdd --no-store --no-report --json > run 2> messages
sleep 2
m
du -sh /lab /tmp /root /
