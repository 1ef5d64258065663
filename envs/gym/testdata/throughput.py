"""The loop of the bridge's benchmark in plain Python.

For each line of input, a turn, it prints how many nanoseconds a batch took.
"""

import importlib
import json
import sys
import time

import gymnasium
import numpy as np

config, batches = json.loads(sys.argv[1]), int(sys.argv[2])
for name in config["imports"]:
    importlib.import_module(name)


def make():
    env = gymnasium.make(config["id"], disable_env_checker=True, **config["options"])
    for wrapper in config["wrappers"]:
        module, _, name = wrapper["class"].partition(":")
        env = getattr(importlib.import_module(module), name)(env, **wrapper["options"])
    return env


n = config["count"]
envs = [make() for _ in range(n)]
space = envs[0].observation_space
observations = np.empty((n,) + space.shape, space.dtype)
rewards, terminated, truncated = np.zeros(n), np.zeros(n, bool), np.zeros(n, bool)
for i, env in enumerate(envs):
    observations[i] = env.reset(seed=100 + i)[0]
actions = np.random.default_rng(7).integers(envs[0].action_space.n, size=(batches, n)).tolist()
for _ in sys.stdin:
    start = time.perf_counter()
    for row in actions:
        for i in range(n):
            observation, rewards[i], terminated[i], truncated[i], _ = envs[i].step(row[i])
            if terminated[i] or truncated[i]:
                observation, _ = envs[i].reset()
            observations[i] = observation
    print(int((time.perf_counter() - start) * 1e9 / batches), flush=True)
