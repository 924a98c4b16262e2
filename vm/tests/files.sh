# lab: --kind virtio --disks 1 --disk-size 128 --module ext4
# tools: mkfs.ext4
# Many small files of a file system of its own: what answers, cold and warm, and a disk that fills up meanwhile.
. ./guest.sh

mkfs.ext4 -q /dev/vda
mkdir -p place
mount -t ext4 /dev/vda place

# answered OUTPUT PHASE: what answered a phase
answered() {
    awk -v phase="\"$2\"," '
        $1 == "\"phase\":" { inside = $2 == phase }
        inside && $1 == "\"answered_by\":" { gsub(/[",]/, ""); print $2; exit }' "$1"
}

files() {
    output=$1
    shift
    ./halfpower files place --repetitions 2 --no-store --json "$@" > "$output" 2> "$output.messages"
}

empty() { [ "$(ls place)" = lost+found ]; }

files warm --files 2000
files cold --files 2000 --cold
for phase in stat read; do
    check "memory answers a warm $phase" "$(cat warm.messages)" [ "$(answered warm $phase)" = memory ]
    check "the storage answers a cold $phase" "$(cat cold.messages)" [ "$(answered cold $phase)" = storage ]
done
check "a cold run has no warning" "$(grep -A9 warnings cold)" [ -z "$(grep '"code"' cold)" ]
check "nothing is left" "$(ls place)" empty

# The free space is taken once the run has begun.
./halfpower files place --files 200 --size 100KB --repetitions 10000 --no-store > full 2> full.messages &
run=$!
tries=0
until ls place | grep -q '\.files$' || [ $tries -ge 100 ]; do
    tries=$((tries + 1)); sleep 0.1
done
while kill -0 $run 2> /dev/null; do cat /dev/zero >> place/filler 2> /dev/null; done
wait $run
status=$?
check "a disk that is full ends the run with status 1" "status $status" [ $status -eq 1 ]
check_messages "and it says so" full "has no space or no inodes left after"
rm -f place/filler
check "and nothing is left then" "$(ls place)" empty
files small --files 2000 --size 100KB
check_messages "too little space is found before" small "are needed and"
umount place
