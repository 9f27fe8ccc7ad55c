#!/usr/bin/env python3
"""Race of caching proxies on one machine, one run, interleaved. Standard library only. See README.md.

`make bench` runs it with LOLIGO (the daemon) and LOLIGO_BENCH_BIN (the folder of nullsrv and origin) set. Everything binds to
127.0.0.1; every load is bounded in time and count.
"""
import argparse, fcntl, itertools, json, os, re, shutil, socket, statistics, subprocess, sys, tempfile, time
import peers as P

HERE = os.path.dirname(os.path.abspath(__file__))
TCK = os.sysconf("SC_CLK_TCK")


def cpu_of(pids):
    u = s = 0
    for p in pids:
        try:
            with open("/proc/%d/stat" % p) as f:
                x = f.read().rsplit(")", 1)[1].split()
            u += int(x[11]); s += int(x[12])
        except OSError:
            pass
    return u / TCK, s / TCK


def busy_all():
    """seconds of CPU time used on the whole machine: user nice system irq softirq"""
    with open("/proc/stat") as f:
        x = f.readline().split()
    return sum(int(x[i]) for i in (1, 2, 3, 6, 7)) / TCK


def children_cpu():
    import resource
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def rss_of(pids):
    t = 0
    for p in pids:
        try:
            with open("/proc/%d/smaps_rollup" % p) as f:
                m = re.search(r"^Pss:\s+(\d+)", f.read(), re.M)
            t += int(m.group(1)) if m else 0
        except OSError:
            pass
    return t / 1024.0


def get(port, path, host=None, version="1.1", tls=False, timeout=10):
    s = socket.create_connection(("127.0.0.1", port), timeout)
    if tls:
        import ssl
        c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE
        s = c.wrap_socket(s)
    s.sendall(("GET %s HTTP/%s\r\nHost: %s\r\nConnection: close\r\n\r\n" % (path, version, host or "127.0.0.1:%d" % port)).encode())
    b = b""
    while True:
        x = s.recv(65536)
        if not x:
            break
        b += x
    s.close()
    h, _, body = b.partition(b"\r\n\r\n")
    return h.decode("latin-1"), body


def origin_count(port):
    return int(get(port, "/count")[1].split()[0])


def bench_programs(out):
    """the folder that holds nullsrv and origin: the build's, or built here with cc"""
    built = os.environ.get("LOLIGO_BENCH_BIN")
    if built:
        return os.path.abspath(built)
    bindir = os.path.abspath(os.path.join(out, "bin"))
    os.makedirs(bindir, exist_ok=True)
    for b in ("nullsrv", "origin"):
        subprocess.run(["cc", "-O2", "-o", os.path.join(bindir, b), os.path.join(HERE, b + ".c")], check=True)
    return bindir


# name -> (tool, mode, size, connections, depth)
CASES = {
    "ab-k10-1K":     ("ab",  "one", 1024, 10, 1),
    "wrk1-1K":       ("wrk", "one", 1024, 1, 1),
    "wrk10-1K":      ("wrk", "one", 1024, 10, 1),
    "wrk100-1K":     ("wrk", "one", 1024, 100, 1),
    "wrk500-1K":     ("wrk", "one", 1024, 500, 1),
    "wrk10-1B":      ("wrk", "one", 1, 10, 1),
    "wrk10-10K":     ("wrk", "one", 10240, 10, 1),
    "wrk10-100K":    ("wrk", "one", 102400, 10, 1),
    "many1000-1K":   ("wrk", "many", 1024, 10, 1000),
    "pipe16-1K":     ("wrk", "pipe", 1024, 10, 16),
    "pipe16-10K":    ("wrk", "pipe", 10240, 10, 16),
    "pipe16-100K":   ("wrk", "pipe", 102400, 10, 16),
    "miss-1K":       ("wrk", "miss", 1024, 10, 1),
    "store-1K":      ("wrk", "store", 1024, 10, 1),
    "newconn-1K":    ("wrk", "one", 1024, 10, 1),      # wrk, Connection: close
    "newconn-ab-1K": ("ab1", "one", 1024, 10, 1),      # ab without -k (HTTP/1.0)
}
DEFAULT_CASES = "wrk10-1K,wrk100-1K,many1000-1K,pipe16-1K,wrk10-100K,ab-k10-1K,miss-1K"
uniq = itertools.count(int(time.time()) % 100000)


def url(peer, path):
    return ("http://127.0.0.1:%d%s" % (peer.oport, path)) if peer.mode == "fwd" else path


def one(peer, case, a, oport):
    tool, mode, size, conns, depth = CASES[case]
    port = peer.sizes_by_port["c%d" % size if case.startswith("newconn") else size] if peer.sizes_by_port else peer.port
    cold = mode in ("miss", "store")
    path = "/%s/%d/%s" % ("n" if mode == "miss" else "c", size, "u%d-" % next(uniq) if cold else "o")
    if not cold and not peer.sizes_by_port:          # warm and check that it is a hit
        for p in ([path + str(j) for j in range(depth)] if mode == "many" else [path]):
            get(port, url(peer, p), tls=peer.tls)
        c0 = origin_count(oport)
        h, body = get(port, url(peer, path + ("0" if mode == "many" else "")), tls=peer.tls)
        if len(body) != size or " 200" not in h.split("\r\n")[0]:
            raise RuntimeError("%s %s: bad answer %r" % (peer.name, case, h))
    time.sleep(0.1)
    c0 = origin_count(oport)
    pids = peer.pids()
    u0, s0 = cpu_of(pids)
    b0, k0, o0 = busy_all(), children_cpu(), sum(cpu_of([a.origin_pid]))
    t0 = time.time()
    scheme = "https" if peer.tls else "http"
    if tool == "wrk":
        m = {"miss": "uniq", "store": "uniq"}.get(mode, mode)
        cmd = ["taskset", "-c", a.load_cpus, "wrk", "-t", "1", "-c", str(conns), "-d", "%ds" % max(1, round(a.secs)), "-s", HERE + "/wrk.lua",
               "%s://127.0.0.1:%d/" % (scheme, port), "--", m, url(peer, path), str(depth), "0"]
        if case.startswith("newconn"):
            cmd[cmd.index("-s"):cmd.index("-s")] = ["-H", "Connection: close"]
            cmd[cmd.index("-d") + 1] = "1s"              # a loopback client has some 28000 ports
    else:
        cmd = ["taskset", "-c", a.load_cpus, "ab", "-q", "-t", "%d" % max(1, round(a.secs)), "-n", str(min(a.ab_n, 12000) if tool == "ab1" else a.ab_n), "-c", str(conns)]
        if tool == "ab":
            cmd += ["-k"]
        if peer.mode == "fwd":
            cmd += ["-X", "127.0.0.1:%d" % port, "http://127.0.0.1:%d%s" % (oport, path)]
        else:
            cmd += ["%s://127.0.0.1:%d%s" % (scheme, port, path)]
    r = subprocess.run(cmd, capture_output=True, text=True, timeout=a.secs * 4 + 40)
    t1 = time.time()
    u1, s1 = cpu_of(pids)
    foreign = busy_all() - b0 - (children_cpu() - k0) - (sum(cpu_of([a.origin_pid])) - o0) - (u1 - u0 + s1 - s0)
    if tool == "wrk":
        m = re.search(r"^RESULT (.*)$", r.stdout, re.M)
        if not m:
            raise RuntimeError("wrk: " + r.stdout + r.stderr)
        x = m.group(1).split()
        n, dur = int(x[0]), int(x[1]) / 1e6
        err = sum(int(v) for v in x[3:7])
        mean, p99 = float(x[7]), float(x[9])
    else:
        def f(rx):
            mm = re.search(rx, r.stdout)
            return float(mm.group(1)) if mm else float("nan")
        n, dur = int(f(r"Complete requests:\s+(\d+)")), f(r"Time taken for tests:\s+([\d.]+)")
        err = (int(f(r"Failed requests:\s+(\d+)")) + (0 if "Non-2xx" not in r.stdout else int(f(r"Non-2xx responses:\s+(\d+)"))))
        mean, p99 = f(r"Time per request:\s+([\d.]+) \[ms\] \(mean\)") * 1e3, f(r"\n\s+99%\s+(\d+)") * 1e3
    oc = origin_count(oport) - c0
    return dict(peer=peer.name, case=case, n=n, rps=n / dur, mean_us=mean, p99_us=p99, err=err, origin=oc,
                cpu_us=(u1 - u0 + s1 - s0) / n * 1e6 if n else None, user_us=(u1 - u0) / n * 1e6 if n else None,
                busy=(u1 - u0 + s1 - s0) / dur, rss_mb=rss_of(pids), wall=t1 - t0,
                foreign=foreign / (t1 - t0))


def ours_of(names):
    """the contender that the ratios are of"""
    return next((n for n in ("ours", "loligo") if n in names), None)


def tables(rows, names, ours, out):
    cases = [c for c in CASES if any(r["case"] == c for r in rows)]
    med = {}
    for c in cases:
        for p in names:
            v = [r for r in rows if r["case"] == c and r["peer"] == p]
            quiet = [r for r in v if r.get("foreign", 0) <= 0.15]
            v = quiet or v                       # runs disturbed by other processes count only if there is nothing else
            if v:
                med[c, p] = {k: statistics.median(x[k] for x in v) for k in ("rps", "mean_us", "p99_us", "cpu_us", "user_us", "busy", "rss_mb")}
                med[c, p]["spread"] = (max(x["rps"] for x in v) - min(x["rps"] for x in v)) / med[c, p]["rps"] * 100
                med[c, p]["runs"], med[c, p]["foreign"] = len(v), max(x.get("foreign", 0) for x in v)
                med[c, p]["err"] = sum(x["err"] for x in v)
                med[c, p]["origin"] = sum(x["origin"] for x in v)
                med[c, p]["n"] = sum(x["n"] for x in v)
    w = out.write
    for c in cases:
        w("\n### %s\n\n| peer | req/s | spread %% | mean us | p99 us | cpu us/req | user us/req | cpu used | PSS MB | origin req/req | err | quiet runs | cpu: nullsrv/peer |%s\n"
          % (c, " ours/peer req/s | ours/peer cpu |" if ours else ""))
        w("|---" * (15 if ours else 13) + "|\n")
        for p in names:
            m = med.get((c, p))
            if not m:
                continue
            nul = med.get((c, "nullsrv"))
            w("| %s | %.0f | %.1f | %.0f | %.0f | %.2f | %.2f | %.2f | %.0f | %.3f | %d | %d | %s |" % (
                p, m["rps"], m["spread"], m["mean_us"], m["p99_us"], m["cpu_us"], m["user_us"], m["busy"], m["rss_mb"],
                m["origin"] / max(1, m["n"]), m["err"], m["runs"], "%.2f" % (nul["cpu_us"] / m["cpu_us"]) if nul and m["cpu_us"] else "-"))
            if ours:
                o = med.get((c, ours))
                w(" %.2f | %.2f |" % (o["rps"] / m["rps"], o["cpu_us"] / m["cpu_us"]) if o and m["cpu_us"] else " - | - |")
            w("\n")
    if ours:
        w("\n### ratio of ours to each peer: req/s (cpu per request)\n\n| case | %s |\n" % " | ".join(n for n in names if n != ours))
        w("|---" * len(names) + "|\n")
        for c in cases:
            o = med.get((c, ours))
            if o:
                w("| %s | " % c + " | ".join("%.2f (%.2f)" % (o["rps"] / med[c, p]["rps"], o["cpu_us"] / med[c, p]["cpu_us"])
                  if (c, p) in med and med[c, p]["cpu_us"] else "-" for p in names if p != ours) + " |\n")
    w("\n")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--peers", default="nullsrv,loligo,haproxy,nginx,varnish,ats,squid-fwd-bare")
    ap.add_argument("--cases", default=DEFAULT_CASES)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--secs", type=float, default=2)
    ap.add_argument("--ab-n", type=int, default=300000)
    ap.add_argument("--workers", type=int, default=1)
    ap.add_argument("--server-cpus", default="0")
    ap.add_argument("--load-cpus", default="1")
    ap.add_argument("--ours", help="command line of one more server; {port} {origin} {dir} {workers} are filled in; it must stay in the foreground")
    ap.add_argument("--ours-mode", default="rev", choices=("rev", "fwd"))
    ap.add_argument("--ours-tls", action="store_true")
    ap.add_argument("--ours-kind", help="enter a known peer a second time as 'ours' (self-test), e.g. nginx")
    ap.add_argument("--port", type=int, default=21000, help="first port used")
    ap.add_argument("--tmpfs", default="/dev/shm")
    ap.add_argument("--lock", help="take this lock file around each case of each round")
    ap.add_argument("--max-foreign", type=float, default=0.05, help="a run during which other processes used more than this many CPUs is repeated")
    ap.add_argument("--retries", type=int, default=2)
    ap.add_argument("--out", default="bench-results")
    ap.add_argument("--table", help="only print the tables of a results .jsonl")
    a = ap.parse_args()
    if a.table:
        rows = [json.loads(x) for x in open(a.table)]
        names = list(dict.fromkeys(r["peer"] for r in rows))
        return tables(rows, names, ours_of(names), sys.stdout)

    os.makedirs(a.out, exist_ok=True)
    bindir = bench_programs(a.out)
    base = tempfile.mkdtemp(prefix="race-", dir=a.tmpfs)
    os.chmod(base, 0o755)
    oport = a.port
    origin = subprocess.Popen(["taskset", "-c", a.load_cpus, os.path.join(bindir, "origin"), str(oport)])
    time.sleep(0.3)
    if origin.poll() is not None:
        shutil.rmtree(base, ignore_errors=True)
        sys.exit("the origin did not start: is port %d in use? choose another with --port" % oport)
    a.origin_pid = origin.pid
    field, rows = [], []
    try:
        names, wanted = [], [n for n in a.peers.split(",") if n]
        port = a.port + 10
        for n in wanted:
            kind = P.KINDS[n]
            if kind.package and not shutil.which({"nginx-light": "nginx", "varnish": "varnishd", "trafficserver": "traffic_server"}.get(kind.package, kind.package), path=os.environ["PATH"] + ":/usr/sbin"):
                print("# %s left out: it needs apt-get install %s" % (n, kind.package), flush=True)
                continue
            field.append(kind(n, port, oport, base, bindir, a.workers))
            names.append(n)
            port += 10
        if a.ours or a.ours_kind:
            if a.ours_kind:
                o = P.KINDS[a.ours_kind]("ours", port, oport, base, bindir, a.workers)
            else:
                o = P.Ours("ours", port, oport, base, bindir, a.workers)
                o.cmdline, o.mode, o.tls = a.ours, a.ours_mode, a.ours_tls
            field.append(o)
            names.append("ours")
        for p in field:
            p.start(a.server_cpus)
        print("# all up:", " ".join("%s:%d" % (p.name, p.port) for p in field), flush=True)
        time.sleep(1)
        for p in field:                                # proof of hits, for the record
            if not p.sizes_by_port:
                for _ in range(2):
                    get(p.port, url(p, "/c/1024/o"), tls=p.tls)
                time.sleep(1.1 if p is field[0] else 0)
                h, _ = get(p.port, url(p, "/c/1024/o"), tls=p.tls)
                print("# %-15s %s" % (p.name, " | ".join(x for x in h.split("\r\n")[1:] if re.match("(?i)age|x-cache|via|x-varnish|content-len", x))), flush=True)
        log = open(os.path.join(a.out, "rows.jsonl"), "a")
        for rnd in range(a.rounds):
            for c in a.cases.split(","):
                lk = open(a.lock, "a") if a.lock else None
                if lk:
                    fcntl.flock(lk, fcntl.LOCK_EX)
                t = time.time()
                for p in field[rnd % len(field):] + field[:rnd % len(field)]:
                    if CASES[c][1] in ("miss", "store") and p.sizes_by_port:
                        continue
                    if lk and time.time() - t > 45:    # be fair to others: let the lock go
                        fcntl.flock(lk, fcntl.LOCK_UN); time.sleep(0.3); fcntl.flock(lk, fcntl.LOCK_EX); t = time.time()
                    try:
                        r = one(p, c, a, oport)
                        for _ in range(a.retries):     # somebody else used the machine: again, keep the quietest
                            if r["foreign"] <= a.max_foreign:
                                break
                            r2 = one(p, c, a, oport)
                            if r2["foreign"] < r["foreign"]:
                                r = r2
                    except Exception as e:
                        print("! %s %s: %s" % (p.name, c, e), flush=True)
                        continue
                    r["round"] = rnd
                    rows.append(r)
                    log.write(json.dumps(r) + "\n"); log.flush()
                if lk:
                    lk.close()
                print("# round %d %s done %.1fs" % (rnd, c, time.time() - t), flush=True)
        with open(os.path.join(a.out, "table.md"), "w") as f:
            tables(rows, names, ours_of(names), f)
        tables(rows, names, ours_of(names), sys.stdout)
    finally:
        for p in field:
            p.stop()
        origin.terminate()
        origin.wait()
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
