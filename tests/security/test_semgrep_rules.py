"""Our rules for semgrep find what they name, and nothing beside it; run by ``make supply``."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.places import ROOT

RULES = ROOT / "tests" / "security" / "semgrep"
IDS = frozenset(
    re.findall(
        r"^  - id: (\S+)$", "".join(p.read_text("utf-8") for p in RULES.glob("*.yml")), re.MULTILINE
    )
)
# for each rule: what it finds, and what looks like it and is sound; "page" and "script" say the kind
PLANTED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "query-joined-from-pieces": (
        ('def f(store, name):\n    text = f"SELECT * {{ <{name}> ?p ?o }}"\n    return store.select(text)',
         'def f(store, name):\n    return store.ask("ASK { <" + name + "> ?p ?o }")',
         'def f(store, name):\n    return store.query("ASK { <%s> ?p ?o }" % name)',
         'def f(free, name):\n    return free.stream(FreeQuery("ASK { <%s> ?p ?o }" % name, whole=True))',
         'def f(store, name):\n    store.update("DELETE WHERE {{ <{0}> ?p ?o }}".format(name))'),
        ('def f(store, name):\n    return store.select(Query.named("claims").text, s=name)',
         'def f(digest, name):\n    digest.update(f"{name}".encode())',
         'def f(store):\n    return store.select("SELECT * { ?s ?p ?o }")'),
    ),
    "deserialises-code": (
        ("import pickle\npickle.loads(b'')", "import numpy as np\nnp.load('x', allow_pickle=True)",
         "import torch\ntorch.load('x')", "import yaml\nyaml.load('x', Loader=yaml.Loader)",
         "M.from_pretrained('x', trust_remote_code=True)"),
        ("import numpy as np\nnp.load('x', allow_pickle=False)",
         "import torch\ntorch.load('x', weights_only=True)",
         "import yaml\nyaml.load('x', Loader=yaml.SafeLoader)", "import json\njson.loads('1')"),
    ),
    "shell": (
        ("import subprocess\nsubprocess.run('ls ' + x, shell=True)", "import os\nos.system(x)"),
        ("import subprocess\nsubprocess.run(['ls', x], shell=False)",),
    ),
    "evaluates-text": (("eval(x)", "exec(x)"), ("import ast\nast.literal_eval(x)",)),
    "waits-for-ever": (
        ("import requests\nrequests.get('https://e.org')",
         "import urllib.request\nurllib.request.urlopen(x)",
         "import httpx2\nhttpx2.Client()", "import httpx2\nhttpx2.get(x, timeout=None)"),
        ("import requests\nrequests.get('https://e.org', timeout=5)",
         "import httpx2\nhttpx2.Client(timeout=3.0)"),
    ),
    "trusts-any-certificate": (("import httpx2\nhttpx2.get(x, verify=False, timeout=1)",),
    ("import httpx2\nhttpx2.get(x, verify=context, timeout=1)",)),
    "follows-redirections": (("client.get(x, follow_redirects=True)",),
    ("client.get(x, follow_redirects=False)",)),
    "marked-as-markup": (
        ("from markupsafe import Markup\nMarkup(said)",
         "from flask import render_template_string\nrender_template_string(x)"),
        ("from markupsafe import Markup\nMarkup('<b>')",
         "from markupsafe import escape\nescape(said)"),
    ),
    "redirected-by-a-request": (
        ("from flask import redirect, request\ndef f():\n    return redirect(request.args['next'])",
         "from flask import redirect, request\ndef f():\n    to = request.form.get('to')\n    return redirect(to + '?x')"),
        ("from flask import redirect, request\nfrom urllib.parse import quote\ndef f():\n    return redirect('/x?q=' + quote(request.args['q']))",
         'from flask import redirect, request\ndef f():\n    return redirect(f"/curate/x?q={request.args[1]}")'),
    ),
    "file-named-by-a-request": (
        ("from flask import send_file, request\ndef f():\n    return send_file(request.args['name'])",
         "from pathlib import Path\nfrom flask import request\ndef f():\n    return Path(request.form['p']).read_text()"),
        ("from flask import send_file\ndef f(known, name):\n    return send_file(known[name])",),
    ),
    "unpacked-anywhere": (("archive.extractall(folder)",), ("archive.open(name)",)),
    "entities-in-xml": (
        ("import xml.etree.ElementTree as T\nT.fromstring(said)",),
        ("from xml.etree.ElementTree import Element, tostring\ntostring(Element('a'))",),
    ),
    "rdf-read-by-rdflib": (('g.parse(x, format="json-ld")',), ('g.parse(x, format="turtle")',)),
    "weak-digest": (("import hashlib\nhashlib.md5(x)",), ("import hashlib\nhashlib.sha256(x)",
    "import hashlib\nhashlib.md5(x, usedforsecurity=False)")),
    "secret-by-chance": (("import random\ntoken = random.getrandbits(128)",),
    ("import random\npick = random.choice(names)", "import secrets\ntoken = secrets.token_hex()")),
    "secret-compared-in-steps": (("def f(self, said):\n    return self.digest == said",),
    ("from hmac import compare_digest\ndef f(self, said):\n    return compare_digest(self.digest, said)",)),
    "secret-in-a-log": (("log.warning('%s', settings.api_key)",),
    ("log.warning('%s', settings.name)",)),
    "fault-swallowed": (
        ("try:\n    f()\nexcept Exception:\n    x = []", "try:\n    f()\nexcept:\n    pass"),
        ("try:\n    f()\nexcept BaseException:\n    close()\n    raise",
         "try:\n    f()\nexcept OSError:\n    x = 1"),
    ),
    "debugger-on": (("app.run(debug=True)",), ("app.run(debug=False)",)),
    "cookie-for-scripts": (("r.set_cookie('a', 'b')",),
    ("r.set_cookie('a', 'b', httponly=True, samesite='Lax')",)),
    "unescaped-in-a-template": (("<p>{{ said | safe }}</p>", "{% autoescape false %}"),
    ("<p>{{ said }}</p>", "<p>{{ safer | e }}</p>")),
    "handler-in-a-template": (('<img src="x" onerror="go()">', '<a href="javascript:go()">x</a>'),
    ('<a href="/x" data-one="1">x</a>',)),
    "script-without-its-word": (("<script>go()</script>",),
    ('<script nonce="{{ nonce() }}">go()</script>', '<script src="/static/a.js"></script>')),
    "script-from-elsewhere": (('<script src="https://cdn.example/a.js"></script>',),
    ('<script src="/static/a.js"></script>',)),
    "form-without-its-token": (
        ('<form method="post" action="/x"><button>x</button></form>',),
        ('<form method="post" action="/x">{{ f.hidden() }}</form>',
         '<form action="/ask"><input name="q"></form>'),
    ),
    "html-from-a-text": (("box.innerHTML = said;", "box.insertAdjacentHTML('beforeend', said);"),
    ("box.textContent = said;",)),
    "text-run-as-a-script": (("eval(said);", "setTimeout('go()', 5);"), ("setTimeout(go, 5);",)),
    "message-from-anywhere": (("window.addEventListener('message', go);",),
    ("box.addEventListener('click', go);",)),
}  # fmt: skip


OPTIONS = "scan --metrics off --disable-version-check --no-git-ignore --json --config"


def semgrep() -> str:
    """Return the program; where ``make supply`` has not brought it, the test is left out."""
    found = ROOT / "build" / "supply" / "bin" / "semgrep"
    program = str(found) if found.exists() else shutil.which("semgrep")
    if program is None:
        pytest.skip("semgrep is not installed: make supply brings it")
    return program


def _suffix(rule: str) -> str:
    if "<" in PLANTED[rule][0][0] or "{%" in PLANTED[rule][0][0]:
        return ".html" if rule != "query-joined-from-pieces" else ".py"
    return (
        ".js"
        if rule in {"html-from-a-text", "text-run-as-a-script", "message-from-anywhere"}
        else ".py"
    )


def test_every_rule_has_samples_and_every_sample_a_rule() -> None:
    assert len(IDS) > 25
    assert set(PLANTED) == IDS


def test_each_rule_finds_what_is_planted_and_nothing_sound(tmp_path: Path) -> None:
    wanted, program = set(), semgrep()
    home = tmp_path / "sample"
    home.mkdir()
    for rule, (wrong, sound) in PLANTED.items():
        for kind, texts in (("wrong", wrong), ("sound", sound)):
            for at, text in enumerate(texts):
                name = f"{rule}-{kind}-{at}{_suffix(rule)}"
                (home / name).write_text(text + "\n", "utf-8")
                if kind == "wrong":
                    wanted.add((rule, name))
    done = subprocess.run(  # noqa: S603 - the program found above
        [program, *OPTIONS.split(), str(RULES), str(home)],
        check=False,
        capture_output=True,
        cwd=tmp_path,
    )
    output = json.loads(done.stdout)
    assert output["errors"] == []
    found = {
        (rule := each["check_id"].rpartition(".")[2], Path(each["path"]).name)
        for each in output["results"]
        if Path(each["path"]).name.startswith(each["check_id"].rpartition(".")[2])
    }
    assert wanted - found == set()
    assert found - wanted == set()
