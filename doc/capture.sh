#!/bin/sh
# Captures the showcase's report and verdict into doc/showcase.txt
set -eu
cd "$(dirname "$0")/.."
{
    echo '$ make run FOR=5s'
    ./bulkhead run drive --for 5s | sed -n '/^drive: .* of /,$p'
} >doc/showcase.txt.part
mv doc/showcase.txt.part doc/showcase.txt
