#!/bin/sh
# init.sh - the first process of the guests, with a PMU or with NUMA balancing: runs the script that lies on the host, and
# ends the guest
/usr/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
# What is there already stays: the workloads of a checkout below /tmp.
mkdir /new && mount -t tmpfs tmp /new && cp -a /tmp/. /new && mount -o move /new /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
modprobe virtio_mmio && modprobe 9pnet_virtio && modprobe 9p &&
	mount -t 9p -o trans=virtio,version=9p2000.L host /host &&
	read -r booted _ </proc/uptime && sh /host/guest.sh && echo 'done'
read -r up _ </proc/uptime
echo "up $up s, $booted s to boot"
poweroff -f
