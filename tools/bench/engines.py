#!/usr/bin/env python3
"""The peers behind one interface, each run as `engines.py NAME MODEL THREADS [NAME=1x128 ...]`.

Prints one JSON line about itself when the model is loaded and warm; then reads numbers of seconds, one per line,
measures for that long and answers with the times in milliseconds as one JSON list. Inputs are random, as frit's are:
real values from a standard normal, integers below 2 (an index into any axis), booleans true.
"""

import json
import platform
import sys
import time

import numpy as np


def machine():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def random_input(shape, kind, random):
    kind = np.dtype(kind)
    if kind == np.bool_:
        return np.ones(shape, kind)
    if kind.kind in "iu":
        return random.integers(0, 2, shape).astype(kind)
    return random.standard_normal(shape).astype(kind)


def fixed_shape(name, dims, given):
    """The shape of an input: as the file says, named dimensions from `given`, else 1."""
    if name in given:
        return given[name]
    return [d if isinstance(d, int) and d > 0 else given.get(d, [1])[0] for d in dims]


def load_onnxruntime(path, threads, given):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    kinds = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2", "tensor(int64)": "i8",
             "tensor(int32)": "i4", "tensor(uint8)": "u1", "tensor(int8)": "i1", "tensor(bool)": "?"}
    random = np.random.default_rng(1)
    feeds = {i.name: random_input(fixed_shape(i.name, i.shape, given), kinds[i.type], random)
             for i in session.get_inputs()}
    return (lambda: session.run(None, feeds)), {"version": onnxruntime.__version__, "settings": "ORT_ENABLE_ALL"}


def load_openvino(path, threads, given):
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    names = {i.get_any_name(): i for i in model.inputs}
    shapes = {}
    for name, port in names.items():
        dims = [d.get_length() if d.is_static else d.to_string() for d in port.partial_shape]
        dims = [d if isinstance(d, int) else 0 for d in dims]
        shapes[name] = given.get(name, [d if d > 0 else 1 for d in dims])
    model.reshape(shapes)
    settings = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": str(threads),
                "NUM_STREAMS": "1", "ENABLE_CPU_PINNING": "NO"}
    compiled = core.compile_model(model, "CPU", settings)
    request = compiled.create_infer_request()
    random = np.random.default_rng(1)
    feeds = {n: random_input(shapes[n], p.element_type.to_dtype(), random) for n, p in names.items()}
    return (lambda: request.infer(feeds, share_inputs=True)), {"version": openvino.__version__, "settings": str(settings)}


LOADERS = {"onnxruntime": load_onnxruntime, "openvino": load_openvino}


def main():
    name, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    given = {}
    for text in sys.argv[4:]:
        key, dims = text.split("=", 1)
        given[key] = [int(d) for d in dims.split("x")]
    try:
        begin = time.perf_counter()
        run, about = LOADERS[name](path, threads, given)
        run()
        about["first_result_ms"] = (time.perf_counter() - begin) * 1e3
        run()
    except Exception as error:  # any failure of a peer is a row without it, never the end of the table
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
        return
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        seconds, times = float(line), []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or not times:
            before = time.perf_counter()
            run()
            times.append((time.perf_counter() - before) * 1e3)
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
