"""Steps environments without the bridge: the reference of its tests.

Reads a config and actions, writes all that a step gives.
"""

import importlib
import json
import sys

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

config, actions_file, out = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
for name in config["imports"]:
    importlib.import_module(name)


def make():
    env = gymnasium.make(config["id"], **config["options"])
    for wrapper in config["wrappers"]:
        module, _, name = wrapper["class"].partition(":")
        env = getattr(importlib.import_module(module), name)(env, **wrapper["options"])
    return env


n = len(config["seeds"])
envs = SyncVectorEnv([make] * n, autoreset_mode=AutoresetMode.SAME_STEP)
actions = np.fromfile(actions_file, "<i8").reshape(-1, n)
observation, _ = envs.reset(seed=config["seeds"])
with open(out, "wb") as f:
    f.write(observation.tobytes())
    for a in actions:
        observation, reward, terminated, truncated, info = envs.step(a)
        f.write(reward.astype("<f8").tobytes() + terminated.tobytes() + truncated.tobytes() + observation.tobytes())
        for i in np.flatnonzero(terminated | truncated):
            f.write(info["final_obs"][i].tobytes())
