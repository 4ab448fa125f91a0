#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes this recording again: as root, on a machine that has little else to do, beside desktop (desktop.c, linked
# statically) and dtrace-collect. Leaves the node in ./desk.
set -e
for name in xinit Xorg dbus-daemon wm panel; do ln -sf desktop.bin $name; done
mkdir -p desktop/fonts
for name in xorg.conf keymap.xkb session.conf panel.desktop fonts/fixed.pcf xinitrc; do
	head -c 300000 /dev/urandom > desktop/$name
done
sync
echo 3 > /proc/sys/vm/drop_caches # what is read comes from the disk
rm -rf desk
./dtrace-collect record --no-packets -o desk -- ./startx
