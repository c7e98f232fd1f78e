"""Programs and configurations of the servers, with places for ports and times."""

#: Answers HTTP or RESP after the planted time; `sleep` says how.
UPSTREAM = """
import asyncio, sys
port, kind, wait = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
async def serve(reader, writer):
    try:
        while True:
            if kind == "http":
                await reader.readuntil(b"\\r\\n\\r\\n")
                reply = b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello"
            else:
                for _ in range(2 * int((await reader.readline())[1:])):
                    await reader.readline()
                reply = b"$5\\r\\nhello\\r\\n"
            await asyncio.sleep(wait)
            writer.write(reply)
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        writer.close()
async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", port) as server:
        await server.serve_forever()
asyncio.run(main())
"""
#: A threaded server of HTTP whose requests do what is put in for WORK.
THREADED = """
import socket, sys, threading, time, mmap, os, queue
lock, jobs = threading.Lock(), queue.Queue()
BEFORE
def serve(stream):
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    PER
    while True:
        head = b""
        while not head.endswith(b"\\r\\n\\r\\n"):
            part = stream.recv(4096)
            if not part:
                return
            head += part
        WORK
        stream.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello")
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
GO = """
package main
import ("fmt"; "net/http"; "os"; "time")
func main() {
    http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
        time.Sleep(WAIT); fmt.Fprint(w, "hello")
    })
    http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
"""
HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s
frontend front
    bind 127.0.0.1:{port}
    default_backend back
backend back
    server one 127.0.0.1:{back}
"""
NGINX = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/a;
    proxy_temp_path {folder}/b;
    fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d;
    scgi_temp_path {folder}/e;
    upstream back {{ server 127.0.0.1:{back}; keepalive 4; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://back;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }}
    }}
}}
"""
TWEMPROXY = """
pool:
  listen: 127.0.0.1:{port}
  hash: fnv1a_64
  distribution: ketama
  redis: true
  servers:
   - 127.0.0.1:{back}:1
"""
