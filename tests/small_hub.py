"""A hub on 127.0.0.1 that speaks as much of the Hugging Face protocol as a download needs, and can misbehave."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

_STEPS = 200  # of a slow transfer
_LARGE = 1_000_000  # bytes; smaller files come at once
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class SmallHub:
    """What the hub has, how it misbehaves, and what it was asked.

    Attributes:
        repos: files by name, by model id.
        gated, private: model ids whose files, or whose very existence, it does not show.
        page: answer every question about a model with this web page.
        breaks: names of files whose transfer is cut in the middle.
        seconds: how long the transfer of a file of weights takes.
        asked: (method, path) of every request, in order.
    """

    repos: Mapping[str, Mapping[str, bytes]]
    gated: set[str] = field(default_factory=set)
    private: set[str] = field(default_factory=set)
    page: bytes = b""
    breaks: set[str] = field(default_factory=set)
    seconds: float = 0.0
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""

    def fetched(self) -> list[str]:
        """Names of the files whose content was asked for."""
        return [path.rsplit("/", 1)[1] for method, path in self.asked if method == "GET" and "/resolve/" in path]


@contextmanager
def serving(hub: SmallHub) -> Iterator[SmallHub]:
    """Serve on a free port for the time of a `with` block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: SmallHub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        """Stay silent."""

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append((self.command, path))
        if path.startswith("/api/models/"):
            self._model(*path.removeprefix("/api/models/").partition("/revision/")[::2])
        else:
            repo, _, rest = path[1:].partition("/resolve/")
            self._file(repo, *rest.partition("/")[::2])

    def _model(self, repo: str, revision: str) -> None:
        if self.hub.page:
            self._send(200, self.hub.page, {"Content-Type": "text/html"})
        elif self._has(repo, revision):
            files = self.hub.repos[repo]
            siblings = [{"rfilename": name, "size": len(content)} for name, content in files.items()]
            values = {"id": repo, "modelId": repo, "sha": COMMIT, "siblings": siblings, "tags": []}
            self._send(200, json.dumps(values).encode(), {"Content-Type": "application/json"})

    def _file(self, repo: str, revision: str, name: str) -> None:
        if not self._has(repo, revision):
            return
        if repo in self.hub.gated:
            self._refuse(403, "GatedRepo")
        elif name not in self.hub.repos[repo]:
            self._refuse(404, "EntryNotFound")
        else:
            content = self.hub.repos[repo][name]
            headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
            self._send(200, content, headers, cut=name in self.hub.breaks)

    def _has(self, repo: str, revision: str) -> bool:
        if repo not in self.hub.repos or repo in self.hub.private:
            self._refuse(401, "RepoNotFound")
        elif revision not in ("", "main", "v1", COMMIT):
            self._refuse(404, "RevisionNotFound")
        else:
            return True
        return False

    def _refuse(self, status: int, code: str) -> None:
        self._send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str], *, cut: bool = False) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.hub.seconds and len(body) > _LARGE:
            self._trickle(body)
        else:
            self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.close_connection = True

    def _trickle(self, body: bytes) -> None:
        step = -(-len(body) // _STEPS)
        with suppress(ConnectionError):  # the other side may have had enough
            for start in range(0, len(body), step):
                self.wfile.write(body[start : start + step])
                time.sleep(self.hub.seconds / _STEPS)
