#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The machine that is the host: a KVM guest on its CPU 1, a client in front of it, an application behind it, and now
# and then a program that wants the same CPU.
# shellcheck disable=SC2086 # the lab's names have no blanks
# shellcheck disable=SC1091 # which sets S, O, B and knows probe, trace_setup, trace_start, trace_stop, collect
. /mnt/share/guest/common.sh
net_up
clock_setup >$O/adjtimex.txt
modprobe kvm-amd || say "kvm-amd failed"
modprobe tun
modprobe vhost_net
ip tuntap add dev tap0 mode tap
ip addr add 10.78.0.1/24 dev tap0
ip link set tap0 up
T=$(dirname "$(mktemp -u)")
L=$T/l2share
mkdir -p $L/sync $L/out $L/guest $L/bin "$T/trace" "$T/data"
cp $S/guest/* $L/guest/
cp $S/bin/* $L/bin/
cp $S/vmlinux $S/initrd.img "$T"
truncate -s 1M "$T/l2.shm"
CLK=mono $B/clkpage "$T/l2.shm" &
page=$!
rtc=$(date -u -d @$(($(date +%s) + 7)) +%Y-%m-%dT%H:%M:%S)
words="console=ttyS0 quiet loglevel=4 mitigations=off net.ifnames=0 lab.node=guest lab.ip=10.78.0.2"
words="$words lab.nodes=host,guest lab.freq=20 lab.scenario=vmguest lab.by=${LAB_by:-lttng}"
qemu-system-x86_64 -name guest,debug-threads=on -M pc -accel kvm -cpu host -smp 1 -m 768 -nodefaults -display none \
	-no-reboot -serial "file:$T/l2.console" -rtc base=$rtc,clock=vm -kernel "$T/vmlinux" -initrd "$T/initrd.img" \
	-append "$words" -drive file=/dev/vdb,format=raw,if=virtio,cache=none,aio=threads \
	-netdev tap,id=n0,ifname=tap0,script=no,downscript=no,vhost=${LAB_vhost:-on} \
	-device virtio-net-pci,netdev=n0,mac=52:54:00:78:00:02,romfile= \
	-fsdev local,id=fs0,path=$L,security_model=none -device virtio-9p-pci,fsdev=fs0,mount_tag=share \
	-object "memory-backend-file,id=shm0,share=on,mem-path=$T/l2.shm,size=1M" -device ivshmem-plain,memdev=shm0 \
	>$O/l2-qemu.log 2>&1 &
qemu=$!
$B/labsrv 9000 $O/server.jsonl "$T/data" &
server=$!
until [ -e $L/sync/ready.guest ] || ! kill -0 $qemu 2>/dev/null; do sleep 1; done
kill -0 $qemu 2>/dev/null || {
	say "the guest died"
	cat $O/l2-qemu.log
	exit 0
}
for t in "/proc/$qemu/task/"*; do echo "$(basename $t) $(cat $t/comm)"; done >$O/qemu-threads.txt
echo "qemu_pid $qemu" >>$O/qemu-threads.txt
vcpu=$(awk '/CPU 0\/KVM/ { print $1 }' $O/qemu-threads.txt)
taskset -pc 1 $vcpu >/dev/null
# everybody else on CPU 0: what takes the CPU of the guest, or theirs, is the one program that is meant to
for t in "/proc/$qemu/task/"*; do
	[ "$(basename $t)" = "$vcpu" ] || taskset -pc 0 "$(basename $t)"
done >/dev/null
for p in $(pgrep -x vhost-$qemu) $server $page $$; do taskset -apc 0 $p; done >/dev/null
load="$S/guest/load.sh $O/hog.jsonl $O/client.jsonl $S/guest/vmrequests.txt ${LAB_rival:-1}"
by=${LAB_by:-lttng}
kvm=",kvm_x86_entry,kvm_x86_exit,kvm_x86_inj_virq,kvm_x86_hypercall,kvm_x86_pio,kvm_x86_msr,kvm_x86_page_fault"
kvm="$kvm,kvm_x86_apic,kvm_x86_apic_accept_irq,kvm_x86_eoi,kvm_userspace_exit,kvm_set_irq,kvm_ack_irq,kvm_msi_set_irq"
[ $by = cluster ] || LAB_nsub=8 LAB_subbuf=2M trace_setup $kvm
probe pre
if [ $by != cluster ]; then
	tcpdump -p -i tap0 -s 200 -B 16384 --time-stamp-precision=nano -w "$T/trace/host.pcap" >$O/tcpdump.log 2>&1 &
	export TD=$! # trace_stop ends it
	sleep 1
fi
touch $L/sync/probing
until [ -e $L/sync/probed.guest ]; do sleep 0.2; done
for _ in 1 2 3; do # warm caches, ARP
	curl -s -o /dev/null http://10.78.0.2/cpu
	curl -s -o /dev/null http://10.78.0.2/host/fast
done
sleep 0.5
if [ $by = cluster ]; then
	mount -t tracefs tracefs /sys/kernel/tracing
	touch $L/sync/hosttracing
	$S/guest/dtrace-collect cluster --nodes host,guest --via "$S/guest/reach.sh {node}" --guests --place "$T" \
		--program $S/guest/dtrace-collect -o $O/run.dtcb -- $load >$O/cluster.txt 2>&1
	echo "exit $?" >>$O/cluster.txt
else
	trace_start
	touch $L/sync/hosttracing
	until [ -e $L/sync/started.guest ]; do sleep 0.1; done
	$load
fi
touch $L/sync/finished
until [ -e $L/sync/stopped.guest ] || ! kill -0 $qemu 2>/dev/null; do sleep 0.1; done
[ $by = cluster ] || trace_stop
probe post
touch $L/sync/hoststopped
for _ in $(seq 120); do
	kill -0 $qemu 2>/dev/null || break
	sleep 1
done
kill $qemu 2>/dev/null
kill $page $server
mkdir -p $S/out/guest
cp -r $L/out/guest/. $S/out/guest/
collect
say "host ready"
