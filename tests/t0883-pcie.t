#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What pmm doctor says of PCIe of this machine's adapters: lost lanes, a slot
# below the adapter, and cards with several functions.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm
workdir
cd "$workdir" || exit 1
pmm fabric generate fat-tree --ports 4 --levels 2 -o fabric
echo "Snapshot=$workdir/fabric" >pmm.conf

# adapter NAME ADDRESS IMAGE RATE NOW MOST: lanes, as "8", of an adapter of 16
# GT/s and of the port above it.
adapter ()
{
    local dev=sys/$1 pci=sys/pci/up-${2%.*} dir
    local guid=ec0d:9a03:00ec:00${1#mlx5_}0
    mkdir -p "$dev/ports/1/gids" "$pci/$2"
    echo "$guid" >"$dev/node_guid"
    echo "$3" >"$dev/sys_image_guid"
    echo "fe80:0000:0000:0000:$guid" >"$dev/ports/1/gids/0"
    echo InfiniBand >"$dev/ports/1/link_layer"
    echo "4: ACTIVE" >"$dev/ports/1/state"
    echo "$4" >"$dev/ports/1/rate"
    for dir in "$pci" "$pci/$2"; do
        echo "$5" >"$dir/current_link_width"
        echo "$6" >"$dir/max_link_width"
        echo "16.0 GT/s PCIe" | tee "$dir/current_link_speed" \
            >"$dir/max_link_speed"
    done
    ln -s "../pci/up-${2%.*}/$2" "$dev/device"
}
a=ec0d:9a03:00aa:0000 b=ec0d:9a03:00bb:0000
hdr="200 Gb/sec (4X HDR)" ndr="400 Gb/sec (4X NDR)"

# says TEXT NAME: of PCIe.
says ()
{
    local said
    said=$(pmm doctor --conf pmm.conf --sysfs sys | grep ' PCIe: ')
    is "$(xargs <<<"$said")" "$1" "$2"
    rm -rf sys
}

says "OK PCIe: not known of any adapter on this machine" "no adapter"
adapter mlx5_1 0000:1b:00.0 $a "$hdr" 16 16
adapter mlx5_2 0000:3b:00.0 $b "$hdr" 16 16
says "OK PCIe: as fast as both ends of each link allow" "two are good"
adapter mlx5_1 0000:1b:00.0 $a "$hdr" 16 16
adapter mlx5_2 0000:3b:00.0 $b "$hdr" 8 16
says "WARN PCIe: mlx5_2: PCIe runs at 16 GT/s x8 of 16 GT/s x16" "one lost lanes"
adapter mlx5_1 0000:1b:00.0 $a "$ndr" 16 16
says "INFO PCIe: mlx5_1: its slot allows 16 GT/s x16: 226 of 400 Gb/s" \
    "a slot below the adapter is a remark"
adapter mlx5_1 0000:1b:00.0 $a "$hdr" 8 8
says "INFO PCIe: mlx5_1: its slot allows 16 GT/s x8: 113 of 200 Gb/s" \
    "... as one of few lanes is"
adapter mlx5_1 0000:1b:00.0 $a "$hdr" 8 8
adapter mlx5_2 0000:3b:00.0 $a "$hdr" 8 8
says "OK PCIe: as fast as both ends of each link allow" \
    "two slots of one port (Socket Direct) carry it together"
adapter mlx5_1 0000:1b:00.0 $a "$hdr" 16 16
adapter mlx5_2 0000:1b:00.1 $a "$hdr" 16 16
says "INFO PCIe: mlx5_1: its slot allows 16 GT/s x16: 226 of 400 Gb/s" \
    "two ports of one slot share it"

done_testing
