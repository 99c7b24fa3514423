"""The looking part of Tools/browse; see there."""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import chromium
import serving
from serving import check, failures

PAGES = ["/", "/places/harbour.html", "/places/lighthouse.html", "/places/caf%C3%A9.html",
         "/places/two%20words.html"]
HOSTILE = "/%22%3E%3Cscript%3Edocument.title=%27taken%27%3C/script%3E"
STATUS = "/.offlinecache/"


def say(text):
    print(f"browse: {text}", file=sys.stderr, flush=True)


def start_origin(folder, port):
    site = os.path.join(os.path.dirname(os.path.abspath(__file__)), "browse-site.py")
    return serving.Server("the site", [sys.executable, "-B", site, str(port)], port,
                          f"{folder}/site.log")


def browse(base, proxy=None):
    """Visits all pages with a new browser, and returns the DOM of each once its script is done."""
    doms = {}
    with chromium.Browser(proxy) as browser:
        for path in PAGES:
            browser.open(base + path)
            deadline = time.monotonic() + 10
            while browser.evaluate("document.body.dataset.done") != "yes":
                if time.monotonic() > deadline:
                    check(False, f"the script of {path} came to its end")
                    break
                time.sleep(0.02)
            for problem in browser.problems():
                check(False, f"{path} shows without complaints: {problem}")
            doms[path] = browser.dom()
    return doms


def browse_without_origin(tool, folder, mode):
    """Browses online, with the origin gone, and offline, and compares."""
    port = serving.free_port()
    origin = start_origin(folder, port)
    is_reverse = mode == "reverse proxy"
    options = ["--log", "none"] + (["--origin", origin.url] if is_reverse else [])
    store = f"{folder}/{mode.split()[0]}-store"

    def visit(server):
        return browse(server.url) if is_reverse else browse(origin.url, server.url)

    try:
        with serving.serve(tool, store, folder, *options) as server:
            online = visit(server)
            check(len(set(online.values())) == len(PAGES), f"{mode}: all pages show")
            check(all("drei \u00fc" in dom and "pictures 64" in dom and "rgb(1, 2, 3)" in dom
                      for dom in online.values()),
                  f"{mode}: style, script, data and pictures come through")
            origin.stop()
            check(visit(server) == online, f"{mode}: the same with the origin gone")
            check(server.stop() == 0, f"{mode}: SIGTERM ends it with status 0")
        with serving.serve(tool, store, folder, *options, "--offline") as server:
            check(visit(server) == online, f"{mode}: the same after a start with --offline")
    finally:
        origin.stop()


def curl(*arguments):
    """Returns status, fields in lower case, and body."""
    done = subprocess.run(["curl", "--silent", "--show-error", "--include", "--max-time", "10",
                           *arguments], capture_output=True)
    if done.returncode:
        return 0, {}, done.stderr
    head, body = done.stdout.split(b"\r\n\r\n", 1)
    while head.startswith(b"HTTP/1.1 100"):
        head, body = body.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    fields = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in lines[1:]}
    return int(lines[0].split()[1]), fields, body


def ask_with_curl(server, origin):
    digits = server.url + "/digits.txt"
    whole = b"0123456789" * 1000
    status, fields, body = curl(digits)
    check((status, body) == (200, whole) and "fwd=uri-miss" in fields["cache-status"],
          "curl: the first answer is a miss")
    status, fields, body = curl(digits)
    check((status, body) == (200, whole) and "; hit" in fields["cache-status"] and "age" in fields,
          "curl: the second is a hit with its age")
    tag = fields.get("etag", "")
    status, fields, body = curl("--range", "10-14", digits)
    check((status, body, fields.get("content-range")) == (206, b"01234", "bytes 10-14/10000"),
          "curl: a range comes out of the store")
    status, fields, body = curl("--range", "-3", digits)
    check((status, body) == (206, b"789"), "curl: so do the last bytes")
    status, fields, _ = curl("--range", "10000-", digits)
    check((status, fields.get("content-range")) == (416, "bytes */10000"),
          "curl: a range behind the end gives 416")
    status, fields, body = curl("--header", f"If-None-Match: {tag}", digits)
    check((status, body) == (304, b"") and "; hit" in fields["cache-status"],
          "curl: a condition gives 304 out of the store")
    status, fields, body = curl("--header", 'If-None-Match: "other"', digits)
    check((status, body) == (200, whole), "curl: one that does not hold gives the body")
    status, fields, body = curl("--head", digits)
    check((status, fields.get("content-length"), body) == (200, "10000", b""),
          "curl: HEAD has the fields alone")
    status, fields, body = curl("--data", "a=1", server.url + "/form")
    check((status, body) == (201, b"got a=1") and "fwd=method" in fields["cache-status"],
          "curl: POST passes through")
    status, fields, body = curl("--header", "Cache-Control: only-if-cached", server.url + "/other")
    check(status == 504, "curl: only-if-cached without an entry gives 504")
    status, _, _ = curl(server.url + HOSTILE)
    check(status == 404, "curl: what the origin refuses is refused")
    status, fields, _ = curl("--head", server.url + STATUS)
    check(status == 200 and "default-src 'none'" in fields.get("content-security-policy", ""),
          "curl: the status page comes with its policy")
    status, fields, body = curl(server.url + STATUS + "status")
    check(status == 200 and fields["content-type"] == "application/json"
          and json.loads(body)["answers"]["hit"] >= 5, "curl: the status as JSON counts the hits")
    status, _, _ = curl("--data", "x", server.url + STATUS)
    check(status == 405, "curl: nothing can be sent to the status page")
    origin.stop()
    status, _, body = curl(server.url + "/new")
    check(status in (502, 504) and len(body) > 40, "curl: an origin that is gone is told in words")


def ask_offline(server):
    status, _, body = curl(server.url + "/digits.txt")
    check((status, body) == (200, b"0123456789" * 1000), "offline: what is stored is served")
    status, fields, body = curl(server.url + "/new")
    check(status == 504 and b"nothing is stored" in body and "detail" in fields["cache-status"],
          "offline: what is not gives 504 with the reason")
    status, _, _ = curl("--data", "a=1", server.url + "/form")
    check(status == 504, "offline: POST gives 504")


def make_traffic(server, seconds):
    """Asks for this and that, more and more often, so that there is something to be seen."""
    say(f"makes traffic for {seconds} s")
    begin = time.monotonic()
    paths = PAGES * 4 + ["/style.css", "/app.js", "/1.png", "/2.png", "/digits.txt"] * 8
    while (passed := time.monotonic() - begin) < seconds:
        path = random.choice(paths)
        if random.random() < 0.06:
            path = f"/missing/{random.randrange(10**6)}"
        is_post = random.random() < 0.02
        serving.get(server.url + path, method="POST" if is_post else "GET",
                    body=b"a=1" if is_post else None)
        time.sleep(random.random() * 0.12 / (0.5 + passed / seconds))


def wait_until(browser, expression, seconds=15):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if browser.evaluate(expression):
            return True
        time.sleep(0.1)
    return False


def look_at_empty_page(server):
    with chromium.Browser() as browser:
        browser.look(360, 800)
        browser.open(server.url + STATUS)
        check(browser.evaluate("document.querySelector('pre').textContent").startswith("curl -i"),
              "status: an unused proxy says how to use it")
        check(browser.evaluate("document.documentElement.scrollWidth") <= 360,
              "status: unused, it fits a phone")


def look_at_page(server, screenshots):
    def text(selector):
        found = f"document.querySelector({json.dumps(selector)})"
        return browser.evaluate(f"{found} && {found}.textContent.trim()")

    with chromium.Browser() as browser:
        backs = set()
        for width, height in [(360, 800), (390, 844), (768, 1024), (1280, 900)]:
            for dark in [False, True]:
                browser.look(width, height, dark)
                browser.open(server.url + STATUS)
                wide = browser.evaluate("document.documentElement.scrollWidth")
                check(wide <= width and not browser.problems(),
                      f"status: fits {width} pixels, {'dark' if dark else 'light'} ({wide})")
                backs.add(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
        check(len(backs) == 2, "status: light and dark differ")
        numbers = browser.evaluate("[...document.querySelectorAll('.big')].map(e => e.textContent)")
        check(len(numbers) == 4 and numbers[0].endswith("%")
              and all(any(c.isdigit() for c in number) for number in numbers),
              f"status: the numbers on top are there: {', '.join(numbers)}")
        rows = browser.evaluate("[...document.querySelectorAll('.answers tbody tr')].map(row => "
                                "row.querySelector('.reason').textContent.trim())")
        check(len(rows) >= 12 and all(rows), f"status: {len(rows)} answers, each with its reason")
        check(browser.evaluate("document.querySelectorAll('.rates .line').length") == 2,
              "status: both charts are drawn")
        check(browser.evaluate("document.querySelectorAll('.names tbody tr').length") >= 3,
              "status: it says what fills the store")
        curl(server.url + HOSTILE)
        browser.open(server.url + STATUS)
        check("script" in text(".answers .url").lower() and browser.evaluate("document.title")
              != "taken" and browser.evaluate("document.scripts.length") == 1,
              "status: a hostile URL is text")
        before = text(".counts tbody td")
        for _ in range(3):
            curl(server.url + "/digits.txt")
        changed = f"document.querySelector('.counts tbody td').textContent != '{before}'"
        check(wait_until(browser, changed), "status: the page follows by itself")
        browser.evaluate("document.querySelector('#live').click()")
        check(browser.evaluate("document.querySelector('#live').ariaPressed") == "false",
              "status: it can be told to stand still")
        browser.look(390, 844, scripts=False)
        browser.open(server.url + STATUS)
        if screenshots:
            make_traffic(server, 3)
            take_screenshots(browser, server, screenshots)


def take_screenshots(browser, server, folder):
    for name, width, height, dark in [("light", 1280, 1400, False), ("dark", 1280, 1400, True),
                                      ("phone", 390, 1500, False)]:
        browser.look(width, 900 if width > 400 else 844, dark)
        browser.open(server.url + STATUS)
        path = f"{folder}/serve-{name}.png"
        browser.screenshot(path, height)
        check(os.path.getsize(path) < 300_000, f"{path}: {os.path.getsize(path)} bytes")


def look_at_lost_page(server):
    """Opens the page, ends the server, and waits for the page to say so."""
    with chromium.Browser() as browser:
        browser.look(1280, 900)
        browser.open(server.url + STATUS)
        server.stop()
        lost = "getComputedStyle(document.querySelector('#lost')).display == 'block'"
        check(wait_until(browser, lost), "status: the page says when the proxy is gone")


def main():
    parser = argparse.ArgumentParser(prog="browse")
    parser.add_argument("--tool", required=True)
    parser.add_argument("--screenshots", metavar="FOLDER")
    parser.add_argument("--traffic", type=float, default=5, metavar="SECONDS")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="offlinecache-browse.")
    try:
        for mode in ["reverse proxy", "forward proxy"]:
            browse_without_origin(options.tool, folder, mode)
        origin = start_origin(folder, serving.free_port())
        arguments = (options.tool, f"{folder}/store", folder, "--origin", origin.url, "--shared",
                     "--log", "none")
        with origin, serving.serve(*arguments) as server:
            look_at_empty_page(server)
            make_traffic(server, options.traffic)
            look_at_page(server, options.screenshots)
            look_at_lost_page(server)
        origin = start_origin(folder, origin.port)
        arguments = (options.tool, f"{folder}/store-2", *arguments[2:])
        with origin, serving.serve(*arguments) as server:
            ask_with_curl(server, origin)
        with serving.serve(*arguments, "--offline") as server:
            ask_offline(server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if failures:
        raise SystemExit(f"browse: {len(failures)} of the above are not as they should be")


main()
