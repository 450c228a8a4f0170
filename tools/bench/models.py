#!/usr/bin/env python3
"""Times networks with frit and its peers side by side and prints the ratios.

The engines alternate within one run, round by round, each in its own process pinned to the same cores, so
that what disturbs the machine disturbs them all; compare figures only within one run. A ratio is the median of
a peer's times over the median of frit's; beside it stand the smallest and the largest ratio of a single round.

    python tools/bench/models.py resnet50.onnx bert_base.onnx --threads 1,2 --frit build/release/frit

frit runs from its cache (--cache) and never tunes here: `frit tune` comes first. ONNX Runtime runs with all graph
optimizations and no spinning beyond its defaults, OpenVINO with INFERENCE_PRECISION_HINT=f32 and the latency hint.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import engines  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--threads", default="1", help="comma-separated thread counts (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each engine (default 5)")
    parser.add_argument("--seconds", type=float, default=2.0, help="time of one turn (default 2)")
    parser.add_argument("--engines", default="onnxruntime,openvino", help="peers, comma-separated")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=1x128", help="as frit takes it")
    parser.add_argument("--frit", default="build/release/frit", help="the tool (default build/release/frit)")
    parser.add_argument("--cache", help="frit's tuning cache (default: frit's own place)")
    parser.add_argument("--json", help="write the figures here too")
    return parser.parse_args()


def pinned_cores(threads):
    allowed = sorted(os.sched_getaffinity(0))
    if threads > len(allowed):
        sys.exit(f"error: {threads} threads asked for, {len(allowed)} cores allowed")
    return allowed[:threads]


class Peer:
    """An engine in a process of its own that measures when it is told to."""

    def __init__(self, name, model, threads, shapes):
        command = [sys.executable, engines.__file__, name, model, str(threads), *shapes]
        cores = pinned_cores(threads)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.about = json.loads(self.process.stdout.readline() or '{"error": "the engine ended while loading"}')

    def turn(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def frit_turn(args, model, threads, seconds):
    command = [args.frit, "bench", model, "--threads", str(threads), "--time", f"{seconds}s", "--json"]
    if args.cache:
        command += ["--cache", args.cache]
    for shape in args.shape:
        command += ["--shape", shape]
    cores = pinned_cores(threads)
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    return report["latency_ms"]["median"], report


def measure(args, model, threads):
    peers = {}
    for name in filter(None, args.engines.split(",")):
        peer = Peer(name, model, threads, args.shape)
        if "error" in peer.about:
            print(f"{name}: {peer.about['error']}", file=sys.stderr)
            peer.close()
        else:
            peers[name] = peer
    medians = {name: [] for name in ["frit", *peers]}
    for _ in range(args.rounds):
        for name, peer in peers.items():
            medians[name].append(statistics.median(peer.turn(args.seconds)))
        median, report = frit_turn(args, model, threads, args.seconds)
        medians["frit"].append(median)
    row = {"model": os.path.basename(model), "threads": threads, "frit_ms": statistics.median(medians["frit"]),
           "frit_rounds_ms": medians["frit"], "counters": report["counters"], "peers": {}}
    for name, peer in peers.items():
        ratios = [p / f for p, f in zip(medians[name], medians["frit"])]
        row["peers"][name] = {**peer.about, "ms": statistics.median(medians[name]), "rounds_ms": medians[name],
                              "ratio": statistics.median(medians[name]) / row["frit_ms"],
                              "ratio_min": min(ratios), "ratio_max": max(ratios)}
        peer.close()
    return row


def main():
    args = arguments()
    rows = []
    print(f"{'network':<24} {'threads':>7} {'frit ms':>9}   peer ms, ratio peer/frit (smallest..largest of a round)")
    for model in args.models:
        for threads in map(int, args.threads.split(",")):
            row = measure(args, model, threads)
            rows.append(row)
            against = "   ".join(f"{name} {peer['ms']:.2f} {peer['ratio']:.2f}x ({peer['ratio_min']:.2f}..{peer['ratio_max']:.2f})"
                                 for name, peer in row["peers"].items())
            print(f"{row['model']:<24} {threads:>7} {row['frit_ms']:>9.2f}   {against}", flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"when": time.strftime("%Y-%m-%d"), "machine": engines.machine(), "rows": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
