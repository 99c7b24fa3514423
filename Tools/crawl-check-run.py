"""The looking part of Tools/crawl-check; see there."""

import argparse
import collections
import gzip
import html.parser
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse

import serving
from serving import check, failures

SITES = {"python": "/usr/share/doc/python3.11/html",
         "postgresql": "/usr/share/doc/postgresql-doc-15/html"}


class Links(html.parser.HTMLParser):
    """Collects all URLs that a page refers to; knows nothing of what is a link and what a part."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        for name in ("href", "src", "data", "poster"):
            if values.get(name) and "nofollow" not in (values.get("rel") or ""):
                self.found.append(values[name].strip())
        for candidate in (values.get("srcset") or "").split(","):
            self.found += candidate.split()[:1]


class Site:
    """Reads a site over one connection, perhaps through a proxy."""

    def __init__(self, port, authority, proxy=None, accepts="gzip, deflate, br, zstd"):
        self.accepts = accepts
        self.base = f"https://localhost:{port}"
        context = ssl.create_default_context(cafile=authority)
        if proxy:
            self.connection = http.client.HTTPSConnection("127.0.0.1", proxy, context=context)
            self.connection.set_tunnel("localhost", port)
        else:
            self.connection = http.client.HTTPSConnection("localhost", port, context=context)

    def get(self, target):
        # As a browser; the crawler has asked otherwise.
        self.connection.request("GET", target, headers={"Accept-Encoding": self.accepts})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        return answer.status, answer.headers, body

    def crawl(self):
        """Returns status and body of everything that can be reached from the root, by target."""
        seen, waiting = {}, collections.deque(["/"])
        known = set(waiting)
        while waiting:
            target = waiting.popleft()
            status, fields, body = seen[target] = self.get(target)
            for reference in self.references(status, fields, body):
                try:
                    url = urllib.parse.urljoin(self.base + target, reference)
                except ValueError:
                    continue
                url = urllib.parse.urldefrag(url).url
                if url.startswith(self.base + "/"):
                    following = urllib.parse.quote(url[len(self.base):], safe="/%?&=+:;,@!$'()*~[]|")
                    if following not in known:
                        known.add(following)
                        waiting.append(following)
        return {target: (status, body) for target, (status, _, body) in seen.items()}

    @staticmethod
    def references(status, fields, body):
        if status in (301, 302, 307, 308):
            return [fields["Location"]]
        kind = (fields["Content-Type"] or "").split(";")[0]
        if status != 200 or kind not in ("text/html", "text/css"):
            return []
        text = body.decode("utf-8", "replace")
        if kind == "text/css":
            text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
            return re.findall(r"url\(\s*[\"']?([^\"')]+)", text) + re.findall(
                r"@import\s+[\"']([^\"']+)", text)
        return Links(text).found


def make_site(folder):
    """Makes the folder that nginx serves, and returns the number of its pages."""
    os.makedirs(f"{folder}/site")
    with open(f"{folder}/site/index.html", "w") as file:
        file.write("<title>Documentation</title><a href=/moved>moved</a>")
        for name, place in SITES.items():
            os.symlink(place, f"{folder}/site/{name}")
            file.write(f"<a href='{name}'>{name}</a>")
    return sum(name.endswith(".html") for place in [f"{folder}/site", *SITES.values()]
               for _, _, names in os.walk(place) for name in names)


def start_origin(folder, port):
    return serving.nginx("origin", folder, port, f"""
        include /etc/nginx/mime.types;
        log_format targets '$request_uri';
        server {{
          listen 127.0.0.1:{port} ssl; root {folder}/site; access_log {folder}/targets targets;
          gzip on; gzip_vary on; gzip_types text/css application/javascript text/plain;
          ssl_certificate {folder}/site.pem; ssl_certificate_key {folder}/site.key;
          location = /moved {{ return 302 /postgresql/; }}
          location = /robots.txt {{ return 404; }}
        }}""", workers=1)


def requested(folder):
    """Returns the requests that nginx has had, in order."""
    with open(f"{folder}/targets") as file:
        return file.read().split()


def crawl(tool, folder, port, interrupt_after=None):
    """Runs `offlinecache crawl`; returns its status, what failed, and its summary."""
    command = [tool, "--store", f"{folder}/store", "crawl", f"https://localhost:{port}/",
               "--depth", "1000", "--same-host", "--ca-file", f"{folder}/site.pem", "--json"]
    start = time.monotonic()
    with open(f"{folder}/report", "wb") as output:
        process = subprocess.Popen(command, stdout=output)
        while interrupt_after and process.poll() is None:
            if len(requested(folder)) >= interrupt_after[0]:
                process.send_signal(interrupt_after[1])
                break
            time.sleep(0.02)
        process.wait()
    with open(f"{folder}/report") as file:
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    print(f"     crawl: status {process.returncode}, {time.monotonic() - start:.1f} s, "
          f"{json.dumps(lines[-1]) if lines else 'no report'}", flush=True)
    return process.returncode, [line for line in lines if "url" in line], lines


def look(tool, folder):
    pages = make_site(folder)
    print(f"     {pages} pages of HTML", flush=True)
    serving.make_certificate(f"{folder}/site", "DNS:localhost")
    os.environ["XDG_STATE_HOME"] = f"{folder}/state"
    port = serving.free_port()
    with start_origin(folder, port):
        status, _, lines = crawl(tool, folder, port, (300, signal.SIGINT))
        check(status == 130 and lines and lines[-1]["left_out"] > 0, "Ctrl-C: 130, and a report")
        status, _, _ = crawl(tool, folder, port, (900, signal.SIGKILL))
        check(status == -9, "killed")
        before = len(requested(folder))
        status, failed, lines = crawl(tool, folder, port)
        check(status == 1, "broken links of the site itself: status 1")
        counts = collections.Counter(requested(folder))
        again = [target for target, count in counts.items() if count > 1]
        print(f"     {before} requests before the last run, {sum(counts.values())} in all; "
              f"more than once: {again}", flush=True)
        # Robots.txt, redirects and pages that are not there have no lifetime here.
        check(len(again) <= 10, "almost nothing was fetched twice")
        online = Site(port, f"{folder}/site.pem").crawl()
    good = {target for target, (status, _) in online.items() if status < 400}
    print(f"     the checker: {len(online)} URLs, broken: {sorted(set(online) - good)}", flush=True)
    check(sum(target.endswith((".html", "/")) for target in good) >= pages - 10,
          "the checker reaches all pages")
    broken = {line["url"].removeprefix(f"https://localhost:{port}") for line in failed}
    check(broken <= set(online) - good, "the report has broken links only")
    check({line["outcome"] for line in failed} <= {"not_found"}
          and all(line["linked_from"] for line in failed), "and says what links to them")

    subprocess.run([tool, "ca", "create"], check=True, capture_output=True)
    with serving.serve(tool, f"{folder}/store", folder, "--intercept", "--offline", "--log", "none",
                       "--connect-port", str(port)) as proxy:
        for client, accepts in (("a browser", "gzip, deflate, br, zstd"), ("wget", "identity")):
            offline = Site(port, f"{folder}/state/offlinecache/ca.pem", proxy.port, accepts).crawl()
            missing = [target for target in good
                       if offline.get(target, (0,))[0] != online[target][0]]
            check(not missing, f"offline, as {client}: no link is broken that was not {missing[:5]}")
            other = [target for target in good
                     if offline.get(target, (0, b""))[1] != online[target][1]]
            size = sum(len(online[target][1]) for target in good)
            check(not other, f"offline, as {client}: all {size} bytes of {len(good)} URLs are the "
                  f"same {other[:5]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        look(os.path.abspath(arguments.tool), folder)
    sys.exit(1 if failures else 0)


main()
