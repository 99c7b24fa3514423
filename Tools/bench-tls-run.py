"""The measuring part of Tools/bench-tls; see there."""

import argparse
import os
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import tempfile
import time

import serving

BODY = 4096
ROUNDS = 5
NAMES = 1000


def wrk(url, seconds, *more):
    """Returns the requests a second."""
    done = subprocess.run(["wrk", "-t1", "-c16", f"-d{seconds}s", *more, url], check=True,
                          capture_output=True, text=True).stdout
    if "Non-2xx" in done:
        raise SystemExit(f"bench-tls: {url}: {done}")
    return float(re.search(r"Requests/sec:\s+([\d.]+)", done).group(1))


def cipher(port):
    """Returns what a client of OpenSSL comes to with a server."""
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}"], input="",
                          capture_output=True, text=True).stdout
    return re.search(r"New, (\S+, Cipher is \S+)", done).group(1)


def compare(what, servers, seconds, *more):
    """Measures by turns, and prints medians and their ratio. What the servers compute for a request
    says more than the rate where other programs run."""
    rates, times = ({name: [] for name in servers} for _ in range(2))
    for _ in range(ROUNDS):
        for name, server in servers.items():
            before = server.cpu_seconds()
            rate = wrk(f"https://127.0.0.1:{server.port}/a", seconds, *more)
            rates[name].append(round(rate))
            times[name].append(round((server.cpu_seconds() - before) / (rate * seconds) * 1e6, 1))
    for unit, found in [("a second", rates), ("us of CPU each", times)]:
        serve, nginx = (statistics.median(found[name]) for name in ["serve", "nginx"])
        print(f"{what}: serve {serve}, nginx {nginx} {unit}; ratio {serve / nginx:.2f}; {found}",
              flush=True)


def handshake(port, name, authority):
    """Returns the milliseconds of a CONNECT and a handshake."""
    context = ssl.create_default_context(cafile=authority)
    begin = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"CONNECT {name}:443 HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
        connection.recv(4096)
        with context.wrap_socket(connection, server_hostname=name):
            return (time.perf_counter() - begin) * 1000


def measure_names(tool, folder):
    """Measures how much longer the first handshake for a name takes than the second."""
    with serving.serve(tool, f"{folder}/names", folder, "--intercept", "--log", "none") as proxy:
        authority = f"{os.environ['XDG_STATE_HOME']}/offlinecache/ca.pem"
        handshake(proxy.port, "warm.test", authority)
        first, second = [], []
        for number in range(NAMES):
            name = f"n{number}.test"
            first.append(handshake(proxy.port, name, authority))
            second.append(handshake(proxy.port, name, authority))
    made = [one - two for one, two in zip(first, second)]
    print(f"{NAMES} names: a certificate takes {statistics.median(made):.2f} ms (median), "
          f"{sorted(made)[NAMES * 95 // 100]:.2f} ms (95 %); a handshake {statistics.median(second):.2f}")


def main():
    parser = argparse.ArgumentParser(prog="bench-tls")
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="offlinecache-bench-tls.")
    os.environ["XDG_STATE_HOME"] = f"{folder}/state"
    try:
        subprocess.run([options.tool, "ca", "create"], check=True, capture_output=True)
        os.makedirs(f"{folder}/www")
        with open(f"{folder}/www/a", "wb") as file:
            file.write(os.urandom(BODY))
        certificate = f"{folder}/c.pem", f"{folder}/c.key"
        serving.make_certificate(f"{folder}/c", "DNS:localhost")
        port = serving.free_port()
        with serving.nginx_origin(folder, f"{folder}/www") as origin, serving.nginx(
                "nginx", folder, port, f"""
            proxy_cache_path {folder}/cache keys_zone=cache:10m;
            server {{
              listen 127.0.0.1:{port} ssl; ssl_protocols TLSv1.3;
              ssl_certificate {certificate[0]}; ssl_certificate_key {certificate[1]};
              location / {{ proxy_pass {origin.url}; proxy_cache cache; }}
            }}""") as nginx, serving.serve(
                options.tool, f"{folder}/store", folder, "--origin", origin.url, "--log", "none",
                "--shared", "--tls-cert", certificate[0], "--tls-key", certificate[1]) as server:
            servers = {"serve": server, "nginx": nginx}
            for name, one in servers.items():
                print(f"{name}: {cipher(one.port)}")
            compare("4 KB on kept connections", servers, options.seconds)
            compare("handshakes", servers, options.seconds, "-H", "Connection: close")
        measure_names(options.tool, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
