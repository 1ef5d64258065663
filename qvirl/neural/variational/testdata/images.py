"""The kernel of the image prior in plain NumPy, on frames of random play: an independent way to compute it.

    images.py ENVIRONMENT N M LEVELS PATCHES MOTION PYRAMID PIXELS OUT

writes an .npz file of different `states` [n, 4, 84, 84], random `actions` [n], the `lengthscales` used, and the
correlations `prior` [m, m] of the first m, and prints what the actions do.
"""

import sys

import ale_py
import gymnasium as gym
import numpy as np

environment, count, n, levels = sys.argv[1], *map(int, sys.argv[2:5])
weights = [float(x) for x in sys.argv[5:9]]

gym.register_envs(ale_py)
env = gym.make(environment, frameskip=1, repeat_action_probability=0.0)
meanings = env.unwrapped.get_action_meanings()
env = gym.wrappers.FrameStackObservation(gym.wrappers.AtariPreprocessing(env), 4)
rng = np.random.default_rng(3)
env.reset(seed=3)
states = {}
while len(states) < count:
    for _ in range(2):
        state, _, terminated, truncated, _ = env.step(rng.integers(len(meanings)))
        if terminated or truncated:
            env.reset()
    states[np.array(state).tobytes()] = np.array(state)
states, every = np.stack(list(states.values())), rng.integers(len(meanings), size=count)
states = states[rng.permutation(count)]

actions = every[:n]
images = states[:n].astype(np.float64) / 255
motion = images[:, 1:] - images[:, :-1]
corners = [(i, j) for i in range(0, 84 - 7, 4) for j in range(0, 84 - 7, 4)]
lengthscales = np.array([0.8, 0.6, 9.0])


def rbf(x, length):
    """exp(−‖x − x'‖²/2ℓ²) of all pairs of rows."""
    return np.exp(-0.5 * np.array([((x - row) ** 2).sum(-1) for row in x]) / length**2)


def patches(x, length):
    flat = [x[:, :, i : i + 8, j : j + 8].reshape(n, -1) for i, j in corners]
    return sum(rbf(p, length) for p in flat) / len(flat)


def pyramid(x):
    total = np.full((n, n), 1e-6)
    for level in range(levels):
        parts = 2**level
        edges = [k * 84 // parts for k in range(parts + 1)]
        bands = [slice(*ends) for ends in zip(edges, edges[1:])]
        means = np.stack([x[:, :, rows, columns].mean((2, 3)) for rows in bands for columns in bands], 1)
        means = means.reshape(n, -1)
        total += 2.0 ** (max(level, 1) - levels) * np.array([np.minimum(row, means).mean(1) for row in means])
    own = np.sqrt(np.diag(total))
    return total / own[:, None] / own[None, :]


words = ["UP", "RIGHT", "LEFT", "DOWN", "FIRE"]
features = np.array([[float(word in meanings[a]) for word in words] for a in actions])
alike = 0.9 * rbf(features, 1.0) + 0.1 * (actions[:, None] == actions[None, :])
whole = rbf(images.reshape(n, -1), lengthscales[2])
parts = [patches(images, lengthscales[0]), patches(motion, lengthscales[1]), pyramid(images), whole]
prior = alike * sum(weight * part for weight, part in zip(weights, parts))
np.savez(sys.argv[9], states=states, actions=every, lengthscales=lengthscales, prior=prior)
print(" ".join(meanings))
