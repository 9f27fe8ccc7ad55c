#!/usr/bin/env python3
"""System calls per cache hit, by strace -c, and (with --perf) where the CPU time goes, by perf record -e cpu-clock.

  python3 syscalls.py [--peers ...] [--conns 10] [--size 1024] [--perf] [--ours CMD]
"""
import argparse, os, re, shutil, signal, subprocess, sys, tempfile, time
import peers as P
import race as R


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--peers", default="nullsrv,loligo,haproxy")
    ap.add_argument("--conns", type=int, default=10)
    ap.add_argument("--size", type=int, default=1024)
    ap.add_argument("--secs", type=int, default=2)
    ap.add_argument("--port", type=int, default=24000)
    ap.add_argument("--tmpfs", default="/dev/shm")
    ap.add_argument("--perf", action="store_true")
    ap.add_argument("--miss", action="store_true", help="look at the uncacheable path instead of hits")
    ap.add_argument("--ours")
    ap.add_argument("--ours-mode", default="rev", choices=("rev", "fwd"))
    ap.add_argument("--out", default="bench-results")
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    bindir = R.bench_programs(a.out)
    base = tempfile.mkdtemp(prefix="sys-", dir=a.tmpfs)
    os.chmod(base, 0o755)
    origin = subprocess.Popen(["taskset", "-c", "1", bindir + "/origin", str(a.port)])
    time.sleep(0.3)
    try:
        for i, n in enumerate([x for x in a.peers.split(",") if x] + (["ours"] if a.ours else [])):
            if n == "ours":
                p = P.Ours("ours", a.port + 10 * i + 10, a.port, base, bindir)
                p.cmdline, p.mode = a.ours, a.ours_mode
            else:
                p = P.KINDS[n](n, a.port + 10 * i + 10, a.port, base, bindir)
            try:
                p.start("0")
                time.sleep(0.5)
                port = p.sizes_by_port[a.size] if p.sizes_by_port else p.port
                path = R.url(p, "/%s/%d/o" % ("n" if a.miss else "c", a.size))
                for _ in range(0 if p.sizes_by_port else 3):
                    R.get(port, path, tls=p.tls)
                pids = p.pids()
                wrk = ["taskset", "-c", "1", "wrk", "-t", "1", "-c", str(a.conns), "-d", "%ds" % a.secs, "-s", R.HERE + "/wrk.lua",
                       "%s://127.0.0.1:%d/" % ("https" if p.tls else "http", port), "--", "uniq" if a.miss else "one", path, "1", "0"]
                out = os.path.join(p.dir, "trace")
                if a.perf:
                    tr = subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", "2500", "-g", "-o", out, "-p", ",".join(map(str, pids))],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                else:
                    tr = subprocess.Popen(["strace", "-f", "-c", "-o", out] + [x for q in pids for x in ("-p", str(q))],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                time.sleep(1)
                r = subprocess.run(wrk, capture_output=True, text=True, timeout=60)
                tr.send_signal(signal.SIGINT)
                err = tr.communicate(timeout=30)[1]
                x = re.search(r"^RESULT (\d+)", r.stdout, re.M)
                reqs = int(x.group(1)) if x else 0
                print("\n## %s: %d requests traced" % (n, reqs))
                if a.perf:
                    for s in ("dso", "sym"):
                        t = subprocess.run(["perf", "report", "-i", out, "--no-children", "-g", "none", "--stdio", "--percent-limit", "0.8",
                                            "-s", "dso,sym" if s == "sym" else "dso"], capture_output=True, text=True).stdout
                        print("\n".join(l.rstrip() for l in t.splitlines() if l.strip() and not l.startswith("#"))[:5000])
                        print("--")
                else:
                    tot = 0
                    for l in open(out):
                        m = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(\d+\s+)?(\w+)$", l)
                        if m and m.group(3) != "total":
                            c = int(m.group(1)) / max(1, reqs)
                            tot += c
                            if c >= 0.01:
                                print("%8.3f  %s" % (c, m.group(3)))
                    print("%8.3f  total" % tot, flush=True)
            except Exception as e:
                print("! %s: %s" % (n, e), flush=True)
            finally:
                p.stop()
    finally:
        origin.terminate(); origin.wait()
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
