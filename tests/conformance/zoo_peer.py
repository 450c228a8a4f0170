#!/usr/bin/env python3
"""ONNX Runtime loads the zoo's networks and agrees with frit about their outputs.

usage: zoo_peer.py FRIT

FRIT is the built binary. Each network is made small where it can be, passes onnx.checker, and is run by both on the same
seeded inputs. Exit status 77: a module is missing.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as e:
    print("SKIPPED:", e)
    sys.exit(77)

TOLERANCE = 1e-4  # of the output's largest magnitude: numerics policy default
NETWORKS = {
    "mlp": ["--batch", "3"],
    "mobilenet_v2": ["--batch", "2"],
    "resnet50": [],
    "bert_base": ["--batch", "2", "--seq", "16"],
}


def make_inputs(session):
    random = np.random.default_rng(11)
    feeds = {}
    for x in session.get_inputs():
        if x.type == "tensor(float)":
            feeds[x.name] = random.standard_normal(x.shape).astype(np.float32)
        elif x.name == "mask":  # the second sequence is half as long
            feeds[x.name] = np.ones(x.shape, np.int64)
            feeds[x.name][-1, x.shape[1] // 2 :] = 0
        else:
            feeds[x.name] = random.integers(0, 30000, x.shape, np.int64)
    return feeds


def check(frit, name, options, folder):
    model = folder / f"{name}.onnx"
    subprocess.run([frit, "zoo", "make", name, "-o", str(model), *options], check=True, stderr=subprocess.DEVNULL)
    onnx.checker.check_model(str(model))
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    feeds = make_inputs(session)
    names = [y.name for y in session.get_outputs()]
    wanted = dict(zip(names, session.run(None, feeds)))
    command = [frit, "run", str(model), "--on-miss", "heuristic", "--cache", "off", "--outputs", str(folder / "out")]
    for key, value in feeds.items():
        np.save(folder / f"{key}.npy", value)
        command += ["--input", f"{key}={folder / key}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return f"frit run: exit code {done.returncode}: {done.stderr}"
    for key, want in wanted.items():
        got = np.load(folder / "out" / f"{key}.npy")
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"{key}: {got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
        if not np.isfinite(want).all() or np.abs(want).max() == 0 or want.std() == 0:
            return f"{key}: the network computes nothing worth comparing"
        error = np.abs(got.astype(np.float64) - want).max() / np.abs(want).max()
        if not error <= TOLERANCE:
            return f"{key}: differs by {error:.2e} of the largest magnitude"
        print(f"{name}: {key} {got.shape} agrees, {error:.1e} of the largest magnitude")
    model.unlink()
    return None


def main(frit):
    wrong = 0
    for name, options in NETWORKS.items():
        with tempfile.TemporaryDirectory() as folder:
            problem = check(frit, name, options, pathlib.Path(folder))
        if problem:
            print(f"{name}: {problem}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
