"""Writes the files of labelled points beside this script, as users' programs write them.

Needs numpy, pyarrow and polars:  python write.py
"""

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

folder = Path(__file__).parent
# Five rows of two y, one x and a label; every number is exact in single precision.
y = np.array([[0.5, -1.0], [2.0, 0.25], [-3.5, 4.0], [0.0, 8.0], [1.0, -0.125]])
x = np.array([[10.0], [20.0], [-30.0], [40.0], [50.0]])
label = np.array([1, 0, 1, 0, 0])

np.savez(folder / "plain.npz", y=y, x=x, label=label)
np.savez_compressed(folder / "compressed.npz", y=y.astype(np.float32), x=x.astype(np.int16), label=label.astype(bool))
np.savez(folder / "fortran.npz", y=np.asfortranarray(y.astype(">f8")), x=x[:, 0], label=(2 * label - 1).astype(np.int8)[:, None])
np.savez(folder / "joined.npz", X_all=np.hstack([x, y]).astype(np.float32), feasible_mask=label.astype(bool))
np.savez(folder / "nan.npz", y=np.where(y == 4.0, np.nan, y), label=label)

columns = {"y0": y[:, 0], "note": ["a", "b", "c", "d", "e"], "y1": y[:, 1].astype(np.float32), "x0": x[:, 0].astype(np.int64), "label": label.astype(bool)}
table = pa.table(columns)
for compression in ["snappy", "zstd", "none"]:
    pq.write_table(table, folder / f"arrow-{compression}.parquet", compression=compression, row_group_size=2)
pl.DataFrame({**columns, "label": label.astype(np.int8)}).write_parquet(folder / "polars.parquet")
nulls = {**columns, "y0": [0.5, 2.0, None, 0.0, 1.0]}
pq.write_table(pa.table(nulls), folder / "null.parquet")
