#!/bin/busybox sh
# The first process of a guest: makes its network, starts the service, does what the lab says.
#
# Line by line over the port "agent"; the service's own words go to the port "log".
#   to the lab:    up | started PID | exited STATUS | file BYTES NAME | end | pong | owner PID
#                  task PID TID NAME<tab>COMMAND | tasks | pinned TID MASK | lacks WHAT
#                  ready | clock SECONDS | worked
#   from the lab:  signal NUMBER | ping | port NUMBER | tasks | pin TID CPU | job SECONDS | work ROUNDS
# A guest without a service is ready: its state can be saved, and it waits for the job and the time.
# It sleeps in `read` while load runs.

/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t tmpfs -o mode=1777 shm /dev/shm
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/2 /dev/stderr
ln -sf /proc/self/fd/1 /dev/stdout

block() { # the device of a disk by its serial number
    for at in /sys/block/vd*; do
        [ "$(cat "$at/serial")" = "$1" ] && echo "/dev/${at##*/}" && return
    done
}

port() { # the device of a port by its name
    for at in /sys/class/virtio-ports/*; do
        [ "$(cat "$at/name")" = "$1" ] && echo "/dev/${at##*/}" && return
    done
}

agent=$(port agent)
log=$(port log)
if [ -z "$agent" ] || [ -z "$log" ]; then
    echo "sojourn: no port to speak with the lab"
    poweroff -f
fi
exec 3<>"$agent" 4>"$log"
say() { echo "$*" >&3; }

for module in /sojourn/modules/*.ko; do
    insmod "$module" || say "lacks the module $module"
done
ip link set lo up
if [ ! -f /sojourn/conf ]; then
    say ready
    while read -r verb first <&3; do [ "$verb" = job ] && break; done
    date -s "@$first" > /dev/null
    say "clock $(date +%s)"
    (cd / && cpio -idu < "$(block job)") 2> /dev/null
    cat /sojourn/seed > /dev/urandom
fi
. /sojourn/conf || poweroff -f
if [ -n "$DISK" ]; then
    mount -t ext4 "$(block data)" "$WORK" || say "lacks its disk"
    rmdir "$WORK/lost+found"
fi
[ -n "$MAC" ] && ip link set eth0 address "$MAC"
ip addr add "$ADDRESS" dev eth0 || say "lacks an address: no network device"
ip link set eth0 up
echo "$SETTINGS" | while IFS='=' read -r name value; do
    [ -n "$name" ] && sysctl -q -w "$name=$value" > /dev/null 2>&1
done
say up

touch /sojourn/started
(
    setsid /sojourn/service >&4 2>&4 3>&- 4>&- < /dev/null &
    echo $! > /sojourn/pid
    say "started $!"
    wait $!
    say "exited $?"
    cd "$WORK" || exit
    find . -type f -newer /sojourn/started -size -2048 | while IFS= read -r file; do
        [ -s "$file" ] || continue
        say "file $(stat -c %s "$file") ${file#./}"
        cat "$file" >&3
        say
    done
    say end
) &

session() { # processes of the service
    read -r leader < /sojourn/pid
    for at in /proc/[0-9]*; do # no program is run for each: translated, that takes seconds
        { read -r stat < "$at/stat"; } 2> /dev/null || continue
        set -- ${stat##*) }
        [ "$4" = "$leader" ] && echo "${at##*/}"
    done
}

owner() { # which of them listens on a port; 0: none
    hex=$(printf '%04X' "$1")
    inodes=$(awk -v port=":$hex\$" '$4 == "0A" && $2 ~ port { print $10 }' /proc/net/tcp /proc/net/tcp6)
    for pid in $(session); do
        for inode in $inodes; do
            ls -l "/proc/$pid/fd" 2> /dev/null | grep -q "socket:\[$inode\]" && echo "$pid" && return
        done
    done
    echo 0
}

tasks() {
    for pid in $(session); do
        command=$(tr '\0' ' ' < "/proc/$pid/cmdline" 2> /dev/null)
        for at in "/proc/$pid"/task/*; do
            { read -r name < "$at/comm"; } 2> /dev/null || continue
            say "task $pid ${at##*/} $name	$command"
        done
    done
    say tasks
}

while IFS=' ' read -r verb first second <&3; do
    case $verb in
        signal) kill "-$first" "$(cat /sojourn/pid)" ;;
        ping) say pong ;;
        work) while [ "$first" -gt 0 ]; do first=$((first - 1)); done; say worked ;;
        port) say "owner $(owner "$first")" ;;
        tasks) tasks ;;
        pin) say "pinned $first $(taskset -p "$(printf '%x' $((1 << second)))" "$first" 2>&1 | tail -n 1 | sed 's/.*: //')" ;;
    esac
done
