"""Configurations of the servers, in which only what a test needs differs from their defaults."""

from __future__ import annotations

NGINX = """
daemon off;
worker_processes 2;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    {settings}
    gzip on;
    gzip_min_length 1;
    gzip_types text/plain;
    default_type text/plain;
    client_body_temp_path {folder}/t1;
    proxy_temp_path {folder}/t2;
    fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4;
    scgi_temp_path {folder}/t5;
    server {{
        listen 127.0.0.1:{port}{how};
        ssl_certificate {folder}/cert.pem;
        ssl_certificate_key {folder}/key.pem;
        root {folder}/www;
        location / {{ return 200 hello; }}
        location /204 {{ return 204; }}
        location /304 {{ return 304; }}
        location /gzip {{ try_files /4k =404; }}
        location /trailers {{ add_trailer X-Sum 5; try_files /4k =404; }}
        location /head {{ {heads} return 200 hello; }}
    }}
}}
"""
MODULES = "mpm_event authz_core alias dir headers deflate reqtimeout ssl socache_shmcb http2"
APACHE = """
ServerRoot {folder}
DefaultRuntimeDir {folder}
ServerName localhost
PidFile {folder}/pid
ErrorLog {folder}/error.log
Mutex file:{folder} default
{modules}
{user}
Listen 127.0.0.1:{port}
RequestReadTimeout header=20-40,minrate=500
RequestReadTimeout body=10,minrate=500
DocumentRoot {folder}/www
<Directory {folder}/www>
    Require all granted
</Directory>
{settings}
"""
CADDY = """
{{
    admin 127.0.0.1:{admin}
    auto_https off
    servers {{
        protocols h1 h2{h2c}
    }}
}}
{scheme}://127.0.0.1:{port} {{
    {tls}
    root * {folder}/www
    encode gzip
    file_server
}}
"""
HAPROXY = """
global
    maxconn 1000
defaults
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s
    {settings}
frontend front
    bind 127.0.0.1:{port}{how}
    default_backend back
backend back
    server one 127.0.0.1:{back}
"""
NODE = """
const pems = {cert: READ('cert.pem'), key: READ('key.pem')};
const server = require(SCHEME).createServer(pems, (ask, reply) => {
  ask.resume(); ask.on('end', () => reply.end('hello'));
});
if (KEEP) server.keepAliveTimeout = KEEP;
server.listen(PORT, '127.0.0.1');
"""
