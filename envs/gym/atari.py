# Part of the worker: Atari games as seen in the console's memory.

FRAME_SKIP, MOST_NOOPS = 4, 30  # as Gymnasium's AtariPreprocessing has them


def atari_memory(env, addresses, changes, pairs, bits):
    """Shows bytes of the console's memory where AtariPreprocessing shows the screen of the same episode.

    An observation holds each byte over 255, then by how much it has changed in the last step and in those before it, where no byte
    changes before an episode's first step, then the differences of pairs of bytes, and at last the bits of each byte of a list. Changes
    and differences are in units of 16 and at most 1.
    """
    import gymnasium

    n, (left, right) = len(addresses), np.array(pairs, int).reshape(-1, 2).T

    class AtariMemory(gymnasium.Wrapper):
        def __init__(self):
            super().__init__(env)
            self.observation_space = gymnasium.spaces.Box(-1, 1, ((1 + changes) * n + len(pairs) + 8 * len(bits),), np.float32)
            self.seen = np.empty((1 + changes, n), np.int16)  # the last step's first

        def observe(self):
            self.seen[1:] = self.seen[:-1]
            memory = self.unwrapped.ale.getRAM()
            self.seen[0] = memory[addresses]
            steps = (self.seen[:-1] - self.seen[1:] + 128) % 256 - 128  # a byte that runs over has changed by little
            near = np.concatenate([steps.ravel(), memory[left].astype(np.int16) - memory[right]])
            return np.concatenate([self.seen[0] / 255, np.clip(near / 16, -1, 1), np.unpackbits(memory[bits])]).astype(np.float32)

        def byte(self, observation, address, change=None):
            """What an observation shows of a byte, or of its change so many steps ago from 1."""
            at = addresses.index(address)
            return 255 * observation[at] if change is None else 16 * observation[change * n + at]

        def reset(self, *, seed=None, options=None):
            _, info = self.env.reset(seed=seed, options=options)
            for _ in range(self.unwrapped.np_random.integers(1, MOST_NOOPS + 1)):
                _, _, ended, cut, info = self.env.step(0)
                if ended or cut:
                    _, info = self.env.reset(seed=seed, options=options)
            self.seen[:] = self.unwrapped.ale.getRAM()[addresses]
            return self.observe(), info

        def step(self, action):
            total = 0.0
            for _ in range(FRAME_SKIP):
                _, reward, ended, cut, info = self.env.step(action)
                total += reward
                if ended or cut:
                    break
            return self.observe(), total, ended, cut, info

    return AtariMemory()


def chance(observation):
    """A number at random that follows from the observation."""
    import zlib

    return zlib.crc32(observation.tobytes())


def pong_pilot(env, observation):
    """Follows Pong's ball with the paddle, but for one step in ten."""
    luck, memory = chance(observation), env.get_wrapper_attr("byte")
    if luck % 10 == 0:
        return luck // 10 % 6
    above = memory(observation, 54) + memory(observation, 54, 1) - memory(observation, 51) - 4
    still, up, down = (0, 1), (2, 4), (3, 5)  # each with and without fire, which is the same in a rally
    return (still if abs(above) <= 4 else down if above > 0 else up)[luck // 10 % 2]


def invaders_pilot(env, observation):
    """Fires, and gets out of the way of the two bombs, but for one step in twenty."""
    luck, memory = chance(observation), env.get_wrapper_attr("byte")
    if luck % 20 == 0:
        return luck // 20 % 6
    place, push = memory(observation, 28), 0
    for height, bomb in (81, 83), (82, 84):
        aside = memory(observation, bomb) - place - 4
        if 78 <= memory(observation, height) <= 112 and abs(aside) <= 6:
            push += -1 if aside >= 0 else 1
    if place <= 40 and push < 0 or place >= 110 and push > 0:  # the walls
        push = -push
    return 4 if push > 0 else 5 if push < 0 else 1


