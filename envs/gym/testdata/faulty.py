"""Environments that go wrong, for the bridge's tests."""

import os
import sys
import time

import gymnasium
import numpy as np


class Faulty(gymnasium.Env):
    """Counts its steps, and does on step `at` what `fault` says."""

    def __init__(self, fault="", at=3, start=0, shape=(2,), length=1000, dtype="float32"):
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, tuple(shape), np.dtype(dtype))
        self.action_space = gymnasium.spaces.Discrete(3, start=start)
        self.fault, self.at, self.length = fault, at, length
        self.episodes = 0
        if fault == "constructor":
            raise ValueError("this constructor never succeeds")

    def observe(self):
        return np.full(self.observation_space.shape, self.count, self.observation_space.dtype)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        self.episodes += 1
        if self.fault == "reset":
            raise ValueError("this reset never succeeds")
        return self.observe() if self.fault == "bare reset" else (self.observe(), {})

    def step(self, action):
        assert self.action_space.contains(action)
        self.count += 1
        if self.fault == "hang in the second episode" and self.episodes == 2 and self.count == 2:
            time.sleep(3600)
        observation, reward = self.observe(), float(action)
        if self.fault == "array reward":
            reward = np.array([reward])
        if self.count == self.at:
            if self.fault == "raise":
                raise ZeroDivisionError("the wheel came off")
            elif self.fault == "hang":
                time.sleep(3600)
            elif self.fault == "exit":
                sys.stderr.write("last words\n")
                sys.stderr.flush()
                os._exit(7)
            elif self.fault == "exit once" and not os.path.exists(os.environ["ONCE_FILE"]):
                open(os.environ["ONCE_FILE"], "w").close()
                os._exit(7)
            elif self.fault == "nan":
                observation[1] = np.nan
            elif self.fault == "nan reward":
                reward = np.nan
            elif self.fault == "vector reward":
                reward = np.zeros(2)
            elif self.fault == "infinite reward":
                reward = np.inf
            elif self.fault == "infinite observation":
                observation[1] = -np.inf
            elif self.fault == "shape":
                observation = np.zeros(7, np.float32)
            elif self.fault == "four":
                return observation, reward, False, {}
            elif self.fault == "print":
                print("garbage " * 5000, flush=True)
                os.write(1, b"more garbage" * 1000)
                os.system("echo and more from a child")
            elif self.fault == "child":
                os.system("sleep 3600 & echo $! > " + os.environ["CHILD_FILE"])
            elif self.fault == "random":
                observation[0] = int.from_bytes(os.urandom(2), "little")
        return observation, reward, self.count % self.length == 0, False, {}


class Odd(Faulty):
    """Has no spaces that the bridge supports."""

    def __init__(self):
        super().__init__()
        self.action_space = gymnasium.spaces.Box(-1, 1, (2,))


gymnasium.register("Faulty-v0", Faulty)
gymnasium.register("Odd-v0", Odd)
