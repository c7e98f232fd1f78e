#!/bin/sh
# Starts libvirtd so that nothing of it is outside one folder, and nothing of this machine's is in it.
#
# libvirtd.sh FOLDER CACHE PROGRAM [ARGUMENT...], in a mount namespace of its own.
# libvirt has its folders at fixed paths. They become folders in FOLDER; where this machine has none,
# the folder above is replaced by one that has it beside all that was there.
set -e
at=$1 cache=$2
shift 2

beside() { # a folder with all that is in $1 and the empty folder libvirt, in its place
    mkdir -p "$at/top"
    mount -t tmpfs -o mode=755 none "$at/top"
    for one in "$1"/* "$1"/.[!.]*; do
        new=$at/top/${one##*/}
        if [ -L "$one" ]; then
            cp -P "$one" "$new"
        elif [ -d "$one" ]; then
            mkdir "$new"
            mount --rbind "$one" "$new"
        elif [ -e "$one" ]; then
            : > "$new"
            mount --bind "$one" "$new"
        fi
    done
    mkdir "$at/top/libvirt"
    mount --move "$at/top" "$1"
}

mount --bind "$at/passwd" /etc/passwd
mount --bind "$at/group" /etc/group
for drivers in /usr/lib/*/libvirt/connection-driver /usr/lib*/libvirt/connection-driver; do
    [ -e "$drivers/libvirt_driver_qemu.so" ] || continue
    mkdir -p "$at/drivers"
    cp "$drivers/libvirt_driver_qemu.so" "$at/drivers" # no networks, no storage pools
    mount --bind "$at/drivers" "$drivers"
done
for pair in etc:/etc run:/run lib:/var/lib log:/var/log; do
    above=${pair#*:}
    mkdir -p "$at/${pair%%:*}"
    [ -d "$above/libvirt" ] || beside "$above"
    mount --bind "$at/${pair%%:*}" "$above/libvirt"
done
[ -d /var/cache/libvirt ] || beside /var/cache
mount --bind "$cache" /var/cache/libvirt
exec "$@"
