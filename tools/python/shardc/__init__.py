"""shardc from Python: exports PyTorch modules, compiles them into sharded trainers, runs these.

    loss = "cross-entropy:logits=logits,labels=labels"
    trainer = shardc.compile(module, inputs, mesh=2, loss=loss)
    run = trainer.run({"x": x, "labels": y}, steps=100, lr=1e-3)
    trainer.load_into(module)
"""
from shardc.programs import Error
from shardc.training import Run, Trainer, compile, load_into

__all__ = ["Error", "Run", "Trainer", "compile", "load_into"]
