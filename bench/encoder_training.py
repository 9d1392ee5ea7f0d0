"""Train the encoder of sentences on the arrays of ``sentence_encoder.py prepare``.

The loss is the angle to the vectors of multilingual-e5-small and of USE. Needs torch and NumPy
alone.

    python bench/encoder_training.py DATA.npz TRAINED.npz
"""

import sys
from typing import Any

import numpy as np
import torch  # noqa: TID253 - trained with it alone
from numpy.typing import NDArray
from torch import Tensor, nn  # noqa: TID253
from torch.nn import functional  # noqa: TID253
from typing_extensions import override

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WIDTH, INNER, LAYERS, HEADS, PIECES = 256, 512, 3, 4, 64
E5 = (384, 1536, 12, 12, 128)
EPOCHS = 45
BATCH = 512
RATE = 1e-3
WARM = 0.1  # of the steps
LOST = 0.03  # of the pieces, which are not shown
DROPOUT = 0.1


class Block(nn.Module):
    """A layer: attention and two linear maps, normalized before them or after them."""

    def __init__(self, width: int, inner: int, heads: int, before: bool, least: float) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.f1, self.f2 = nn.Linear(width, inner), nn.Linear(inner, width)
        self.n1, self.n2 = (nn.LayerNorm(width, eps=least) for _ in range(2))
        self.heads, self.before = heads, before
        self.lost = nn.Dropout(DROPOUT)

    def attend(self, rows: Tensor, shown: Tensor) -> Tensor:
        """Mix the pieces of each sentence."""
        batch, count, width = rows.shape
        query, key, value = (
            part(rows).view(batch, count, self.heads, -1).transpose(1, 2)
            for part in (self.q, self.k, self.v)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=shown)
        return self.lost(self.o(mixed.transpose(1, 2).reshape(batch, count, width)))  # type: ignore[no-any-return]

    def feed(self, rows: Tensor) -> Tensor:
        """Map each piece by itself."""
        bend = functional.relu if self.before else functional.gelu
        return self.lost(self.f2(bend(self.f1(rows))))  # type: ignore[no-any-return]

    @override
    def forward(self, rows: Tensor, shown: Tensor) -> Tensor:
        """Return the rows of the next layer."""
        if self.before:
            rows = rows + self.attend(self.n1(rows), shown)
            return rows + self.feed(self.n2(rows))
        rows = self.n1(rows + self.attend(rows, shown))
        return self.n2(rows + self.feed(rows))  # type: ignore[no-any-return]


class Encoder(nn.Module):
    """Pieces to one vector: the teacher, or the encoder that is trained."""

    def __init__(
        self, vocabulary: int, sizes: tuple[int, ...], *, before: bool, least: float = 1e-5
    ) -> None:
        super().__init__()
        width, inner, layers, heads, places = sizes
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(places, width)
        self.first, self.last = (nn.LayerNorm(width, eps=least) for _ in range(2))
        blocks = (Block(width, inner, heads, before, least) for _ in range(layers))
        self.blocks = nn.ModuleList(blocks)
        self.before, self.lost = before, nn.Dropout(DROPOUT)

    @override
    def forward(self, pieces: Tensor, lengths: Tensor) -> Tensor:
        """Return the mean of the last layer."""
        count = pieces.shape[1]
        there = torch.arange(count, device=DEVICE)[None] < lengths[:, None]
        rows = self.lost(self.first(self.words(pieces) + self.places.weight[:count]))
        for block in self.blocks:
            rows = block(rows, there[:, None, None, :])
        rows = self.last(rows) if self.before else rows
        return (rows * there[..., None]).sum(1) / lengths[:, None]  # type: ignore[no-any-return]


class Sentences:
    """The pieces of all sentences, on the device."""

    def __init__(self, flat: NDArray[Any], starts: NDArray[Any]) -> None:
        self.flat = torch.tensor(flat.astype(np.int64), device=DEVICE)
        self.starts = torch.tensor(starts.astype(np.int64), device=DEVICE)

    def batch(self, chosen: Tensor, lost: float = 0.0) -> tuple[Tensor, Tensor]:
        """Return the pieces of some sentences, a part of them hidden, and their numbers."""
        start = self.starts[chosen]
        lengths = self.starts[chosen + 1] - start
        at = start[:, None] + torch.arange(int(lengths.max()), device=DEVICE)[None]
        pieces = self.flat[at.clamp(max=len(self.flat) - 1)]
        if lost:
            hidden = torch.rand(pieces.shape, device=DEVICE) < lost
            pieces = pieces.masked_fill(hidden, 0)
        return pieces, lengths.float()


def unpack(packed: NDArray[Any], *shape: int) -> Tensor:
    """Return weights of four bits, 32 after each scale."""
    blocks = packed.reshape(-1, 18)
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    both = np.hstack([blocks[:, 2:] & 15, blocks[:, 2:] >> 4]).astype(np.float32)
    return torch.tensor(((both - 8) * scale).reshape(shape))


def teacher_of(data: Any) -> Encoder:
    """Return multilingual-e5-small with the pieces that are used."""
    width, inner, layers, _, places = E5
    words = unpack(data["e5.emb.word"], -1, width)
    place = data["e5.emb.pos"].reshape(-1, width)[:places]
    state = {
        "words.weight": words,
        "places.weight": torch.tensor(place + data["e5.emb.type"][:width]),
        "first.weight": torch.tensor(data["e5.emb.ln.w"]),
        "first.bias": torch.tensor(data["e5.emb.ln.b"]),
    }
    maps = {"q": "q", "k": "k", "v": "v", "o": "ao", "f1": "fi", "f2": "fo"}
    shapes = {"f1": (inner, width), "f2": (width, inner)}
    for layer in range(layers):
        block, old = f"blocks.{layer}", f"e5.l{layer}"
        for name, part in maps.items():
            shape = shapes.get(name, (width, width))
            state[f"{block}.{name}.weight"] = unpack(data[f"{old}.{part}.w"], *shape)
            state[f"{block}.{name}.bias"] = torch.tensor(data[f"{old}.{part}.b"])
        for name, part in (("n1", "aln"), ("n2", "oln")):
            state[f"{block}.{name}.weight"] = torch.tensor(data[f"{old}.{part}.w"])
            state[f"{block}.{name}.bias"] = torch.tensor(data[f"{old}.{part}.b"])
    teacher = Encoder(len(words), E5, before=False, least=1e-12)
    teacher.load_state_dict(state, strict=False)
    return teacher.to(DEVICE)


def vectors_of(encoder: Encoder, sentences: Sentences, chosen: Tensor) -> Tensor:
    """Return the vectors of some sentences, embedded by length."""
    encoder.eval()
    order = chosen[torch.argsort(sentences.starts[chosen + 1] - sentences.starts[chosen])]
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
        rows = [encoder(*sentences.batch(part)).float() for part in torch.split(order, 1024)]
    found = torch.zeros(len(sentences.starts), rows[0].shape[1], device=DEVICE)
    found[order] = torch.cat(rows)
    return found[chosen]


def angle(one: Tensor, other: Tensor) -> Tensor:
    """Return 1 less the mean cosine."""
    return (1 - functional.cosine_similarity(one, other)).mean()


def main() -> None:
    """Train and write the encoder."""
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    data = np.load(sys.argv[1])
    old = Sentences(data["old"], data["old.starts"])
    new = Sentences(data["new"], data["new.starts"])
    every = torch.arange(len(data["new.starts"]) - 1, device=DEVICE)
    target = vectors_of(teacher_of(data), old, every)
    target = functional.normalize(target - target.mean(0), dim=1)
    use = torch.tensor(data["use"].astype(np.float32), device=DEVICE)
    place = torch.full((len(every),), -1, device=DEVICE)
    place[torch.tensor(data["use.at"].astype(np.int64))] = torch.arange(len(use), device=DEVICE)

    first = torch.tensor(data["static"].astype(np.float32), device=DEVICE)
    encoder = Encoder(len(first), (WIDTH, INNER, LAYERS, HEADS, PIECES), before=True).to(DEVICE)
    with torch.no_grad():
        encoder.words.weight.copy_(first / first.std())
        encoder.places.weight.mul_(0.1)
    width = target.shape[1]
    onto = nn.Linear(WIDTH, width + use.shape[1]).to(DEVICE)
    steps = EPOCHS * len(every) // BATCH
    parameters = [*encoder.parameters(), *onto.parameters()]
    descent = torch.optim.AdamW(parameters, RATE, weight_decay=0.01, betas=(0.9, 0.98))
    plan = torch.optim.lr_scheduler.LambdaLR(
        descent,
        lambda step: min(
            (step + 1) / (WARM * steps + 1), max(0.02, (steps - step) / (steps * (1 - WARM)))
        ),
    )
    encoder.train()
    for step in range(steps):
        chosen = torch.randint(len(every), (BATCH,), device=DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16):
            got = onto(encoder(*new.batch(chosen, LOST)))
            at = place[chosen]
            loss = angle(got[:, :width], target[chosen])
            loss = loss + angle(got[at >= 0, width:], use[at[at >= 0]])
        descent.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        descent.step()
        plan.step()
        if step % 500 == 0:
            print(step, steps, f"{loss.item():.4f}", flush=True)
    results = {name: value.half().cpu().numpy() for name, value in encoder.state_dict().items()}
    utterances = every[: int(data["utterances"])]
    centre = vectors_of(encoder, new, utterances).mean(0).cpu().numpy()
    np.savez(sys.argv[2], allow_pickle=False, centre=centre, **results)


if __name__ == "__main__":
    main()
