"""What models of Hugging Face are trained for: inputs, outputs and losses by task."""
import dataclasses
import re

from shardc.programs import Error

BATCH, SEQUENCE, TARGET, CHOICES = "batch", "sequence", "target", "choices"
# Of the example that is traced; sizes that no config has by chance, so that none is taken for one.
SIZES = {BATCH: 3, SEQUENCE: 18, TARGET: 14, CHOICES: 7}


@dataclasses.dataclass(frozen=True)
class Task:
    auto: str  # transformers' class that reads a folder
    inputs: dict  # {name: (kind, dims)}
    outputs: tuple
    loss: str  # shardc's flag
    labels: tuple = ("labels",)  # names of what the loss reads beside the graph
    by_problem: bool = False  # whether config.json's problem_type says which loss it is
    # (what forward gives, inputs that are labels) -> loss, in place of the model's own.
    loss_of: object = None


def loss_of_answers(result, start_positions, end_positions):
    """The mean of the cross entropies of begin and end. Transformers ignores positions behind the
    sequence by its length, which is a dim here, and no attribute of a node can be one."""
    import torch

    losses = []
    for logits, positions in (
        (result.start_logits, start_positions),
        (result.end_logits, end_positions),
    ):
        positions = positions.clamp(min=0)
        labels = torch.where(positions < logits.shape[1], positions, -100)
        losses.append(torch.nn.functional.cross_entropy(logits, labels, ignore_index=-100))
    return sum(losses) / 2


IDS = ("ids", (BATCH, SEQUENCE))
MASK = ("mask", (BATCH, SEQUENCE))
CLASSES = "cross-entropy:logits=logits,labels=labels"
TASKS = {
    "causal-lm": Task(
        "AutoModelForCausalLM", {"input_ids": IDS}, ("logits",), CLASSES + ",shift=1"
    ),
    "masked-lm": Task(
        "AutoModelForMaskedLM", {"input_ids": IDS, "attention_mask": MASK}, ("logits",), CLASSES
    ),
    "seq2seq-lm": Task(
        "AutoModelForSeq2SeqLM",
        {
            "input_ids": IDS,
            "attention_mask": MASK,
            "decoder_input_ids": ("ids", (BATCH, TARGET)),
        },
        ("logits",),
        CLASSES,
    ),
    "classification": Task(
        "AutoModelForSequenceClassification",
        {"input_ids": IDS, "attention_mask": MASK},
        ("logits",),
        CLASSES,
        by_problem=True,
    ),
    "token-classification": Task(
        "AutoModelForTokenClassification",
        {"input_ids": IDS, "attention_mask": MASK},
        ("logits",),
        CLASSES,
    ),
    "question-answering": Task(
        "AutoModelForQuestionAnswering",
        {
            "input_ids": IDS,
            "attention_mask": MASK,
            "start_positions": ("position", (BATCH,)),
            "end_positions": ("position", (BATCH,)),
        },
        ("loss", "start_logits", "end_logits"),
        "output:loss",
        labels=(),
        loss_of=loss_of_answers,
    ),
    "multiple-choice": Task(
        "AutoModelForMultipleChoice",
        {
            "input_ids": ("ids", (BATCH, CHOICES, SEQUENCE)),
            "attention_mask": ("mask", (BATCH, CHOICES, SEQUENCE)),
        },
        ("logits",),
        CLASSES,
    ),
    "image-classification": Task(
        "AutoModelForImageClassification",
        {"pixel_values": ("image", ())},
        ("logits",),
        CLASSES,
        by_problem=True,
    ),
    "audio-classification": Task(
        "AutoModelForAudioClassification", {"input_values": ("sound", ())}, ("logits",), CLASSES
    ),
    "speech-to-text": Task(
        "AutoModelForSpeechSeq2Seq",
        {"input_features": ("features", ()), "decoder_input_ids": ("ids", (BATCH, TARGET))},
        ("logits",),
        CLASSES,
    ),
}
# How transformers calls its classes, the first that is found.
CLASS_NAMES = (
    ("^(Whisper|Speech2Text)ForConditional", "speech-to-text"),
    (
        "^(Wav2Vec2|Hubert|WavLM|Data2VecAudio|UniSpeech|ASTF|SEW).*Classification",
        "audio-classification",
    ),
    ("ForCausalLM|LMHeadModel$|DoubleHeads", "causal-lm"),
    ("ForMaskedLM", "masked-lm"),
    ("ForConditionalGeneration|MTModel$|ForSeq2SeqLM", "seq2seq-lm"),
    ("ForSequenceClassification", "classification"),
    ("ForTokenClassification", "token-classification"),
    ("ForQuestionAnswering", "question-answering"),
    ("ForMultipleChoice", "multiple-choice"),
    ("ForImageClassification", "image-classification"),
)


def of_config(config, folder):
    """The task of the class that config.json names."""
    names = config.architectures or []
    for name in names:
        for pattern, task in CLASS_NAMES:
            if re.search(pattern, name):
                return task
    said = f"its config.json names {', '.join(names)}" if names else "its config.json names none"
    raise Error(f"{folder}: what is it trained for? {said}; give --task {'|'.join(TASKS)}")


def of_problem(task, config):
    """The task, with the loss of the config's problem_type as transformers reads it."""
    problem = config.problem_type or ("regression" if config.num_labels == 1 else None)
    if task.by_problem and problem == "regression":
        return dataclasses.replace(task, loss="mse:output=logits,target=labels")
    if task.by_problem and problem == "multi_label_classification":
        return dataclasses.replace(task, loss="binary-cross-entropy:logits=logits,target=labels")
    return task


def image_shape(config):
    side = getattr(config, "image_size", None) or 224
    height, width = side if isinstance(side, (list, tuple)) else (side, side)
    return getattr(config, "num_channels", 3), height, width


# Of a sample that is no sequence of ids: an image, a second of sound, a spectrogram.
SHAPES = {
    "image": image_shape,
    "sound": lambda config: (16000,),
    "features": lambda config: (config.num_mel_bins, 2 * config.max_source_positions),
}


def example(task, config, mask):
    """({input: tensor}, {input: {axis: dim}}) for a model of this config."""
    import torch

    draw = torch.Generator().manual_seed(1)
    inputs, dims = {}, {}
    text = getattr(config, "get_text_config", lambda: config)()
    for name, (kind, axes) in task.inputs.items():
        if kind == "mask" and mask is False:
            continue
        shape = [SIZES[axis] for axis in axes]
        if kind == "ids":
            inputs[name] = torch.randint(text.vocab_size, shape, generator=draw)
        elif kind == "mask":
            inputs[name] = torch.ones(shape, dtype=torch.int64)
        elif kind == "position":
            inputs[name] = torch.randint(SIZES[SEQUENCE], shape, generator=draw)
        else:
            shape = (SIZES[BATCH], *SHAPES[kind](config))
            inputs[name] = torch.randn(shape, generator=draw)
            axes = (BATCH,)
        dims[name] = dict(enumerate(axes))
    if mask and "attention_mask" not in inputs and "input_ids" in inputs:
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        dims["attention_mask"] = dims["input_ids"]
    return inputs, dims
