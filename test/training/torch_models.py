"""Tiny models that test_exports.py exports and trains: architectures of Hugging Face, and the
modules of torch_modules.py.

Needs torch; transformers is imported by the models that need it.
"""
import torch

import torch_modules as modules

BATCH, LENGTH = 4, 16  # samples of all ranks, tokens of each
VOCABULARY = modules.VOCABULARY


class Case:
    """A model and its inputs; `names` are those of its forward's arguments, in order."""

    def __init__(self, build, kind="tokens", legacy_mask=False):
        self.build, self.kind, self.legacy_mask = build, kind, legacy_mask

    def data(self):
        """({input: tensor}, labels, {input: {axis: dim}}), the same on every call."""
        g = torch.Generator().manual_seed(3)
        tokens = lambda length: torch.randint(3, VOCABULARY, (BATCH, length), generator=g)
        both = {0: "batch", 1: "sequence"}
        if self.kind == "tokens":
            return {"input_ids": tokens(LENGTH)}, tokens(LENGTH), {"input_ids": both}
        if self.kind == "two sequences":
            return (
                {"input_ids": tokens(LENGTH), "decoder_input_ids": tokens(LENGTH - 4)},
                tokens(LENGTH - 4),
                {"input_ids": both, "decoder_input_ids": {0: "batch", 1: "target"}},
            )
        if self.kind == "padded":  # 0 is padding
            ids = tokens(8)
            ids[:, 6:] = 0
            return {"input_ids": ids}, torch.arange(BATCH), {"input_ids": both}
        if self.kind == "vectors":
            return (
                {"x": torch.randn(BATCH, 16, generator=g)},
                torch.arange(BATCH),
                {"x": {0: "batch"}},
            )
        if self.kind == "rows":
            return (
                {"x": torch.randn(BATCH, 4, 16, generator=g)},
                torch.randint(4, (BATCH, 4), generator=g),
                {"x": {0: "batch"}},
            )
        raise ValueError(self.kind)


def hf(name, config, **settings):
    """A Hugging Face model that returns its logits alone, under the names of PyTorch."""

    def build():
        import transformers

        base = getattr(transformers, name)

        class LogitsOnly(base):  # a subclass, not a wrapper: the names of the parameters stay
            def forward(self, input_ids=None, attention_mask=None, decoder_input_ids=None):
                given = {
                    "input_ids": input_ids,
                    "attention_mask": attention_mask,
                    "decoder_input_ids": decoder_input_ids,
                }
                return super().forward(**{k: v for k, v in given.items() if v is not None}).logits

        model = LogitsOnly(getattr(transformers, config)(vocab_size=VOCABULARY, **settings))
        model.config.use_cache = False
        return model

    return build


ENCODER = dict(
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=24,
    max_position_embeddings=40,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
DECODER = dict(
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=24,
    max_position_embeddings=40,
)
SEQUENCES = dict(
    d_model=16,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=2,
    decoder_attention_heads=2,
    encoder_ffn_dim=24,
    decoder_ffn_dim=24,
    max_position_embeddings=40,
    dropout=0.0,
    attention_dropout=0.0,
    activation_dropout=0.0,
    pad_token_id=0,
    eos_token_id=2,
    bos_token_id=1,
    decoder_start_token_id=0,
    forced_eos_token_id=None,
)


def fold(function, shape=(8,)):
    return Case(lambda: modules.Folded(function, shape), "vectors")


# fmt: off
MODELS = {
    "xlm-r": Case(hf("XLMRobertaForMaskedLM", "XLMRobertaConfig", **ENCODER)),
    "falcon": Case(hf("FalconForCausalLM", "FalconConfig", hidden_size=16, num_hidden_layers=2,
                      num_attention_heads=2, ffn_hidden_size=32, hidden_dropout=0.0,
                      attention_dropout=0.0)),
    "falcon-40b": Case(hf("FalconForCausalLM", "FalconConfig", hidden_size=16, num_hidden_layers=2,
                          num_attention_heads=4, num_kv_heads=2, new_decoder_architecture=True,
                          ffn_hidden_size=32, hidden_dropout=0.0, attention_dropout=0.0)),
    "albert": Case(hf("AlbertForMaskedLM", "AlbertConfig", embedding_size=8,
                      classifier_dropout_prob=0.0, **ENCODER)),
    "deberta-v2": Case(hf("DebertaV2ForMaskedLM", "DebertaV2Config", relative_attention=True,
                          share_att_key=True, pos_att_type=["p2c", "c2p"],
                          norm_rel_ebd="layer_norm", position_buckets=8,
                          position_biased_input=False, type_vocab_size=0, **ENCODER)),
    "gemma2": Case(hf("Gemma2ForCausalLM", "Gemma2Config", num_key_value_heads=1, head_dim=8,
                      query_pre_attn_scalar=8, sliding_window=8, **DECODER),
                   legacy_mask=True),
    "gpt-neox": Case(hf("GPTNeoXForCausalLM", "GPTNeoXConfig", hidden_dropout=0.0,
                        attention_dropout=0.0, **DECODER),
                     legacy_mask=True),
    "bart": Case(hf("BartForConditionalGeneration", "BartConfig", **SEQUENCES), "two sequences"),
    "marian": Case(hf("MarianMTModel", "MarianConfig", **SEQUENCES), "two sequences"),
    "pegasus": Case(hf("PegasusForConditionalGeneration", "PegasusConfig", **SEQUENCES),
                    "two sequences"),
    "encoder": Case(modules.EncoderClassifier),
    "batch-norm": Case(modules.Norms, "vectors"),
    "head-first": Case(modules.HeadFirst),
    "head-last": Case(lambda: modules.HeadFirst(False)),
    "transposed": Case(lambda: modules.OwnLinears(16, 8, 4), "vectors"),
    "transposed-square": Case(lambda: modules.OwnLinears(16, 16, 16), "vectors"),
    "two-norms": Case(modules.TwoNorms, "padded"),
    "equal-16": Case(lambda: modules.Equal(16), "vectors"),
    "equal-40": Case(lambda: modules.Equal(40), "vectors"),
    "shared-8": Case(lambda: modules.Shared(8), "rows"),
    "shared-40": Case(lambda: modules.Shared(40), "rows"),
    "padding-index": Case(lambda: modules.Bag(padding=0), "padded"),
    "frozen": Case(lambda: modules.Bag(frozen=True), "padded"),
    "detach": Case(modules.Detach, "vectors"),
    "no-grad": Case(modules.NoGrad, "vectors"),
    "exp": fold(torch.exp),
    "exp-scalar": fold(torch.exp, ()),
    "sigmoid": fold(torch.sigmoid),
    "tanh": fold(torch.tanh),
    "negative": fold(lambda p: -p),
    "square": fold(lambda p: p * p),
    "absolute": fold(torch.abs),
    "softmax": fold(lambda p: torch.softmax(p, -1)),
    "chain": fold(lambda p: -torch.exp(p)),
    "of-two": fold(lambda p: p[:8] * p[8:], (16,)),
    "exp-and-itself": Case(modules.FoldedTwice, "vectors"),
    "one-plus": Case(modules.OnePlus, "vectors"),
    "indexed-table": Case(modules.Table, "rows"),
    "computed": Case(modules.Computed, "vectors"),
    "weight-norm": Case(modules.WeightNorm, "vectors"),
    "at-root": Case(modules.AtRoot, "rows"),
    "at-identity": Case(modules.AtIdentity, "vectors"),
    "transposes": Case(modules.Transposes, "vectors"),
    "transposes-rows": Case(modules.Transposes, "rows"),
    "transposed-biases": Case(modules.TransposedBiases, "vectors"),
    "slopes": Case(modules.Slopes, "vectors"),
    "reshaped": Case(modules.Reshaped, "rows"),
    "joined": Case(modules.Joined, "rows"),
    "stacked": Case(modules.Stacked, "vectors"),
    "autoencoder": Case(modules.Autoencoder, "vectors"),
    "autoencoder-rows": Case(modules.Autoencoder, "rows"),
    "square-tied": Case(modules.SquareTied, "vectors"),
    "towers": Case(modules.Towers, "rows"),
    "copies": Case(modules.Copies, "rows"),
    "layer-scale": Case(modules.LayerScale, "vectors"),
    "buffers": Case(modules.Buffers, "vectors"),
    "quantized": Case(modules.Quantized, "vectors"),
}
# fmt: on


def make(name, values):
    torch.manual_seed(1)
    model = MODELS[name].build()
    if values == "random":  # as trained models have
        with torch.no_grad():
            for p in model.parameters():
                if p.requires_grad:
                    p.add_(torch.randn(p.shape) * 0.05)
            for n, b in model.named_buffers():
                if "running" in n:
                    b.add_(torch.rand(b.shape))
    return model.train()
