"""The caches that cases are played against: `offlinecache serve`, nginx, or none."""

import asyncio
import os
import signal
import ssl
import subprocess
import tempfile

import serving

# Seconds; the server gives answers under way ten.
STOP_LIMIT = 15

NGINX = """
  proxy_cache_path {folder}/cache keys_zone=cases:10m;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://127.0.0.1:{origin}; proxy_cache cases; proxy_http_version 1.1;
      proxy_cache_revalidate on; add_header X-Cache-Status $upstream_cache_status;
    }}
  }}
"""


class CacheFailure(Exception):
    """A cache did not start or did not end well."""


class Certificates:
    """An authority of the tool's, and a certificate for the origin."""

    def __init__(self, tool):
        self.folder = tempfile.TemporaryDirectory(prefix="conformance-")
        self.state = {**os.environ, "XDG_STATE_HOME": self.folder.name}
        self.path = f"{self.folder.name}/origin"
        serving.make_certificate(self.path, "IP:127.0.0.1")
        subprocess.run([tool, "ca", "create"], check=True, capture_output=True, env=self.state)

    def for_origin(self):
        """Returns the context of the origin."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{self.path}.pem", f"{self.path}.key")
        return context

    def for_client(self):
        """Returns the context of a client that trusts the tool's authority alone."""
        return ssl.create_default_context(cafile=f"{self.folder.name}/offlinecache/ca.pem")


class Running:
    """A cache as a process of its own, with a temporary folder."""

    def __init__(self, name, role, tool, origin_port, port, tls=None):
        self.environment = tls and tls.state
        self.name = name
        self.port = port
        self.folder = tempfile.TemporaryDirectory(prefix="conformance-")
        folder = self.folder.name
        if name == "nginx":
            http = NGINX.format(folder=folder, port=port, origin=origin_port)
            self.command = serving.nginx_command(folder, http, workers=1)
        else:
            self.command = [
                tool, "--store", f"{folder}/store", "serve", "--listen", f"127.0.0.1:{port}",
                "--log", "none"]
            self.command += (
                ["--intercept", "--connect-port", str(origin_port), "--ca-file",
                 f"{tls.path}.pem"]
                if tls else ["--origin", f"http://127.0.0.1:{origin_port}"])
            # An intercepting proxy is for one user.
            if role == "shared" and not tls:
                self.command += ["--shared", "--set-cookie", "keep"]
        self.log = open(f"{folder}/log", "w+b")
        self.process = None

    async def start(self):
        """Starts it and waits until it takes connections."""
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdout=self.log, stderr=self.log, env=self.environment)
        for _ in range(200):
            if self.process.returncode is not None:
                raise CacheFailure(f"{self.command}: ended at once: {self.words()}")
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return
            except OSError:
                await asyncio.sleep(0.05)
        raise CacheFailure(f"{self.command}: takes no connection on port {self.port}")

    async def stop(self):
        """Stops it with SIGTERM; tells when that does not work as it should."""
        try:
            if self.process is None or self.process.returncode is not None:
                return
            self.process.send_signal(signal.SIGTERM)
            status = await asyncio.wait_for(self.process.wait(), STOP_LIMIT)
            if status != 0:
                raise CacheFailure(f"{self.name}: ended with status {status}: {self.words()}")
        except asyncio.TimeoutError:
            self.process.kill()
            await self.process.wait()
            raise CacheFailure(
                f"{self.name}: did not end within {STOP_LIMIT} s of SIGTERM") from None
        finally:
            self.log.close()
            self.folder.cleanup()

    def words(self):
        """Returns the beginning of what it wrote: a crash report starts with its cause."""
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")[:4000].strip()
