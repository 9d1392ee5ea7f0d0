"""Hostile texts of our own making: each class of trouble, in each wrapping; the same ones every time."""

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


def texts() -> tuple[str, ...]:
    """Give every text, each once."""
    wrapped = [ending + payload for ending, payload in product(ENDINGS, PAYLOADS)]
    around = [f"goji{name}枸杞" for name in (*LETTERS, *CONTROLS)]
    return tuple(
        dict.fromkeys((*wrapped, *PAYLOADS, *ENDINGS[1:], *LETTERS, *CONTROLS, *NAMES, *around))
    )


def sample(start: int, count: int) -> list[str]:
    """Give some of them, others for each start; strides are coprime to their number."""
    every = texts()
    return [every[(start * 97 + at * 389) % len(every)] for at in range(count)]
