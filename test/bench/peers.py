"""Configuration and start-up of the peers in a race. Standard library only, loopback only.

Every peer caches from memory in front of one origin. A peer's working files (configs, logs, caches)
live in a directory on tmpfs, so that no disk takes part. See README.md for what each name means.
"""
import os, shlex, shutil, signal, socket, subprocess, time

SIZES = (1, 1024, 10240, 102400)


class Peer:
    mode = "rev"            # rev: GET /path to the peer;  fwd: GET http://origin/path to the peer
    tls = False
    sizes_by_port = None    # nullsrv only
    package = None

    def __init__(self, name, port, origin_port, base, bindir, workers=1):
        self.name, self.port, self.oport, self.workers = name, port, origin_port, workers
        self.dir = os.path.join(base, name.replace("/", "_"))
        self.bindir, self.proc = bindir, None
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        os.chmod(self.dir, 0o755)

    def write(self, fn, text):
        p = os.path.join(self.dir, fn)
        os.makedirs(os.path.dirname(p), exist_ok=True)
        with open(p, "w") as f:
            f.write(text)
        return p

    def own(self, user):
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", user, self.dir], check=True)

    def command(self):
        raise NotImplementedError

    def env(self):
        return None

    def start(self, cpus):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            pass
        else:
            raise RuntimeError("port %d is in use" % self.port)
        cmd = self.command()
        log = open(os.path.join(self.dir, "stdout.log"), "wb")
        self.proc = subprocess.Popen(["taskset", "-c", cpus] + cmd, stdout=log, stderr=log,
                                     stdin=subprocess.DEVNULL, env=self.env(), start_new_session=True)
        end = time.time() + 20
        while time.time() < end:
            if self.proc.poll() is not None:
                raise RuntimeError("%s exited with %s: %s" % (self.name, self.proc.returncode, open(log.name, errors="replace").read()[-1500:]))
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("%s does not listen" % self.name)

    def pids(self):
        """the started process and all its descendants"""
        kids = {}
        for d in os.listdir("/proc"):
            if d.isdigit():
                try:
                    with open("/proc/%s/stat" % d) as f:
                        kids.setdefault(int(f.read().rsplit(")", 1)[1].split()[1]), []).append(int(d))
                except OSError:
                    pass
        out, todo = [], [self.proc.pid]
        while todo:
            p = todo.pop()
            out.append(p)
            todo += kids.get(p, [])
        return out

    def stop(self):
        if not self.proc:
            return
        pids = self.pids()
        for sig, wait in ((signal.SIGTERM, 3), (signal.SIGKILL, 2)):
            for p in pids:
                try:
                    os.kill(p, sig)
                except ProcessLookupError:
                    pass
            end = time.time() + wait
            while time.time() < end:
                self.proc.poll()
                pids = [p for p in pids if os.path.exists("/proc/%d" % p) and p != self.proc.pid or
                        (p == self.proc.pid and self.proc.returncode is None)]
                if not pids:
                    return
                time.sleep(0.05)


class Null(Peer):
    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.sizes_by_port = {s: self.port + i for i, s in enumerate(SIZES + ("c1024",))}

    def command(self):
        return [os.path.join(self.bindir, "nullsrv")] + [str(x) for s, p in self.sizes_by_port.items() for x in (p, s)]


class Squid(Peer):
    package = "squid"
    bare, accel, mem = False, False, 256
    user = "proxy"

    def config(self):
        d, c = self.dir, []
        if self.bare:
            c += ["http_access allow all", "access_log none", "cache_store_log none"]
        else:                                   # the packaged squid.conf, as shipped, but for port and paths
            for line in open("/etc/squid/squid.conf"):
                line = line.strip()
                if line and not line.startswith(("#", "http_port", "coredump_dir")):
                    c.append(line)
            c += ["access_log daemon:%s/access.log squid" % d]
        if self.accel:
            c += ["http_port 127.0.0.1:%d accel defaultsite=127.0.0.1:%d" % (self.port, self.oport),
                  "cache_peer 127.0.0.1 parent %d 0 no-query originserver no-digest" % self.oport,
                  "never_direct allow all"]
            if not self.bare:
                c.insert(0, "http_access allow localhost")
        else:
            c += ["http_port 127.0.0.1:%d" % self.port]
        c += ["cache_mem %d MB" % self.mem, "maximum_object_size_in_memory 1 MB", "pid_filename %s/squid.pid" % d,
              "cache_log %s/cache.log" % d, "coredump_dir %s" % d, "visible_hostname bench", "icon_directory /usr/share/squid/icons",
              "pinger_enable off", "shutdown_lifetime 0 seconds", "icp_port 0", "htcp_port 0", "snmp_port 0"]
        if self.workers > 1:
            c += ["workers %d" % self.workers]
        return "\n".join(c) + "\n"

    def command(self):
        conf = self.write("squid.conf", self.config())
        self.own(self.user)
        if self.workers > 1:
            os.makedirs("/run/squid", exist_ok=True)
            shutil.chown("/run/squid", self.user)
            return ["squid", "--foreground", "-n", "b%d" % self.port, "-f", conf]
        return ["squid", "-N", "-n", "b%d" % self.port, "-f", conf]


class SquidFwd(Squid):
    mode = "fwd"


class SquidFwdBare(Squid):
    mode, bare = "fwd", True


class SquidRev(Squid):
    accel = True


class SquidRevBare(Squid):
    accel, bare = True, True


class Nginx(Peer):
    package = "nginx-light"
    log, ofc = False, True

    def command(self):
        d = self.dir
        ssl = ""
        if self.tls:
            crt, key = cert(self.dir)
            ssl = ("ssl_certificate %s; ssl_certificate_key %s; ssl_protocols TLSv1.3; "
                   "ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;" % (crt, key))
        conf = self.write("nginx.conf", """
worker_processes %(w)d; daemon off; pid %(d)s/nginx.pid; error_log %(d)s/error.log warn; user %(user)s;
worker_rlimit_nofile 20000;
events { worker_connections 4096; }
http {
  access_log %(log)s; sendfile on; keepalive_requests 1000000000; keepalive_timeout 300s;
  %(ofc)s
  client_body_temp_path %(d)s/tmp1; proxy_temp_path %(d)s/tmp2; fastcgi_temp_path %(d)s/tmp3;
  uwsgi_temp_path %(d)s/tmp4; scgi_temp_path %(d)s/tmp5;
  proxy_cache_path %(d)s/cache levels=1:2 keys_zone=z:64m max_size=1g inactive=1d use_temp_path=off;
  upstream o { server 127.0.0.1:%(o)d; keepalive 64; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:%(p)d backlog=4096 %(ssllisten)s; %(ssl)s
    location / {
      proxy_pass http://o; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_cache z; proxy_cache_key $uri; add_header X-Cache $upstream_cache_status;
    }
  }
}
""" % dict(w=self.workers, d=d, o=self.oport, p=self.port, ssl=ssl, ssllisten="ssl" if self.tls else "",
           user="www-data" if os.geteuid() == 0 else "nobody",
           log="%s/access.log" % d if self.log else "off",
           ofc="open_file_cache max=10000 inactive=1d; open_file_cache_valid 1d;" if self.ofc else ""))
        self.own("www-data")
        return ["nginx", "-p", d, "-c", conf, "-e", d + "/error.log"]


class NginxTls(Nginx):
    tls = True


class NginxDefault(Nginx):                       # access log on, no open_file_cache: what a packaged nginx does
    log, ofc = True, False


class Varnish(Peer):
    package = "varnish"
    mem = "512m"

    def command(self):
        vcl = self.write("default.vcl", """vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "%d"; }
sub vcl_deliver { set resp.http.X-Cache = obj.hits; }
""" % self.oport)
        return ["varnishd", "-F", "-j", "none", "-n", self.dir + "/wd", "-a", "127.0.0.1:%d" % self.port, "-f", vcl,
                "-s", "malloc," + self.mem, "-T", "none", "-p", "timeout_idle=300", "-p", "default_grace=1"]


class Haproxy(Peer):
    package = "haproxy"
    cachemb = 256

    def command(self):
        ssl, g = "", ""
        if self.tls:
            crt, key = cert(self.dir)
            pem = self.write("both.pem", open(crt).read() + open(key).read())
            ssl = " ssl crt %s ssl-min-ver TLSv1.3 ciphersuites TLS_AES_128_GCM_SHA256" % pem
        conf = self.write("haproxy.cfg", """
global
  nbthread %(w)d
  maxconn 4000
  tune.ssl.default-dh-param 2048
cache c
  total-max-size %(mb)d
  max-object-size 2097152
  max-age 86400
defaults
  mode http
  timeout client 300s
  timeout server 300s
  timeout connect 5s
  timeout http-keep-alive 300s
  http-reuse always
frontend f
  bind 127.0.0.1:%(p)d backlog 4096%(ssl)s
  default_backend b
backend b
  http-request cache-use c
  http-response cache-store c
  server s 127.0.0.1:%(o)d
""" % dict(w=self.workers, p=self.port, o=self.oport, ssl=ssl, mb=self.cachemb))
        return ["haproxy", "-db", "-f", conf]


class HaproxyTls(Haproxy):
    tls = True


class Ats(Peer):
    package = "trafficserver"
    store = "1G"
    log = False
    user = "trafficserver"

    def command(self):
        root = self.dir + "/root"
        # a sandbox of our own: the packaged defaults copied, every directory inside the peer's own
        etc = root + "/etc"
        shutil.copytree("/etc/trafficserver", etc)
        for x in ("cache", "run", "log", "data", "local"):
            os.makedirs("%s/%s" % (root, x))
        self.write("root/runroot.yaml", "".join("%s: %s\n" % kv for kv in (
            ("prefix", root), ("exec_prefix", "/usr"), ("bindir", "/usr/bin"), ("sbindir", "/usr/sbin"), ("sysconfdir", etc),
            ("datadir", root + "/data"), ("includedir", "/usr/include"), ("libdir", "/usr/lib/trafficserver"),
            ("libexecdir", "/usr/lib/trafficserver/modules"), ("localstatedir", root + "/local"),
            ("runtimedir", root + "/run"), ("logdir", root + "/log"), ("cachedir", root + "/cache"))))
        port = "%d:ip-in=127.0.0.1" % self.port
        extra = ""
        if self.tls:
            crt, key = cert(self.dir)
            port += ":ssl"
            with open(etc + "/ssl_multicert.config", "w") as f:
                f.write("dest_ip=* ssl_cert_name=%s ssl_key_name=%s\n" % (crt, key))
            extra = ("CONFIG proxy.config.ssl.server.TLSv1_3.cipher_suites STRING TLS_AES_128_GCM_SHA256\n"
                     "CONFIG proxy.config.ssl.server.cert.path STRING /\nCONFIG proxy.config.ssl.server.private_key.path STRING /\n")
        with open(etc + "/records.config", "w") as f:
            f.write("""CONFIG proxy.config.http.server_ports STRING %s
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.autoconfig.enabled INT 0
CONFIG proxy.config.exec_thread.limit INT %d
CONFIG proxy.config.exec_thread.affinity INT 0
CONFIG proxy.config.accept_threads INT 0
CONFIG proxy.config.task_threads INT 1
CONFIG proxy.config.cache.threads_per_disk INT 2
CONFIG proxy.config.cache.ram_cache.size INT 536870912
CONFIG proxy.config.cache.ram_cache_cutoff INT 4194304
CONFIG proxy.config.cache.ram_cache.use_seen_filter INT 0
CONFIG proxy.config.http.cache.http INT 1
CONFIG proxy.config.http.wait_for_cache INT 1
CONFIG proxy.config.http.insert_age_in_response INT 1
CONFIG proxy.config.http.keep_alive_no_activity_timeout_in INT 300
CONFIG proxy.config.url_remap.remap_required INT 1
CONFIG proxy.config.url_remap.pristine_host_hdr INT 0
CONFIG proxy.config.log.logging_enabled INT %d
CONFIG proxy.config.net.connections_throttle INT 8000
CONFIG proxy.config.net.listen_backlog INT 4096
CONFIG proxy.config.diags.debug.enabled INT 0
CONFIG proxy.config.admin.user_id STRING %s
%s""" % (port, self.workers, 3 if self.log else 0, self.user, extra))
        with open(etc + "/storage.config", "w") as f:
            f.write("%s/store %s\n" % (self.dir, self.store))
        os.makedirs(self.dir + "/store")
        with open(etc + "/remap.config", "w") as f:
            f.write("map / http://127.0.0.1:%d/\n" % self.oport)
        self.own(self.user)
        self.root = root
        return ["traffic_server", "--run-root=" + root]

    def env(self):
        e = dict(os.environ)
        e["TS_RUNROOT"] = self.root
        return e


class AtsTls(Ats):
    tls = True


class Loligo(Peer):
    """the daemon as it is shipped: Via, Age, access lists and counters on; access_log none"""
    log, rules = False, "http_access allow all"

    def command(self):
        d = self.dir
        conf = self.write("squid.conf", """%(rules)s
http_port 127.0.0.1:%(p)d accel defaultsite=127.0.0.1:%(o)d
cache_peer 127.0.0.1 parent %(o)d 0 no-query originserver no-digest
access_log %(log)s
cache_log %(d)s/cache.log
cache_mem 256 MB
pid_filename none
visible_hostname bench
workers %(w)d
""" % dict(rules=self.rules, p=self.port, o=self.oport, d=d, w=self.workers, log="stdio:%s/access.log" % d if self.log else "none"))
        os.chmod(d, 0o777)                      # it drops to the user "proxy" where that exists
        return [os.environ.get("LOLIGO", "loligo"), "-N", "-f", conf]


class LoligoLog(Loligo):
    """the rules that people have, and an access log"""
    log = True
    rules = """acl SSL_ports port 443
acl Safe_ports port 80 443 1025-65535
http_access deny !Safe_ports
http_access deny CONNECT !SSL_ports
http_access allow localhost manager
http_access deny manager
http_access allow localhost
http_access deny all"""


class LoligoFwd(Loligo):
    """the same as a forward proxy"""
    mode = "fwd"


class Ours(Peer):
    """any other server: a command line with {port} {origin} {dir} {workers} in it"""
    cmdline = None

    def command(self):
        return shlex.split(self.cmdline.format(port=self.port, origin=self.oport, dir=self.dir, workers=self.workers))


def cert(d):
    crt, key = d + "/crt.pem", d + "/key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", crt, "-days", "30", "-subj", "/CN=127.0.0.1"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.chmod(key, 0o644)
    return crt, key


KINDS = {
    "loligo": Loligo, "loligo-log": LoligoLog, "loligo-fwd": LoligoFwd,
    "nullsrv": Null, "squid-fwd": SquidFwd, "squid-fwd-bare": SquidFwdBare, "squid-rev": SquidRev,
    "squid-rev-bare": SquidRevBare, "nginx": Nginx, "nginx-default": NginxDefault, "varnish": Varnish,
    "haproxy": Haproxy, "ats": Ats, "nginx-tls": NginxTls, "haproxy-tls": HaproxyTls, "ats-tls": AtsTls,
}
