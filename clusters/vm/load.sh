#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# load.sh WINDOWS ANSWERS REQUESTS CPU: the requests, while backup-job takes the CPU now and then.
B=/mnt/share/bin
nice -n -5 taskset -c "$4" $B/burn "$1" backup-job 60 50 500 700 &
competitor=$!
taskset -c 0 $B/labcli 10.78.0.2 80 "$2" 1 20 <"$3"
kill $competitor
