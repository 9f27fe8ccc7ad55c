#!/usr/bin/env python3
"""What parsing costs inside the daemon's hit path: the daemon under wrk with perf's samples, for wrk's own request and for
the 968-byte request of a browser.

    LOLIGO=build/src/loligo python3 test/bench/hdrs_in_hit_path.py [seconds]

Prints, for each request: CPU per hit (user and system, from /proc), the share of samples in src/hdrs, and their product.
Needs wrk and perf (Debian: wrk linux-perf). Only loopback."""
import http.server
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

LOLIGO = os.path.abspath(os.environ.get('LOLIGO', 'build/src/loligo'))
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 4
HERE = os.path.dirname(os.path.abspath(__file__))
# What the parser's files hold; perf names functions, not files.
OURS = re.compile(r'^(whole_\w+|parse_\w+|request_by_lines|field_\w+|line_find|scan_\w+|token_\w+|head_\w+|uri_\w+|authority_\w+'
                  r'|name_ok|method_\w+|request_framing|word_find|cache_control_\w+|number_parse|put_path|put_lower)(\.\w+)*$')


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        self.send_response(200)
        self.send_header('Cache-Control', 'max-age=3600')
        self.send_header('Content-Length', '1024')
        self.end_headers()
        self.wfile.write(b'x' * 1024)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def cpu_seconds(pid):
    user, system = open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf('SC_CLK_TCK')


def browser_lines():
    """The fields of request_modern_browser, from parser_cases.h."""
    text = open(os.path.join(HERE, 'parser_cases.h')).read()
    case = text[text.index('"request_modern_browser"'):]
    lines = re.findall(r'^\s+"((?:[^"\\]|\\.)*)\\r\\n"', case[:case.index('968,')], re.M)
    return [l.replace('\\"', '"').replace('\\?', '?').split(': ', 1) for l in lines[1:] if l]


def measure(name, port, url, headers, pid, work):
    script = os.path.join(work, 'wrk.lua')
    with open(script, 'w') as f:
        f.write('wrk.path = "%s"\n' % url)
        for k, v in headers:
            # Conditions would turn the hit into a 304.
            if k not in ('Host', 'If-None-Match', 'If-Modified-Since'):
                f.write('wrk.headers["%s"] = %r\n' % (k, v))
        f.write('wrk.headers["X-Padding"] = "%s"\n' % ('y' * 60) if headers else '')
    data = os.path.join(work, 'perf.data')
    perf = subprocess.Popen(['perf', 'record', '-q', '-e', 'cpu-clock', '-F', '4000', '-p', str(pid), '-o', data],
                            stderr=subprocess.DEVNULL)
    before = cpu_seconds(pid)
    out = subprocess.run(['wrk', '-t1', '-c10', f'-d{SECONDS}s', '-s', script, f'http://127.0.0.1:{port}/'],
                         capture_output=True, text=True, check=True).stdout
    spent = cpu_seconds(pid) - before
    perf.terminate()
    perf.wait()
    requests = int(re.search(r'(\d+) requests in', out)[1])
    report = subprocess.run(['perf', 'report', '-i', data, '--stdio', '-F', 'overhead,symbol', '-w', '8,80'],
                            capture_output=True, text=True).stdout
    share = sum(float(m[1]) for m in re.finditer(r'^\s*([\d.]+)%\s+\[[.k]\]\s+(\S+)', report, re.M) if OURS.match(m[2]))
    ns = spent / requests * 1e9
    print(f'{name:24} {requests} hits, {ns:7.0f} ns CPU each, src/hdrs {share:5.2f} % = {ns * share / 100:5.0f} ns')


def main():
    origin = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Origin)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o777)
        port = free_port()
        conf = os.path.join(work, 'squid.conf')
        with open(conf, 'w') as f:
            f.write(f'http_port 127.0.0.1:{port}\nworkers 1\nhttp_access allow all\naccess_log none\ncache_log /dev/null\n'
                    'pid_filename none\n')
        daemon = subprocess.Popen([LOLIGO, '-N', '-f', conf])
        try:
            for _ in range(100):
                with socket.socket() as s:
                    if s.connect_ex(('127.0.0.1', port)) == 0:
                        break
                time.sleep(0.05)
            url = f'http://127.0.0.1:{origin.server_address[1]}/pears/list.html?page=4&sort=ripe'
            measure("wrk's request", port, url, [], daemon.pid, work)
            measure('browser, 968 bytes', port, url, browser_lines(), daemon.pid, work)
        finally:
            daemon.terminate()
            daemon.wait()


main()
