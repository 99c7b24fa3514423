"""What the scripts share that look at running programs: builds them, starts and stops origins, serve
and nginx, asks them, and notes what is wrong.

Everything listens on loopback at a port that was free, and ends with its `with`.
"""

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

failures = []


def check(is_right, what):
    """Notes what is not as it should be, and goes on."""
    print(f"{'ok  ' if is_right else 'FAIL'} {what}", flush=True)
    if not is_right:
        failures.append(what)


def parser(description):
    """Returns a parser for the command line of a script, with the option --tool."""
    found = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--tool", help="the offlinecache to run; otherwise a release build is made")
    return found


def prepare(found, *packages):
    """Reads the command line, installs packages that are missing, and builds the program unless it
    is given; returns the options."""
    options = found.parse_args()
    if subprocess.run([f"{PACKAGE}/Tools/setup", *packages], check=False).returncode:
        sys.exit(1)
    # Debian installs nginx where only root has it in PATH.
    os.environ["PATH"] += ":/usr/sbin"
    options.tool = options.tool or build("offlinecache")
    return options


def folder(name):
    """Makes a temporary folder, which is removed at the end of its `with`."""
    return tempfile.TemporaryDirectory(prefix=f"offlinecache-{name}.", ignore_cleanup_errors=True)


def build(product, *flags):
    """Builds a program for release; returns its path."""
    command = ["swift", "build", "--package-path", PACKAGE, "-c", "release", *flags]
    subprocess.run(command + ["--product", product], check=True, stdout=sys.stderr)
    folder = subprocess.run(command + ["--show-bin-path"], check=True, capture_output=True)
    return os.path.join(folder.stdout.decode().strip(), product)


def make_certificate(path, names):
    """Makes PATH.pem, a certificate that is its own authority, and PATH.key; `names` are those of
    subjectAltName."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=test", "-addext", f"subjectAltName={names}",
         "-keyout", f"{path}.key", "-out", f"{path}.pem"], check=True, capture_output=True)


def free_port():
    """Returns a port of loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process, what, seconds=20):
    """Waits until somebody listens at a port."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"{what} ended with {process.returncode} instead of listening")
        try:
            socket.create_connection(("127.0.0.1", port), 0.5).close()
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit(f"{what} does not listen at port {port} after {seconds} seconds")


class Server:
    """A process that listens at `port`."""

    def __init__(self, what, command, port, log):
        self.what, self.port, self.log = what, port, log
        self.url = f"http://127.0.0.1:{port}"
        with open(log, "ab") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output,
                                            stdin=subprocess.DEVNULL)
        try:
            wait_for(port, self.process, what)
        except BaseException:
            self.kill()
            with open(log, errors="replace") as output:
                print(output.read()[-2000:])
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, seconds=20):
        """Asks the process to end, and returns its exit status; kills it where it does not."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
                raise SystemExit(f"{self.what} did not end within {seconds} seconds of SIGTERM")
        return self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.wait()

    def processes(self):
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(children) as file:
            return [self.process.pid] + [int(number) for number in file.read().split()]

    def memory(self, name="VmRSS"):
        """Returns a sum of /proc/PID/status over the processes, in bytes."""
        total = 0
        for number in self.processes():
            try:
                with open(f"/proc/{number}/status") as file:
                    found = re.search(rf"^{name}:\s+(\d+) kB", file.read(), re.M)
            except FileNotFoundError:
                continue
            total += int(found.group(1)) * 1024 if found else 0
        return total

    def cpu_seconds(self):
        """Returns the time that the processes have computed, in user and kernel mode."""
        ticks = 0
        for number in self.processes():
            with open(f"/proc/{number}/stat") as file:
                # The name of the program may have spaces; it ends with the last parenthesis.
                ticks += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")


def serve(tool, store, folder, *options, port=None):
    port = port or free_port()
    command = [tool, "--store", store, "serve", "--listen", f"127.0.0.1:{port}", *options]
    return Server("offlinecache serve", command, port, f"{folder}/serve.log")


def nginx_command(place, http, workers=2):
    """Configures nginx with lines for its `http` block, so that all its files stay in a folder;
    returns the command that starts it."""
    os.makedirs(place, exist_ok=True)
    temporary = "\n".join(
        f"{part}_temp_path {place}/{part};"
        for part in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    user = "user root;" if os.geteuid() == 0 else ""
    # What Debian's nginx.conf has, and no log, as serve writes none.
    with open(f"{place}/nginx.conf", "w") as file:
        file.write(f"""
            {user} worker_processes {workers}; daemon off; pid {place}/pid;
            error_log {place}/error.log;
            worker_rlimit_nofile 65536;
            events {{ worker_connections 8192; }}
            http {{
              sendfile on; tcp_nopush on; types_hash_max_size 2048; keepalive_requests 1000000000;
              access_log off; default_type application/octet-stream;
              {temporary}
              {http}
            }}""")
    return ["nginx", "-p", place, "-e", f"{place}/error.log", "-c", f"{place}/nginx.conf"]


def nginx(name, folder, port, http, workers=2):
    """Starts nginx with lines for its `http` block, in a folder of its own."""
    command = nginx_command(f"{folder}/{name}", http, workers)
    return Server(name, command, port, f"{folder}/{name}.log")


def nginx_origin(folder, site):
    """Starts an origin that serves the files of a folder, fresh for an hour."""
    port = free_port()
    return nginx("origin", folder, port, f"""
        server {{
          listen 127.0.0.1:{port}; root {site};
          add_header Cache-Control "public, max-age=3600";
        }}""", workers=1)


def nginx_cache(folder, origin, name="nginx"):
    """Starts nginx with proxy_cache in front of an origin."""
    port = free_port()
    return nginx(name, folder, port, f"""
        proxy_cache_path {folder}/{name}-cache keys_zone=cache:10m;
        server {{
          listen 127.0.0.1:{port};
          location / {{
            proxy_pass {origin}; proxy_cache cache; add_header X-Cache $upstream_cache_status;
          }}
        }}""")


def get(url, fields=(), method="GET", body=None, proxy=None, seconds=20):
    """Returns status, fields and body of an answer, whatever its status."""
    request = urllib.request.Request(url, headers=dict(fields), method=method, data=body)
    handler = urllib.request.ProxyHandler({"http": proxy} if proxy else {})
    try:
        with urllib.request.build_opener(handler).open(request, timeout=seconds) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code, answer.headers, answer.read()
