"""The work of Tools/browse-https; see there."""

import argparse
import hashlib
import importlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import chromium
import serving
import streams
from serving import check, failures

site = importlib.import_module("browse-https-site")
NAMES = ["site.test", "apt.test", "pip.test", "git.test", "other.test"]
VARIABLES = ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
             "NODE_EXTRA_CA_CERTS"]
# What the clients that fetch URLs fetch.
PATHS = [f"pages/{number}.html" for number in range(1, 11)] + [
    "s/style.css", "s/app.js", "s/font.ttf", "i/1.png", "i/p7.png", "data/3.json", "v/tone.wav",
    "r/301", "r/302", "r/303", "r/307", "r/308", "r/chain"]
PYTHON = """
import hashlib, sys
import {client}
with {client}.{session}({options}) as session:
    for url in sys.argv[1:]:
        answer = session.get(url)
        print(answer.status_code, hashlib.sha256(answer.content).hexdigest())
"""
NODE = """
const crypto = require("crypto");
if (process.env.https_proxy) {
  const { ProxyAgent } = require("undici");
  globalThis[Symbol.for("undici.globalDispatcher.1")] = new ProxyAgent(process.env.https_proxy);
}
(async () => {
  for (const url of process.argv.slice(1)) {
    const answer = await fetch(url);
    const body = Buffer.from(await answer.arrayBuffer());
    console.log(answer.status, crypto.createHash("sha256").update(body).digest("hex"));
  }
})();
"""


def digests(folder):
    """Returns the digests of the files below a folder by their paths."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


class Way:
    """A way to the servers: directly, through tunnels or intercepted."""

    def __init__(self, name, folder, port, proxy=None, tool=None, authority=None):
        self.name, self.port, self.proxy, self.authority = name, port, proxy, authority
        self.folder = f"{folder}/{name.replace(' ', '-')}"
        os.makedirs(self.folder)
        self.environment = {
            name: value for name, value in os.environ.items()
            if name not in VARIABLES and "proxy" not in name.lower()}
        self.environment |= site.GIT
        # The machine's own settings of pip, such as an authority, are left out.
        self.environment |= {"PIP_CONFIG_FILE": "/dev/null", "NODE_PATH": "/usr/share/nodejs"}
        # Intercepted clients trust what `ca trust` makes them trust.
        self.prefix = [tool, "ca", "trust", "--"] if tool else []
        if proxy:
            self.environment |= {"http_proxy": proxy, "https_proxy": proxy}
        if not tool:
            apt = f"{self.folder}/apt.conf"
            site.write(apt, f'Acquire::https::CAInfo "{authority}"; APT::Sandbox::User "root";')
            self.environment |= {name: authority for name in VARIABLES} | {"APT_CONFIG": apt}

    def base(self, name):
        """Returns the beginning of the URLs of a host. Directly, there is one name for all."""
        return f"https://{name if self.proxy else 'localhost'}:{self.port}"

    def place(self, name):
        """Returns a new folder."""
        return tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder)

    def run(self, *command, folder=None):
        """Runs a client, and returns what it printed; a failure is noted."""
        done = subprocess.run([*self.prefix, *command], cwd=folder or self.folder,
                              env=self.environment, capture_output=True, timeout=300)
        if done.returncode:
            raise RuntimeError(f"{command[0]} ended with {done.returncode}: "
                               f"{done.stderr.decode(errors='replace')[-600:]}")
        return done.stdout


def ask_curl(way):
    folder = way.place("curl")
    base = way.base("site.test")
    for index, path in enumerate(PATHS):
        way.run("curl", "-sSfL", "--compressed", "-o", f"{folder}/{index}", f"{base}/{path}")
    way.run("curl", "-sSf", "-r", "5000-5999", "-o", f"{folder}/range", f"{base}/v/tone.wav")
    way.run("curl", "-sSf", "-r", "-7", "-o", f"{folder}/end", f"{base}/v/tone.wav")
    head = way.run("curl", "-sSfI", f"{base}/s/font.ttf").decode().lower()
    return digests(folder) | {"head": re.findall(r"content-(?:length|type): .*\S", head)}


def ask_wget(way):
    folder = way.place("wget")
    way.run("wget", "-q", "-r", "-np", "-nH", "-e", "robots=off",
            f"--ca-certificate={way.authority}", f"{way.base('site.test')}/pages/1.html",
            folder=folder)
    return digests(folder)


def ask_apt(way):
    root = way.place("apt")
    for name in ["lists/partial", "cache/archives/partial", "out"]:
        os.makedirs(f"{root}/{name}")
    site.write(f"{root}/status", "")
    site.write(f"{root}/sources.list", f"deb [trusted=yes] {way.base('apt.test')}/apt ./\n")
    options = [word for option in [
        f"Dir::State::lists={root}/lists", f"Dir::State::status={root}/status",
        f"Dir::Cache={root}/cache", f"Dir::Etc::sourcelist={root}/sources.list",
        "Dir::Etc::sourceparts=-", "Acquire::Languages=none"] for word in ("-o", option)]
    way.run("apt-get", *options, "update")
    way.run("apt-get", *options, "download", *[f"oc-test-{n}" for n in range(1, 4)],
            folder=f"{root}/out")
    return digests(f"{root}/out")


def ask_pip(way):
    folder = way.place("pip")
    way.run(sys.executable, "-m", "pip", "download", "-q", "--no-cache-dir", "--no-deps", "-i",
            f"{way.base('pip.test')}/pip/simple/", "-d", folder, "oc-test")
    return digests(folder)


def ask_git(way):
    folder = way.place("git")
    way.run("git", "clone", "-q", f"{way.base('git.test')}/git/repo.git", folder)
    way.run("git", "fsck", "--strict", folder=folder)
    shown = way.run("git", "log", "--format=%H %T", folder=folder).decode().split("\n")
    shutil.rmtree(f"{folder}/.git")
    return digests(folder) | {"commits": shown}


def ask_fetchers(way, command):
    base = way.base("site.test")
    return way.run(*command, *[f"{base}/{path}" for path in PATHS]).decode().split("\n")


def ask_requests(way):
    return ask_fetchers(way, [way.python, "-c", PYTHON.format(
        client="requests", session="Session", options="")])


def ask_httpx(way):
    return ask_fetchers(way, [way.python, "-c", PYTHON.format(
        client="httpx", session="Client", options="follow_redirects=True")])


def ask_node(way):
    return ask_fetchers(way, ["node", "-e", NODE, "--"])


def ask_chromium(way):
    """Visits all pages with a new browser; returns what their scripts found."""
    # With the same names everywhere, so that the URLs in the pages are the same.
    rules = None if way.proxy else "MAP *.test 127.0.0.1"
    found = {}
    with chromium.Browser(way.proxy, authority=way.authority, rules=rules) as browser:
        for number in range(1, site.PAGES + 1):
            browser.open(f"https://site.test:{way.port}/pages/{number}.html")
            deadline = time.monotonic() + 20
            while browser.evaluate("document.body.dataset.done") != "yes":
                if time.monotonic() > deadline:
                    raise RuntimeError(f"the script of page {number} does not end")
                time.sleep(0.01)
            found[number] = browser.evaluate("document.querySelector('pre').textContent")
            if problems := browser.problems():
                raise RuntimeError(f"page {number}: {problems}")
            if "error" in found[number]:
                raise RuntimeError(f"page {number}: {found[number][-300:]}")
        # Another host, by a redirect.
        browser.open(f"https://site.test:{way.port}/r/other")
        found["other"] = browser.evaluate("location.href + document.title")
    return found


CLIENTS = [("curl", ask_curl), ("wget", ask_wget), ("apt", ask_apt), ("pip", ask_pip),
           ("git clone", ask_git), ("requests", ask_requests), ("httpx", ask_httpx),
           ("node fetch", ask_node), ("chromium", ask_chromium)]


def ask_all(way, wanted, chosen, clients=CLIENTS):
    """Runs all clients, and compares what they got with what was wanted, if there is something."""
    got = {}
    for name, ask in clients:
        if chosen and name.split()[0] not in chosen:
            continue
        begin = time.monotonic()
        try:
            got[name] = ask(way)
            is_right = bool(got[name]) and (wanted is None or got[name] == wanted.get(name))
            words = "" if is_right else f" {difference(wanted.get(name), got[name])}"
        except Exception as error:
            is_right, words = False, f": {error}"
        check(is_right, f"{way.name}: {name} ({time.monotonic() - begin:.1f} s){words}")
    return got


def difference(wanted, got):
    """Returns the beginning of what differs."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        keys = [key for key in sorted(set(wanted) | set(got), key=str)
                if wanted.get(key) != got.get(key)]
        return f"differs in {len(keys)}: " + str(
            [(key, wanted.get(key), got.get(key)) for key in keys[:2]])[:1500]
    return f"differs: {wanted} {got}"[:1500]


def git_fetch(way, www):
    """Clones, adds a commit at the origin, fetches it; returns whether it came."""
    folder = way.place("fetch")
    way.run("git", "clone", "-q", f"{way.base('git.test')}/git/repo.git", folder)
    site.commit(www, 2)
    way.run("git", "fetch", "-q", folder=folder)
    shown = way.run("git", "rev-parse", "origin/main", folder=folder).decode().strip()
    with open(f"{www}/git/repo.git/refs/heads/main") as file:
        check(shown == file.read().strip(), f"{way.name}: git fetch gets what is new")


def firefox(tool, folder, options, log, url):
    """Opens a page by `browse`; returns what was asked for of the site."""
    picture = f"{folder}/firefox.png"
    if os.path.exists(picture):
        os.unlink(picture)
    subprocess.run([tool, *options, "--browser", "firefox", "--log", log, "--log-format", "json", url,
                    "--", "--headless", "--screenshot", picture], check=True, capture_output=True,
                   timeout=120)
    with open(log) as file:
        lines = [json.loads(line) for line in file]
    return os.path.getsize(picture), {
        (line["url"], line["status"], line["bytes"]) for line in lines
        if "site.test" in line["url"] and line["complete"] and "favicon" not in line["url"]}


def look_with_firefox(tool, folder, port, options, is_offline):
    if not (shutil.which("firefox") or shutil.which("firefox-esr")):
        print("browse-https: there is no Firefox; it is left out", file=sys.stderr)
        return
    url = f"https://site.test:{port}/pages/3.html"
    size, asked = firefox(tool, folder, ["--store", f"{folder}/store", "browse", *options],
                          f"{folder}/firefox-{is_offline}.log", url)
    wanted = {f"https://site.test:{port}/{path}" for path in [
        "pages/3.html", "s/style.css", "s/app.js", "s/font.ttf", "i/4.png", "i/p3.png"]}
    got = {url for url, status, _ in asked if status in (200, 304)}
    check(size > 2000 and wanted <= got and all(status < 400 for _, status, _ in asked),
          f"browse, Firefox {'offline' if is_offline else 'online'}: "
          f"{len(got)} answers{'' if wanted <= got else f', without {wanted - got}'}")


def check_silence(way, proxy, connect):
    """Leaves a client in the middle of its handshake: the proxy must wait for it, not look again."""
    with connect() as client:
        client.sendall(b"\x16\x03")
        before = proxy.cpu_seconds()
        time.sleep(2)
        used = proxy.cpu_seconds() - before
    check(used < 0.2, f"{way}: a client that stops in its handshake costs {used:.2f} s of CPU in 2 s")


def play_streams(tool, folder):
    """Plays streams directly, intercepted, and through a reverse proxy with TLS."""
    files = f"{folder}/origin.pem", f"{folder}/origin.key"
    own = f"{folder}/state/offlinecache/ca.pem"
    with streams.Server(*files) as server:
        port = server.server_address[1]
        host = f"site.test:{port}"
        network = ["--ca-file", files[0], "--log", "none", "--resolve", f"{host}:127.0.0.1"]
        store = f"{folder}/streams"
        with serving.serve(tool, store, folder, "--intercept", "--connect-port", str(port),
                           *network) as proxy:
            streams.play(check, "intercepted", server, lambda: streams.Client(
                streams.tunnelled(proxy.port, host), own, "site.test"), host, store)
            check_silence("intercepted", proxy, streams.tunnelled(proxy.port, host))
        store = f"{folder}/streams-reverse"
        with serving.serve(tool, store, folder, "--origin", f"https://{host}", "--host", "site.test",
                           "--tls-cert", files[0], "--tls-key", files[1], *network) as proxy:
            streams.play(check, "reverse over TLS", server, lambda: streams.Client(
                lambda: socket.create_connection(("127.0.0.1", proxy.port)), files[0],
                "site.test"), f"site.test:{proxy.port}", store)
            check_silence("reverse over TLS", proxy,
                          lambda: socket.create_connection(("127.0.0.1", proxy.port)))


def ask_reverse(options, folder, port, wanted):
    """Asks with the clients that need one server alone, through a reverse proxy with TLS."""
    files = ["--tls-cert", f"{folder}/origin.pem", "--tls-key", f"{folder}/origin.key"]
    arguments = ["--origin", f"https://localhost:{port}", "--ca-file", f"{folder}/origin.pem",
                 "--log", f"{folder}/serve.log", *files]
    for more in [[], ["--offline"]]:
        with serving.serve(options.tool, f"{folder}/reverse-store", folder, *arguments, *more) as server:
            name = "reverse offline" if more else "reverse"
            way = Way(name, folder, server.port, authority=f"{folder}/origin.pem")
            ask_all(way, wanted, options.client, [client for client in CLIENTS
                                                  if client[0] != "chromium"])
        if not more:
            yield


def start_origin(folder, port):
    redirects = "\n".join(
        f"location = /r/{code} {{ return {code} /pages/{index + 4}.html; }}"
        for index, code in enumerate([301, 302, 303, 307, 308]))
    return serving.nginx("origin", folder, port, f"""
        types {{ text/html html; text/css css; text/javascript js; image/png png; font/ttf ttf;
                 application/json json; audio/wav wav; }}
        server {{
          listen 127.0.0.1:{port} ssl; root {folder}/www; absolute_redirect off;
          ssl_certificate {folder}/origin.pem; ssl_certificate_key {folder}/origin.key;
          gzip on; gzip_vary on; gzip_types text/css text/javascript application/json;
          {redirects}
          location = /r/chain {{ return 302 /r/301; }}
          location = /r/other {{ return 302 https://other.test:{port}/pages/2.html; }}
        }}""", workers=1)


def main():
    parser = argparse.ArgumentParser(prog="browse-https")
    parser.add_argument("--tool", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--client", action="append", help="only this one")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="offlinecache-browse-https.")
    options.tool = os.path.abspath(options.tool)
    os.environ["XDG_STATE_HOME"] = f"{folder}/state"
    authority = f"{folder}/state/offlinecache/ca.pem"
    Way.python = options.python
    try:
        site.make(folder)
        subprocess.run([options.tool, "ca", "create"], check=True, capture_output=True)
        names = ",".join(f"DNS:{name}" for name in NAMES + ["localhost"])
        serving.make_certificate(f"{folder}/origin", names)
        port = serving.free_port()
        network = ["--connect-port", str(port), "--ca-file", f"{folder}/origin.pem"]
        network += [word for name in NAMES for word in ("--resolve", f"{name}:{port}:127.0.0.1")]
        browsing = network[2:]
        network += ["--log", f"{folder}/serve.log"]
        with start_origin(folder, port):
            direct = Way("direct", folder, port, authority=f"{folder}/origin.pem")
            wanted = ask_all(direct, None, options.client)
            with serving.serve(options.tool, f"{folder}/tunnels", folder, *network) as server:
                way = Way("tunnel", folder, port, server.url, authority=f"{folder}/origin.pem")
                ask_all(way, wanted, options.client)
                _, _, page = serving.get(f"{server.url}/.offlinecache/status")
                report = json.loads(page)
                check(report["tunnels"]["all"] > 0 and report["store"]["entries"] == 0,
                      f"tunnel: {report['tunnels']['all']} tunnels, nothing is stored")
            with serving.serve(options.tool, f"{folder}/store", folder, "--intercept",
                               *network) as server:
                way = Way("intercepted", folder, port, server.url, options.tool, authority)
                ask_all(way, wanted, options.client)
                _, _, page = serving.get(f"{server.url}/.offlinecache/status")
                report = json.loads(page)
                check(not report["tunnels"]["left_alone"] and report["tunnels"]["all"] == 0,
                      "intercepted: no client has refused the certificate")
            look_with_firefox(options.tool, folder, port, browsing, False)
            reverse = ask_reverse(options, folder, port, wanted)
            next(reverse)
        with serving.serve(options.tool, f"{folder}/store", folder, "--intercept", "--offline",
                           *network) as server:
            way = Way("offline", folder, port, server.url, options.tool, authority)
            ask_all(way, wanted, options.client)
        look_with_firefox(options.tool, folder, port, [*browsing, "--offline"], True)
        next(reverse, None)
        play_streams(options.tool, folder)
        with serving.serve(options.tool, f"{folder}/store", folder, "--intercept",
                           *network) as server, start_origin(folder, port):
            way = Way("git again", folder, port, server.url, options.tool, authority)
            git_fetch(way, f"{folder}/www")
    finally:
        if not failures:
            shutil.rmtree(folder, ignore_errors=True)
    if failures:
        raise SystemExit(f"browse-https: {len(failures)} of the above are not as they should be; "
                         f"the files are in {folder}")


main()
