"""Recorded exchanges with model APIs, from the cassettes of other projects: rig (httpmock), cagent (go-vcr), dd-apm-test-agent (vcrpy)."""

import base64
import gzip
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import yaml

# The providers of rig's folders that have a place of their own in the proxy; what is compatible with OpenAI is reached as that.
SEGMENTS = {"anthropic", "openai", "gemini", "ollama", "mistral", "groq", "deepseek", "xai", "openrouter", "cohere"}
HOSTS = {"api.openai.com": "openai", "api.anthropic.com": "anthropic", "generativelanguage.googleapis.com": "gemini",
         "api.mistral.ai": "mistral", "api.deepseek.com": "deepseek"}
# What belongs to the recorded connection and its moment.
CONNECTION_HEADERS = {"connection", "content-length", "transfer-encoding", "keep-alive", "date", "server", "set-cookie", "alt-svc"}


@dataclass
class Exchange:
    """A request as the client sent it, and the answer."""

    segment: str
    method: str
    path: str
    request: bytes
    status: int
    response: bytes
    headers: dict = field(default_factory=dict)

    def plain_response(self):
        """The answer without its compression."""
        return gzip.decompress(self.response) if self.headers.get("content-encoding") == "gzip" else self.response


@dataclass
class Cassette:
    """The exchanges of one session."""

    name: str
    exchanges: list


class LenientLoader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):
    """Reads vcrpy's files, whose keys may be objects of Python: their text is what counts."""


LenientLoader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, _, node: loader.construct_sequence(node)[0])


def documents(path):
    with open(path, encoding="utf-8") as file:
        return [document for document in yaml.load_all(file, Loader=LenientLoader) if document]


def encoded(body):
    return body if isinstance(body, bytes) else (body or "").encode()


def read_rig(folder, skipped):
    """A folder a provider, a file a session, a document an exchange."""
    root = folder / "tests" / "cassettes"
    for path in sorted(root.rglob("*.yaml")):
        provider = path.relative_to(root).parts[0]
        exchanges = []
        for document in documents(path):
            asked, given = document["when"], document["then"]
            if provider == "bedrock":
                skipped["Bedrock: the proxy refuses what is signed for the provider's own address"] += 1
                continue
            query = urlencode([(pair["name"], pair["value"]) for pair in asked.get("query_param") or []])
            body = base64.b64decode(given["body"]) if given.get("body_encoding") == "base64" else encoded(given["body"])
            exchanges.append(Exchange(
                provider if provider in SEGMENTS else "openai", asked["method"], asked["path"] + ("?" + query if query else ""),
                encoded(asked["body"]), given["status"], body,
                {header["name"].lower(): header["value"] for header in given.get("header") or []}))
        yield Cassette(f"rig {path.relative_to(root)}", exchanges)


def read_recorded(name, folder, pattern, skipped):
    """The files of go-vcr and vcrpy, which agree on most."""
    for path in sorted(folder.glob(pattern)):
        exchanges = []
        for document in documents(path):
            for interaction in document.get("interactions") or []:
                asked, given = interaction["request"], interaction["response"]
                address = urlsplit(asked.get("url") or asked["uri"])
                if address.hostname not in HOSTS:
                    skipped[f"{address.hostname}: the proxy does not know this provider"] += 1
                    continue
                headers = {header.lower(): value if isinstance(value, str) else value[0] for header, value in (given.get("headers") or {}).items()}
                body = given["body"]
                body = encoded(body["string"] if isinstance(body, dict) else body)
                if headers.get("content-encoding") == "gzip" and not body.startswith(b"\x1f\x8b"):
                    body = gzip.compress(body, mtime=0)
                if not headers:
                    # cagent keeps none.
                    headers["content-type"] = "text/event-stream" if body.startswith((b"data:", b"event:")) else "application/json"
                status = given.get("code") or given["status"]["code"]
                exchanges.append(Exchange(HOSTS[address.hostname], asked["method"], address.path + ("?" + address.query if address.query else ""),
                                          encoded(asked["body"]), status, body, headers))
        yield Cassette(f"{name} {path.relative_to(folder)}", exchanges)


def read_cassettes(arguments, skipped):
    """All cassettes of the folders that were given; exchanges that are left out are counted by their reason."""
    if arguments.rig:
        yield from read_rig(Path(arguments.rig), skipped)
    if arguments.cagent:
        yield from read_recorded("cagent", Path(arguments.cagent), "e2e/testdata/cassettes/**/*.yaml", skipped)
    if arguments.datadog:
        yield from read_recorded("dd-apm-test-agent", Path(arguments.datadog), "vcr-cassettes/**/*.yaml", skipped)
