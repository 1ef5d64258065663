"""A training step of a classifier of images in PyTorch (eager) or JAX (jitted): the peer of the benchmark, and an
independent way to compute the loss.

    images.py check torch|jax WEIGHTS BATCH    prints the loss of a batch with a stored model's weights, two .npz files
    images.py time torch|jax STEPS THREADS     for each line of input, a turn, prints how many nanoseconds a step took

The network is that of Mnih et al. (2015) before two layers of 128 ELUs, for stacks of four images of 84 × 84 and six
actions; the loss is the mean cross-entropy of 128 of them.
"""

import math
import sys

import turns

mode, library = sys.argv[1], sys.argv[2]
if mode == "time":
    turns.set_threads(int(sys.argv[4]))

import numpy as np

ACTIONS, BATCH = 6, 128
STRIDES = [4, 2, 1]

if library == "torch":
    import torch

    functions = torch.nn.functional
    relu, elu = functions.relu, functions.elu
    array = lambda x: torch.tensor(np.asarray(x))

    def convolutions(p, x):
        x = x.to(torch.float32) / 255
        for i, stride in enumerate(STRIDES):
            filters = p[f"policy.convolution{i}"].permute(3, 2, 0, 1)
            x = relu(functions.conv2d(x, filters, p[f"policy.bias.convolution{i}"], stride=stride))
        return x.permute(0, 2, 3, 1).flatten(1)

    def cross_entropy(logits, actions):
        return functions.cross_entropy(logits, actions)

else:
    import jax
    import jax.numpy as jnp

    relu, elu, array = jax.nn.relu, jax.nn.elu, jnp.asarray

    def convolutions(p, x):
        x = x.transpose(0, 2, 3, 1).astype(jnp.float32) / 255
        for i, stride in enumerate(STRIDES):
            x = jax.lax.conv_general_dilated(x, p[f"policy.convolution{i}"], (stride, stride), "VALID",
                                             dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = relu(x + p[f"policy.bias.convolution{i}"])
        return x.reshape(len(x), -1)

    def cross_entropy(logits, actions):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], 1))


def loss(p, images, actions):
    x = relu(convolutions(p, images) @ p["policy.features"] + p["policy.bias.features"])
    for i in range(2):
        x = elu(x @ p[f"policy.weight{i}"] + p[f"policy.bias{i}"])
    return cross_entropy(x @ p["policy.weight"] + p["policy.bias"], actions)


if mode == "check":
    weights, file = np.load(sys.argv[3]), np.load(sys.argv[4])
    p = {name: array(weights[name].astype("f4")) for name in weights.files if name.startswith("policy.")}
    print(float(loss(p, array(file["images"]), array(file["actions"]))))
    sys.exit()

rng = np.random.default_rng(1)
layers = {"convolution0": (8, 8, 4, 32), "convolution1": (4, 4, 32, 64), "convolution2": (3, 3, 64, 64),
          "features": (3136, 512), "weight0": (512, 128), "weight1": (128, 128), "weight": (128, ACTIONS)}
p = {}
for name, size in layers.items():
    limit = 1 / math.sqrt(math.prod(size[:-1]))
    p["policy." + name] = rng.uniform(-limit, limit, size).astype("f4")
    p["policy." + f"bias.{name}".replace("bias.weight", "bias")] = rng.uniform(-limit, limit, size[-1]).astype("f4")
batches = [(rng.integers(256, size=(BATCH, 4, 84, 84), dtype=np.uint8), rng.integers(ACTIONS, size=BATCH))
           for _ in range(8)]
turns.take_turns(library, loss, p, batches, int(sys.argv[3]))
