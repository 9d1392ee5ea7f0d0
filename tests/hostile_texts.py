"""Hostile texts of our own making: each class of trouble, in each wrapping; the same ones every time."""

from functools import cache
from itertools import product

ENDINGS = (
    "", "'", '"', "'''", '"""', "\\", "\\'", '\\"', "}", "} }", ")", ">", "> }", ".", " .", "^^", "@en",
    "-->", "]]>", "*/", "%>", "}}", "%}", "\n", "\r\n", "\t", " ;", "#",
)  # fmt: skip
PAYLOADS = (
    "DROP ALL", "CLEAR DEFAULT", "INSERT DATA { <urn:x> <urn:x> <urn:x> }", "UNION { ?s ?p ?o }",
    "SERVICE <http://127.0.0.1:9/> { ?s ?p ?o }", "LOAD <file:///etc/passwd>", "} DELETE WHERE { ?s ?p ?o",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>",
    "<a href=javascript:alert(1)>x</a>", "<iframe srcdoc='<script>alert(1)</script>'>",
    "[x](javascript:alert(1))", "![x](x onerror=alert(1))", "<details open ontoggle=alert(1)>",
    "<math><mtext></mtext><style><img src onerror=alert(1)>", "{{ 7 * 7 }}", "{% import os %}", "${7*7}",
    "%s%s%n", "{0.__class__}", "$(id)", "`id`", "; rm -rf /", "| cat /etc/passwd", "../../etc/passwd",
    "..%2f..%2fetc", "=cmd|' /C calc'!A0", "@SUM(1+1)", "1 OR 1=1", "' OR '1'='1", "null", "undefined",
    "NaN", "-0", "1e400", "0x7fffffff", "9" * 60, "true", "[]", "{}", "Location: https://evil.example/",
)  # fmt: skip
LETTERS = (
    "\u202e右到左", "\u200b\u200c\u200d零宽", "é e\u0301", "ﷺ﷽", "𝒯𝑒𝓍𝓉", "👩‍👩‍👧‍👦", "ı İ ß ſ", "ＦＵＬＬ", "Ω≈ç√∫", "田中さん",
    "사회과학원", "Ṱ̺̺̕o͞ ̷i̲̬͇̪n̝̗v̟̜o̶̙̰k̨e̛", "\ufeff字节序", "\u2028行\u2029段", "\u0600\u06dd", "\ufffd", "\uffff", "\ue000",
    "\U0010fffd", "a" * 1500, "枸杞\u00a0子", "\u061c\u2066x\u2069", "a\u0300" * 200, "ق" * 99,
)  # fmt: skip
CONTROLS = ("\x00", "\x01", "\x07", "\x08", "\x0b", "\x0c", "\x1b[31m", "\x7f", "\x85", "\x9f")
NAMES = (
    "CON", "NUL.txt", ".", "..", "~", "-rf", "--help", "a/b", "a\\b", "a:b", "*", "?", "|", "x.ttl.exe",
    "javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:x", "//evil.example",
    "/\\evil.example", "https:evil.example", "file:///etc/passwd", "http://169.254.169.254/", "urn:x:<>",
)  # fmt: skip


ELEMENTS = (
    "img", "svg", "body", "video", "audio", "iframe", "object", "embed", "details", "marquee", "input", "form", "select",
    "textarea", "style", "link", "meta", "base", "math", "table", "a", "button", "template", "noscript", "xss",
)  # fmt: skip
EVENTS = (
    "onerror", "onload", "onclick", "onmouseover", "onfocus", "ontoggle", "onstart", "onpointerenter", "onanimationend",
    "onbegin", "OnErRoR", "on\nerror", "on\x00load",
)  # fmt: skip
WRITTEN = (
    "<{0} {1}=alert(1)>", '<{0} src=x {1}="alert(1)">', "<{0}/{1}='alert(1)'/>", '"><{0} {1}=alert`1`>', "'><{0}\t{1}=alert(1) x=",
    "</title><{0} {1}=alert(1)>", "</script><{0} {1}=alert(1)//", "--><{0} {1}=alert(1)>", "]]><{0} {1}=alert(1)>",
    "＜{0} {1}=alert(1)＞", "&lt;{0} {1}=alert(1)&gt;", "%3C{0}%20{1}=alert(1)%3E", "+ADw-{0} {1}=alert(1)+AD4-",
    "<<{0} {1}=alert(1)//<", "<{0} {1}=&#97;lert(1)>", "<{0} {1}=\\u0061lert(1)>", "` {1}=alert(1) <{0}", "\u2028<{0} {1}=alert(1)>",
)  # fmt: skip
BROKEN = ("%s", "[x]", "a>b", "x y")  # with one of our namespaces in front no IRI
PLACES = ("https://w3id.org/shiyi/id/", "https://w3id.org/shiyi/vocab#", "http://e.org/", "urn:x:")


@cache
def texts() -> tuple[str, ...]:
    """Give every text, each once."""
    wrapped = [ending + payload for ending, payload in product(ENDINGS, PAYLOADS)]
    around = [f"goji{name}枸杞" for name in (*LETTERS, *CONTROLS)]
    named = [place + payload for place, payload in product(PLACES, (*PAYLOADS, *ENDINGS))]
    marked = [each.format(*pair) for each in WRITTEN for pair in product(ELEMENTS, EVENTS)]
    return tuple(dict.fromkeys((
        *wrapped, *PAYLOADS, *ENDINGS[1:], *LETTERS, *CONTROLS, *NAMES, *around, *named, *marked, *BROKEN,
    )))  # fmt: skip


def sample(start: int, count: int) -> list[str]:
    """Give some of them, others for each start; strides are coprime to their number."""
    every = texts()
    return [every[(start * 97 + at * 2389) % len(every)] for at in range(count)]
