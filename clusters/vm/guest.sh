#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The guest: nginx, which passes requests on to the application beside it or to the one on its host.
# shellcheck disable=SC2086 # the lab's names have no blanks
# shellcheck disable=SC1091 # which sets S, O, B and knows probe, trace_setup, trace_start, trace_stop, collect
. /mnt/share/guest/common.sh
net_up
clock_setup >$O/adjtimex.txt
mkdir -p /lab/data
$B/labsrv 9001 $O/server.jsonl /lab/data &
T=$(dirname "$(mktemp -u)")
cat >"$T/nginx.conf" <<X
worker_processes 1;
pid /run/nginx.pid;
error_log $T/nginx.err;
events { worker_connections 64; }
http {
	access_log off;
	client_body_temp_path $T/b;
	proxy_temp_path $T/p;
	fastcgi_temp_path $T/f;
	uwsgi_temp_path $T/u;
	scgi_temp_path $T/s;
	proxy_set_header X-Request-Id \$http_x_request_id;
	proxy_set_header traceparent \$http_traceparent;
	server {
		listen 80;
		keepalive_requests 10000;
		location /host/ { proxy_pass http://10.78.0.1:9000/; }
		location / { proxy_pass http://127.0.0.1:9001; }
	}
}
X
nginx -c "$T/nginx.conf" || say "nginx failed"
if [ "${LAB_by:-lttng}" = cluster ]; then
	mount -t tracefs tracefs /sys/kernel/tracing
	socat TCP-LISTEN:2222,bind=10.78.0.2,reuseaddr,fork EXEC:/mnt/share/guest/serve.sh &
else
	LAB_nsub=8 LAB_subbuf=1M trace_setup
	tcpdump -p -i eth0 -s 200 -B 8192 --time-stamp-precision=nano -w "$T/trace/guest.pcap" >$O/tcpdump.log 2>&1 &
	export TD=$! # trace_stop ends it
	sleep 1
fi
touch $S/sync/ready.guest
wait_for probing 0.2
probe pre
touch $S/sync/probed.guest
wait_for hosttracing 0.1
[ "${LAB_by:-lttng}" = cluster ] || trace_start
touch $S/sync/started.guest
wait_for finished 0.2
[ "${LAB_by:-lttng}" = cluster ] || lttng stop >>$O/lttng.log 2>&1
touch $S/sync/stopped.guest
[ "${LAB_by:-lttng}" = cluster ] || trace_stop
wait_for hoststopped 0.5
probe post
collect
say "guest ready"
