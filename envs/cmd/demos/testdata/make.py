"""Makes the files beside it by the libraries that define their layouts: python make.py FOLDER. Minari 0.5.4,
imitation 1.0.1 and datasets 5.2.0 made those that are kept; truth.json holds what went in."""
import json, os, shutil, sys
from unittest import mock
import gymnasium, minari, numpy as np

out = os.path.abspath(sys.argv[1])
os.environ["MINARI_DATASETS_PATH"] = os.path.join(out, "home")
env = minari.DataCollector(gymnasium.make("CartPole-v1", max_episode_steps=12))
truth = []
for seed in range(3):
    obs, _ = env.reset(seed=seed)
    t = {"observations": [obs.tolist()], "actions": [], "rewards": []}
    end = False
    while not end:
        action = len(t["actions"]) % 2 if seed else 1
        obs, reward, terminated, truncated, _ = env.step(action)
        t["observations"].append(obs.tolist()); t["actions"].append(action); t["rewards"].append(reward)
        end = terminated or truncated
    t.update(terminated=bool(terminated), truncated=bool(truncated))
    truth.append(t)
env.create_dataset("cartpole/three-v0")
shutil.move(os.path.join(out, "home", "cartpole", "three-v0"), os.path.join(out, "minari"))
shutil.rmtree(os.path.join(out, "home"))

import datasets  # looks for torch itself

for name in ["torch", "torch.utils", "torch.utils.data"]:  # which the writer names in annotations alone
    sys.modules[name] = mock.MagicMock()
sys.modules["torch.utils"].data.Dataset = type("Dataset", (), {})
from imitation.data import huggingface_utils, types

for name in ["torch", "torch.utils", "torch.utils.data"]:
    del sys.modules[name]
trajectories = [types.TrajectoryWithRew(obs=np.array(t["observations"], np.float32), acts=np.array(t["actions"]),
    infos=None, terminal=t["terminated"], rews=np.array(t["rewards"])) for t in truth]
dataset = huggingface_utils.trajectories_to_dataset(trajectories)
dataset.save_to_disk(os.path.join(out, "imitation"))  # as imitation.data.serialize.save does, which needs more
with open(os.path.join(out, "truth.json"), "w") as f:
    json.dump(truth, f)
