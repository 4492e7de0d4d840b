#!/bin/busybox sh
# The guest's first program: runs Waykeeper as a user of the board would, keeps what it says, and sends that to the host
# over the console. Lines for the host begin with GUEST.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root SOURCE_DATE_EPOCH=0
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts /tmp/kept
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t tracefs trace /sys/kernel/tracing
for module in /modules/*.ko; do insmod "$module"; done
[ -e /dev/fuse ] || mknod /dev/fuse c 10 229
ip link set lo up
cd /tmp/kept
echo "GUEST ready $(uname -m) $(uname -r)"

# step NAME STATUS COMMAND...: what the command prints is kept as NAME.out and NAME.err; it must end with STATUS.
step() {
    name=$1 expected=$2
    shift 2
    begun=$(cut -d' ' -f1 /proc/uptime)
    "$@" >"$name.out" 2>"$name.err" </dev/null
    status=$?
    took=$(echo "$(cut -d' ' -f1 /proc/uptime) $begun" | awk '{ printf "%.1f", $1 - $2 }')
    [ "$status" = "$expected" ] || {
        echo "GUEST failed $name: status $status, expected $expected"
        tail -n 5 "$name.out" "$name.err" | sed "s/^/GUEST   /"
        return
    }
    echo "GUEST passed $name in $took s"
}

# What the machine is, and what keeps it from answering in time (which is something in every guest).
step machine 0 waykeeper machine
step machine-json 0 waykeeper machine --json
step doctor 1 waykeeper doctor --rt-cores 1
step doctor-json 1 waykeeper doctor --rt-cores 1 --json

# Its own caches, its own task beside a neighbour, and wake-ups.
step host 0 waykeeper run this-machine --duration 100ms --repeats 2 --out host
step own-program 0 waykeeper run this-machine --core 1 --duration 300ms --repeats 1 --set sentinel=false \
    --set 'mitigations=[]' --set 'neighbours=[]' --out own -- cookbook 4096 2000
step show 0 waykeeper show own
step page 0 waykeeper report host --out page.html

# A finer clock, where the processor has one: refused until the kernel lets programs read it.
loop='--duration 200ms --repeats 3 --set sentinel=false --set mitigations=[] --set neighbours=[]'
step no-cycles 3 waykeeper run this-machine $loop --clock pmccntr --out refused
step ticks 0 waykeeper run this-machine $loop --out ticks
if [ -e /proc/sys/kernel/perf_user_access ]; then
    echo 1 >/proc/sys/kernel/perf_user_access
    step cycles 0 waykeeper run this-machine $loop --clock pmccntr --out cycles
    step cycles-sleeper 3 waykeeper run wakeup-latency --on host --clock pmccntr --duration 100ms --out sleeper
fi

# The same bits as elsewhere.
step simulated 0 waykeeper run agilex5-cluster-latency --duration 500us --repeats 2 --out simulated

# Plans for platforms of every kind, by their registers.
step plan-dsu 0 waykeeper plan agilex5-isolate-core1 --for agilex5 --json
step plan-mpam 0 waykeeper plan cd8180-portions --for cd8180 --json
step plan-lockdown 0 waykeeper plan zynq-lockdown --for zynq7000 --json

# A policy in a room: written, read back, seen in force, and taken back.
step room 0 waykeeper enter xeon-d-2752ter -- sh -c 'set -e; waykeeper apply tcc-halves --cores real-time=2,3
    cat /sys/fs/resctrl/schemata /sys/fs/resctrl/real-time/schemata
    waykeeper status; waykeeper verify --no-probe; waykeeper restore
    test ! -e /sys/fs/resctrl/real-time; waykeeper status'

# A program of Waykeeper's own, recorded from inside; a recording reads.
step trace 0 waykeeper trace --workload mser_cif --limit 100000 --out mser.wkt
step trace-info 0 waykeeper trace --info mser.wkt --json

# Bad input: one clear line each.
step nothing-applied 0 waykeeper status
step no-resctrl 3 waykeeper apply tcc-halves --cores real-time=1
step no-experiment 2 waykeeper run no-such-experiment

# The same from elsewhere: an SSH server, until the host says that it has seen enough. In the short form nobody comes.
serve() {
    ip address add 10.0.2.15/24 dev eth0
    ip link set eth0 up
    /bin/sshd -E /tmp/kept/sshd.log -f /etc/sshd_config || echo "GUEST failed sshd: status $?"
    echo "GUEST serves"
    waited=0
    while [ ! -e /tmp/served ] && [ $waited -lt 600 ]; do sleep 1; waited=$((waited + 1)); done
}
grep -qw rig.short /proc/cmdline || serve

echo "GUEST results"
tar -c -f - . | gzip -9 | base64
echo "GUEST end"
poweroff -f
