"""A greeter of grpcio: PORT AGE_MS SIZE; any call gets so many bytes, packed by gzip."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc


class Greeter(grpc.GenericRpcHandler):
    def __init__(self, size: int) -> None:
        self.reply = b"a" * size

    def service(self, _details: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(lambda _message, _context: self.reply)


def main(port: int, age_ms: int, size: int) -> None:
    options = [("grpc.so_reuseport", 0)]
    if age_ms:
        options += [("grpc.max_connection_age_ms", age_ms)]
        options += [("grpc.max_connection_age_grace_ms", 5_000)]
    server = grpc.server(
        ThreadPoolExecutor(4), (Greeter(size),), options=options, compression=grpc.Compression.Gzip
    )
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
