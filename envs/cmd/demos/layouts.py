"""Writes demonstrations of Minari, or of a datasets folder of imitation, as an .npz file in the flat layout.

Arguments: FROM TO. On standard output goes what the source says of itself, as JSON.
"""

import glob
import json
import os
import sys


def fail(text):
    sys.exit(text)


def need(module):
    try:
        return __import__(module, fromlist=["_"])
    except ImportError:
        fail(f"{sys.executable} lacks {module.split('.')[0]}: install it there, or name another interpreter by "
             "--python")


def minari(path):
    """Yields the episodes of a data set of Minari: its folder, or its main_data.hdf5."""
    if os.path.isdir(path):
        path = os.path.join(path, "data", "main_data.hdf5")
    about, start = os.path.join(os.path.dirname(path), "metadata.json"), 0  # actions count from 0 in the flat layout
    if os.path.exists(about):
        with open(about) as f:
            metadata = json.load(f)
        if metadata.get("env_spec"):
            described["environment"] = json.loads(metadata["env_spec"])["id"]
        space = json.loads(metadata.get("action_space") or "{}")
        if space.get("type") == "Discrete":
            described["actions"], start = space["n"], space.get("start", 0)
    h5py = need("h5py")
    with h5py.File(path) as f:
        names = sorted((n for n in f if n.startswith("episode_")), key=lambda n: int(n[len("episode_"):]))
        if not names:
            fail("it holds no groups episode_0, episode_1, ...")
        for name in names:
            e = f[name]
            for part in ("observations", "actions"):
                if part not in e:
                    fail(f"{name}/{part} is missing")
                if not isinstance(e.get(part), h5py.Dataset):
                    fail(f"{name}/{part} is no array: spaces of several parts are not read; flatten them first")
            seed = e.attrs.get("seed")
            known = isinstance(seed, (int, np.integer)) and 0 <= seed <= 2**53
            rewards = e["rewards"][:] if "rewards" in e else None
            yield (e["observations"][:], e["actions"][:] - start, rewards, e["terminations"][-1], e["truncations"][-1],
                   int(seed) if known else -1)


def parts(folder):
    """The .arrow files of a folder of datasets: those that it names, as others beside them are its caches."""
    state, named = os.path.join(folder, "state.json"), None
    if os.path.exists(state):
        with open(state) as f:
            named = json.load(f).get("_data_files")
    if named:
        return [os.path.join(folder, part["filename"]) for part in named]
    return sorted(glob.glob(os.path.join(glob.escape(folder), "*.arrow")))


def imitation(path):
    """Yields the episodes of the library imitation as datasets stores them: a folder, an .arrow or a .parquet file."""
    arrow = need("pyarrow")
    if path.endswith(".parquet"):
        tables = [need("pyarrow.parquet").read_table(path)]
    else:
        files = parts(path) if os.path.isdir(path) else [path]
        tables = [need("pyarrow.ipc").open_stream(arrow.memory_map(p)).read_all() for p in files]
    for table in tables:
        lacking = {"obs", "acts", "terminal"} - set(table.column_names)
        if lacking:
            fail(f"it has the columns {table.column_names}, and lacks {sorted(lacking)}")
        kind = table.schema.field("obs").type  # lists of lists of … numbers, whose type tells pictures
        while hasattr(kind, "value_type"):
            kind = kind.value_type
        for row in table.select([c for c in table.column_names if c != "infos"]).to_pylist():
            obs = np.array(row["obs"], kind.to_pandas_dtype())
            yield obs, np.array(row["acts"]), row.get("rews"), row["terminal"], False, -1


np = need("numpy")
described = {}
source, target = sys.argv[1:]
folder = os.path.isdir(source)
hdf5 = source.endswith((".hdf5", ".h5")) or folder and os.path.exists(os.path.join(source, "data", "main_data.hdf5"))
columns = {name: [] for name in ("obs", "action", "next_obs", "episode", "terminated", "truncated", "seed", "reward")}
rewarded = True
for number, (obs, acts, rews, terminated, truncated, seed) in enumerate((minari if hdf5 else imitation)(source)):
    n = len(acts)
    if acts.ndim != 1 or acts.dtype.kind not in "iu":
        fail(f"episode {number} has actions of shape {acts.shape[1:]} and type {acts.dtype}; "
             "only discrete actions are read")
    if n == 0 or len(obs) != n + 1:
        fail(f"episode {number} has {len(obs)} observations and {n} actions, want one observation more, and an action")
    last = np.arange(n) == n - 1
    columns["obs"].append(obs[:-1])
    columns["next_obs"].append(obs[1:])
    columns["action"].append(acts)
    columns["episode"].append(np.full(n, number))
    columns["terminated"].append(last & bool(terminated))
    columns["truncated"].append(last & bool(truncated))
    columns["seed"].append(np.full(n, seed))
    rewarded = rewarded and rews is not None
    if rewarded:
        columns["reward"].append(np.asarray(rews, dtype=np.float64))
if not columns["obs"]:
    about, splits = os.path.join(source, "data", "metadata.json"), os.path.join(source, "dataset_dict.json")
    if os.path.exists(about):
        with open(about) as f:
            if json.load(f).get("data_format") == "arrow":
                fail("it is stored in Minari's arrow format, of which only hdf5 is read: make it with "
                     'data_format="hdf5"')
    if os.path.exists(splits):
        with open(splits) as f:
            fail(f"it has the splits {', '.join(json.load(f)['splits'])}: convert the folder of one of them")
    fail("it holds no episodes, neither in data/main_data.hdf5, as of Minari, nor in .arrow files, as of imitation")
if not rewarded:
    del columns["reward"]
np.savez(target, **{name: np.concatenate(parts) for name, parts in columns.items()})
json.dump(described, sys.stdout)
