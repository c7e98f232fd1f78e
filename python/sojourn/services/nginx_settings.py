"""What can be set of NGINX: parameters, and the configuration file for them."""

from __future__ import annotations

from sojourn.services.params import Param

PARAMS = (
    Param(
        name="workers",
        about="worker processes; default: 7 (C4), or one per server CPU if there are fewer; "
        '"cpus", "cpus+1": by the server\'s CPUs',
        default=None,
        lo=1,
        hi=1024,
        relative=True,
    ),
    Param(
        name="files",
        about="static files; default: 100 K (C4) times the profile's share, as far as disk and "
        "memory go",
        default=None,
        lo=1,
        hi=10_000_000,
    ),
    Param(
        name="file_bytes", unit="bytes", about="size of each (C4)", default=4096, lo=0, hi=1 << 30
    ),
    Param(name="open_file_cache", about="keep files open (C4: on)", default=True, type=bool),
    Param(name="access_log", about="write an access log (C9)", default=False, type=bool),
    Param(
        name="sendfile",
        about="the kernel sends files itself; off: read and written by the worker (C9)",
        default=True,
        type=bool,
    ),
    Param(
        name="directio",
        about="read files from the disk past the page cache, each time (nginx: directio), as "
        "if they did not fit into memory",
        default=False,
        type=bool,
    ),
    Param(
        name="gzip",
        about="compress replies, and be asked for compressed ones (C9: post-processing)",
        default=False,
        type=bool,
    ),
    Param(
        name="is_cold",
        about="nothing of the files is in the page cache when it starts: what it reads is its own, "
        "and counts against its memory (C25)",
        default=False,
        type=bool,
    ),
    Param(
        name="reuseport",
        about="one listening socket per worker; default off, as nginx itself: workers compete for "
        "new connections and may get unequal shares (L3)",
        default=False,
        type=bool,
    ),
    Param(
        name="http2",
        about="speak HTTP/2 without TLS, with many requests in flight on a connection",
        default=False,
        type=bool,
    ),
    Param(
        name="connections_max",
        about="limit of connections per worker; default: 8192, or half of the allowed open files",
        default=None,
        lo=16,
        hi=1 << 20,
    ),
    Param(name="port", about="loopback port; 0: a free one", default=0, lo=0, hi=65_535),
)

CONFIG = """\
# Written by sojourn. Everything lies in this folder; nothing of the system's configuration is used.
daemon off;
worker_processes {workers};
worker_rlimit_nofile {files_open};
pid nginx.pid;
error_log stderr warn;
events {{
    worker_connections {connections_max};
}}
http {{
    access_log {access_log};
    default_type text/html;
    sendfile {sendfile};
    directio {directio};
    gzip {gzip};
    tcp_nodelay on;
    keepalive_timeout 1h;
    keepalive_requests 1000000000;  # the default, 1000, would close connections in mid-measurement
    {cache}
    client_body_temp_path tmp_body;
    proxy_temp_path tmp_proxy;
    fastcgi_temp_path tmp_fastcgi;
    uwsgi_temp_path tmp_uwsgi;
    scgi_temp_path tmp_scgi;
    server {{
        listen {address}{http2}{reuseport};
        root files;
    }}
}}
"""
