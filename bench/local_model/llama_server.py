"""llama.cpp's HTTP server with a small real model, on loopback, until its standard input closes.

python -m bench.local_model.llama_server smollm2-135m-instruct    # of the table in models.py, or a GGUF file
"""

from __future__ import annotations

import os
import sys

from bench.local_model.models import MODELS, file_of

CONTEXT = 8_192  # tokens of prompt and answer


def main(model: str) -> None:
    """Serve a model, and print the base URL once calls are answered."""
    import xllamacpp

    known = {one.name: one for one in MODELS}
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(file_of(known[model])) if model in known else model
    parameters.model_alias = {model}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    # Its threads spin while they wait for each other: with other load, one per processor would be far slower.
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = max(1, (os.cpu_count() or 2) // 2)
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
