#!/usr/bin/env python3
"""What others make of models that frit wrote. usage: onnx_peer.py FOLDER ...

Each folder has model.onnx, input_*.pb and output_*.pb (TensorProto). The model must pass onnx.checker with full checks, and
ONNX Runtime with all graph optimizations off must compute the outputs. Prints one line per folder that fails, then
"N right, M refused, K wrong"; refused are models that ONNX Runtime has no kernel for. Exit status 77: a module is missing.
"""
import pathlib, sys

try:
    import numpy as np, onnx, onnxruntime
    from onnx import numpy_helper
except ImportError as e:
    print(e)
    sys.exit(77)


def load(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def differs(got, want):
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
    if not np.issubdtype(got.dtype, np.floating):
        return None if np.array_equal(got, want) else "other integers"
    with np.errstate(all="ignore"):
        scale = max(1.0, float(np.max(np.abs(want), initial=0, where=np.isfinite(want))))
        close = np.isclose(got.astype(np.float64), want.astype(np.float64), rtol=1e-4, atol=1e-5 * scale, equal_nan=True)
    return None if close.all() else f"error {np.abs(got - want).max()}"


def check(folder):
    onnx.checker.check_model(str(folder / "model.onnx"), full_check=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    feeds = {x.name: load(folder / f"input_{i}.pb") for i, x in enumerate(session.get_inputs())}
    for i, got in enumerate(session.run(None, feeds)):
        problem = differs(got, load(folder / f"output_{i}.pb"))
        if problem:
            return f"output {i}: {problem}"
    return None


def main(folders):
    right = refused = wrong = 0
    for folder in map(pathlib.Path, folders):
        try:
            problem = check(folder)
        except Exception as e:
            problem = f"{type(e).__name__}: {str(e).splitlines()[0][:300]}"
            if "NOT_IMPLEMENTED" in problem or "NotImplemented" in problem:
                refused += 1
                continue
        right += problem is None
        wrong += problem is not None
        if problem:
            print(f"{folder}: {problem}")
    print(f"{right} right, {refused} refused, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
