#!/usr/bin/env python3
"""Memory per cached object: store N distinct objects of SIZE bytes in each peer, report PSS growth per object.

  python3 memory.py [--peers squid-rev-bare,varnish,ats,haproxy,nginx] [--n 100000] [--size 1024] [--ours CMD]

The growth counts all processes of a peer, shared memory once (PSS). A first 2000 objects are stored before the
baseline is read, so that start-up and pool growth do not count. nginx keeps bodies as files: its page-cache/tmpfs
blocks are added from the directory's block count; for ats the blocks of its (tmpfs) cache disk are shown but not added.
haproxy allocates its cache up front, so there PSS says nothing: the count of objects that fit in 64 MB is taken.
The last column re-requests all of them and asks the origin's counter how many were really kept.
"""
import argparse, os, shutil, subprocess, sys, tempfile, time
import peers as P
import race as R


def fetch_many(port, prefix, lo, hi, oport, fwd):
    """keep-alive, pipelined by 8, one connection per 5000 objects; returns bytes read"""
    import socket
    tot = 0
    pre = "http://127.0.0.1:%d%s" % (oport, prefix) if fwd else prefix
    for a in range(lo, hi, 5000):
        s = socket.create_connection(("127.0.0.1", port), 20)
        f = s.makefile("rb", 1 << 16)
        b = min(hi, a + 5000)
        for i in range(a, b, 8):
            k = range(i, min(b, i + 8))
            s.sendall("".join("GET %s%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % (pre, j) for j in k).encode())
            for _ in k:
                n = None
                st = f.readline()
                if b" 200" not in st:
                    raise RuntimeError("answer %r" % st)
                while True:
                    h = f.readline()
                    if h in (b"\r\n", b""):
                        break
                    if h[:15].lower() == b"content-length:":
                        n = int(h[15:])
                tot += len(f.read(n))
        s.close()
    return tot


def du(d):
    t = 0
    for dp, dn, fn in os.walk(d):
        for x in fn:
            try:
                t += os.lstat(os.path.join(dp, x)).st_blocks * 512
            except OSError:
                pass
    return t


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--peers", default="loligo,haproxy,varnish")
    ap.add_argument("--n", type=int, default=100000)
    ap.add_argument("--size", type=int, default=1024)
    ap.add_argument("--port", type=int, default=23000)
    ap.add_argument("--tmpfs", default="/dev/shm")
    ap.add_argument("--ours")
    ap.add_argument("--ours-mode", default="rev", choices=("rev", "fwd"))
    ap.add_argument("--out", default="bench-results")
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    bindir = R.bench_programs(a.out)
    base = tempfile.mkdtemp(prefix="mem-", dir=a.tmpfs)
    os.chmod(base, 0o755)
    origin = subprocess.Popen([bindir + "/origin", str(a.port)])
    time.sleep(0.3)
    P.Squid.mem, P.Haproxy.cachemb = 1024, 64
    P.Varnish.mem = "1g"
    print("| peer | objects | size | PSS before MB | after MB | PSS B/object | files B/object | overhead B/object | still kept |\n|---|---|---|---|---|---|---|---|---|")
    names = [x for x in a.peers.split(",") if x] + (["ours"] if a.ours else [])
    try:
        for i, n in enumerate(names):
            if n == "ours":
                p = P.Ours("ours", a.port + 10 * i + 10, a.port, base, bindir)
                p.cmdline, p.mode = a.ours, a.ours_mode
            else:
                p = P.KINDS[n](n, a.port + 10 * i + 10, a.port, base, bindir)
            try:
                p.start("0-%d" % (os.cpu_count() - 1))
                pre, fwd = "/c/%d/obj-" % a.size, p.mode == "fwd"
                files = lambda: du(p.dir) if n in ("nginx", "ats") else 0
                fetch_many(p.port, pre, 0, 2000, a.port, fwd)
                time.sleep(1)
                m0, f0 = R.rss_of(p.pids()) * 1048576, files()
                fetch_many(p.port, pre, 2000, 2000 + a.n, a.port, fwd)
                c0, hi = R.origin_count(a.port), 2000 + a.n
                if n == "haproxy":                     # allocated up front: how many fit, newest first?
                    for lo in range(hi - 1000, 1000, -1000):
                        fetch_many(p.port, pre, lo, lo + 1000, a.port, fwd)
                        if R.origin_count(a.port) - c0 > 1000:
                            break
                    fit = hi - lo - 1000 if lo > 2000 else a.n
                    d = P.Haproxy.cachemb * 1048576.0 / fit
                    print("| %s | %d fit in %d MB | %d | - | - | %.0f | 0 | %.0f | - |" % (n, fit, P.Haproxy.cachemb, a.size, d, d - a.size), flush=True)
                    continue
                fetch_many(p.port, pre, 2000, hi, a.port, fwd)   # once more: all are read from memory
                kept = 1 - (R.origin_count(a.port) - c0) / a.n
                time.sleep(1)
                m1, f1 = R.rss_of(p.pids()) * 1048576, files()
                d, f = (m1 - m0) / a.n, (f1 - f0) / a.n
                print("| %s | %d | %d | %.1f | %.1f | %.0f | %.0f | %.0f | %.3f |" % (n, a.n, a.size, m0 / 1048576, m1 / 1048576, d, f, d + (f if n == "nginx" else 0) - a.size, kept), flush=True)
            except Exception as e:
                print("! %s: %s" % (n, e), flush=True)
            finally:
                p.stop()
    finally:
        origin.terminate(); origin.wait()
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
