import subprocess
import sys

import torch
from torch import nn

from cosyvoice_web.engines.cosyvoice.layers.assembly import assemble


def build() -> nn.Module:
    return nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3), nn.LayerNorm(3), nn.Conv1d(3, 3, 3))


def test_the_network_holds_the_tensors_of_the_state() -> None:
    state = {name: tensor.detach() for name, tensor in build().state_dict().items()}
    network = assemble(build, state)
    assert not network.training
    for name, parameter in network.named_parameters():
        assert parameter.data_ptr() == state[name].data_ptr()
        assert not parameter.requires_grad


def test_initialisers_work_again_afterwards() -> None:
    assemble(build, build().state_dict())
    weights = torch.empty(50)
    nn.init.ones_(weights)
    assert torch.equal(weights, torch.ones(50))


def test_no_compiler_is_imported() -> None:
    code = (
        "import sys; from tests.engines.cosyvoice.layers.test_assembly import build, assemble;"
        "state = build().state_dict(); assemble(build, state);"
        "print(sorted({'torch._dynamo', 'torch._inductor', 'sympy'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
