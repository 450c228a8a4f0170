#!/usr/bin/env python3
"""Start-up times of frit: file to first result, cold and warm, beside what a warm start cannot avoid.

    python tools/bench/startup.py resnet50.onnx bert_base.onnx --threads 2 --frit build/release/frit

cold: an empty cache, choices by the heuristic, every kernel compiled. warm: the next processes, which search and
compile nothing, with the model file moved elsewhere. Both are load + first run as the tool reports them. The floor
of a warm start is reading the file from the page cache into memory + packing the weights + one inference; the bar is
1.5 times that. Memory is the peak resident size of the process, whose bound is weights + packed copy + arena +
40 MiB warm, + 150 MiB cold.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20


def tool(args, *words, trace=None):
    command = [args.frit, *words, "--threads", str(args.threads), "--json"]
    if trace:
        command += ["--trace", trace]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def first_result_ms(report):
    return report["load_ms"] + report["first_run_ms"]


def read_ms(path):
    buffer = bytearray(os.path.getsize(path))
    memoryview(buffer)[::4096] = bytes(len(range(0, len(buffer), 4096)))  # the pages exist before the clock starts
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        with open(path, "rb", buffering=0) as file:
            view, at = memoryview(buffer), 0
            while at < len(buffer):
                at += file.readinto(view[at:at + 64 * MIB])
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def packing_ms(path):
    with open(path) as file:
        trace = json.load(file)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    return sum(e["dur"] for e in events if e.get("ph") == "X" and e["name"].startswith(("pack ", "load "))) / 1e3


def measure(args, model, folder):
    cache, trace = os.path.join(folder, "cache.sqlite"), os.path.join(folder, "trace.json")
    run = ["run", model, "--on-miss", "heuristic", "--cache", cache]
    cold = tool(args, *run)
    moved = os.path.join(folder, "moved.onnx")
    shutil.copyfile(model, moved)
    run[1] = moved
    warm = [tool(args, *run) for _ in range(args.rounds)]
    for report in warm:
        assert report["counters"]["trials"] == 0 and report["counters"]["compiles"] == 0, report["counters"]
    bench = tool(args, "bench", moved, "--cache", cache, "--time", "2s", trace=trace)
    floor = {"read_ms": read_ms(moved), "packing_ms": packing_ms(trace), "inference_ms": bench["latency_ms"]["median"]}
    os.remove(moved)
    memory = lambda r: {k: round(v / MIB, 1) for k, v in r["memory"].items()}
    warm_ms = statistics.median(map(first_result_ms, warm))
    return {"model": os.path.basename(model), "threads": args.threads, "cold_ms": first_result_ms(cold), "warm_ms": warm_ms,
            "compiles": cold["counters"]["compiles"], **floor, "warm_over_floor": warm_ms / sum(floor.values()),
            "cold_memory_mib": memory(cold), "warm_memory_mib": memory(warm[-1])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7, help="warm processes (default 7)")
    parser.add_argument("--frit", default="build/release/frit")
    parser.add_argument("--json", help="write the figures here too")
    args = parser.parse_args()
    rows = []
    print(f"{'network':<20} {'cold ms':>8} {'warm ms':>8} = {'floor':>5}x of read + pack + run ms       peak MiB cold, warm (weights, arena)")
    for model in args.models:
        with tempfile.TemporaryDirectory() as folder:
            row = measure(args, model, folder)
        rows.append(row)
        cold, warm = row["cold_memory_mib"], row["warm_memory_mib"]
        print(f"{row['model']:<20} {row['cold_ms']:>8.0f} {row['warm_ms']:>8.1f} = {row['warm_over_floor']:>5.2f}x of "
              f"{row['read_ms']:.1f} + {row['packing_ms']:.1f} + {row['inference_ms']:.1f}   {cold['peak_rss']:.0f}, {warm['peak_rss']:.0f} "
              f"({warm['weights']:.0f}, {warm['arena']:.0f})", flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
