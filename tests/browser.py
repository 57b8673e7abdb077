#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
#
# browser.py PAGE SCRIPT - open a page in headless Chromium, by the pipe of its
# DevTools, and do what SCRIPT says, a line each:
#
#   eval EXPRESSION       print its value as JSON, once promises are fulfilled
#   wait EXPRESSION       until it is true, at most a minute
#   size WIDTH HEIGHT     of the window, in CSS pixels
#   key KEY               press and release, as KeyboardEvent.key has it
#   text TEXT             type it where the focus is
#   click EXPRESSION      the left button, at the place [x, y] that it gives or
#                         the middle of the element
#   drag X Y EXPRESSION   from that place, by so much
#   wheel DELTA EXPRESSION  with Ctrl
#   dark yes|no           what prefers-color-scheme says
#   media TYPE            what the page is for: print
#   shot FILE             a picture of the whole page
#   print FILE            as PDF
#
# At the end a line "console N", "requests N" and for each message of the console
# or request for anything but PAGE a line that says which. The status is 0 unless
# Chromium or the script fails. CHROMIUM names the program (default: chromium).

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time


class Browser:
    def __init__(self, profile):
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()

        def pipes():
            a, b = os.dup(to_read), os.dup(from_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [os.environ.get("CHROMIUM", "chromium"), "--headless=new",
             "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--hide-scrollbars", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update",
             "--disable-dev-shm-usage", "--disable-crash-reporter",
             f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(3, 4, to_read, from_write), preexec_fn=pipes,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.buffer, self.number, self.session = b"", 0, None
        self.console, self.requests = [], []

    def message(self):
        while b"\0" not in self.buffer:
            more = os.read(self.from_read, 1 << 20)
            if not more:
                sys.exit("browser.py: Chromium ended")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def note(self, m):
        what, p = m.get("method"), m.get("params", {})
        if what == "Runtime.consoleAPICalled":
            self.console.append(" ".join(
                str(a.get("value", a.get("description"))) for a in p["args"]))
        elif what == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.console.append(d.get("exception", {}).get("description")
                                or d["text"])
        elif what == "Log.entryAdded":
            self.console.append(p["entry"]["text"])
        elif what == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])

    def call(self, method, **params):
        self.number += 1
        m = {"id": self.number, "method": method, "params": params}
        if self.session:
            m["sessionId"] = self.session
        os.write(self.to_write, json.dumps(m).encode() + b"\0")
        while True:
            m = self.message()
            if m.get("id") == self.number:
                if "error" in m:
                    sys.exit(f"browser.py: {method}: {m['error']['message']}")
                return m["result"]
            self.note(m)

    def eval(self, expression):
        r = self.call("Runtime.evaluate", expression=expression,
                      awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in r:
            sys.exit(f"browser.py: {expression}: "
                     + r["exceptionDetails"]["exception"].get("description", "?"))
        return r["result"].get("value")

    def place(self, expression):
        return self.eval("(e => { if (Array.isArray (e)) return e;"
                         " e.scrollIntoView ({ block: 'center' });"
                         " const b = e.getBoundingClientRect ();"
                         " return [b.x + b.width / 2, b.y + b.height / 2]; })"
                         f" ({expression})")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, x, y, dx, dy):
        left = {"button": "left", "clickCount": 1}
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, **left)
        for i in range(1, 6) if dx or dy else ():
            self.mouse("mouseMoved", x + dx * i / 5, y + dy * i / 5,
                       button="left", buttons=1)
        self.mouse("mouseReleased", x + dx, y + dy, **left)


def do(b, line):
    word, _, rest = line.partition(" ")
    args = rest.split()
    if word == "eval":
        print(json.dumps(b.eval(rest)), flush=True)
    elif word == "wait":
        end = time.monotonic() + 60
        while not b.eval(rest):
            if time.monotonic() > end:
                sys.exit(f"browser.py: in a minute it did not come: {rest}")
            time.sleep(0.05)
    elif word == "size":
        b.call("Emulation.setDeviceMetricsOverride", width=int(args[0]),
               height=int(args[1]), deviceScaleFactor=1, mobile=False)
    elif word == "key":
        text = {"text": rest} if len(rest) == 1 else {}
        if rest == "Enter":
            text = {"text": "\r"}
        b.call("Input.dispatchKeyEvent", type="keyDown", key=rest, **text)
        b.call("Input.dispatchKeyEvent", type="keyUp", key=rest)
    elif word == "text":
        b.call("Input.insertText", text=rest)
    elif word == "click":
        b.drag(*b.place(rest), 0, 0)
    elif word == "drag":
        b.drag(*b.place(" ".join(args[2:])), float(args[0]), float(args[1]))
    elif word == "wheel":
        x, y = b.place(" ".join(args[1:]))
        b.mouse("mouseWheel", x, y, deltaX=0, deltaY=float(args[0]),
                modifiers=2)
    elif word == "dark":
        b.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme",
             "value": "dark" if rest == "yes" else "light"}])
    elif word == "media":
        b.call("Emulation.setEmulatedMedia", media=rest)
    elif word == "shot":
        r = b.call("Page.captureScreenshot", captureBeyondViewport=True)
        pathlib.Path(rest).write_bytes(base64.b64decode(r["data"]))
    elif word == "print":
        r = b.call("Page.printToPDF")
        pathlib.Path(rest).write_bytes(base64.b64decode(r["data"]))
    else:
        sys.exit(f"browser.py: {word} is no command")


def main():
    page = pathlib.Path(sys.argv[1]).resolve().as_uri()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        b = Browser(profile)
        try:
            target = b.call("Target.createTarget", url="about:blank")
            b.session = b.call("Target.attachToTarget", flatten=True,
                               targetId=target["targetId"])["sessionId"]
            for domain in ("Runtime", "Log", "Network", "Page"):
                b.call(f"{domain}.enable")
            lines = open(sys.argv[2], encoding="utf-8").read().splitlines()
            while lines and lines[0].split(" ")[0] in ("size", "dark"):
                do(b, lines.pop(0))
            b.call("Page.navigate", url=page)
            b.eval("new Promise (r => document.readyState === 'complete' ? r ()"
                   " : addEventListener ('load', r))")
            for line in lines:
                if line and not line.startswith("#"):
                    do(b, line)
            b.eval("new Promise (r => setTimeout (r, 50))")
        finally:
            b.process.kill()
            b.process.wait()
    others = [u for u in b.requests if u.split("#")[0] != page]
    print(f"console {len(b.console)}", *b.console, sep="\n")
    print(f"requests {len(others)}", *others, sep="\n")


main()
