"""Architectures that people train, tiny: a class and a config of Hugging Face, or a module of
zoo_modules.py, and how they are fed. Needs torch and transformers."""
import dataclasses

import numpy as np

import zoo_modules

BATCH, LENGTH, TARGET, VOCABULARY, CLASSES, CHOICES = 4, 16, 12, 97, 5, 3
STEPS = 20

TEXT = dict(
    vocab_size=VOCABULARY,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=64,
)
GROUPED = dict(num_key_value_heads=2, **TEXT)
HEADS = dict(head_dim=8, **GROUPED)
DRY = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
SEQUENCES = dict(
    vocab_size=VOCABULARY,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=48,
    decoder_ffn_dim=48,
    max_position_embeddings=64,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    decoder_start_token_id=0,
    forced_eos_token_id=None,
)
SEQUENCES_DRY = dict(dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
T5 = dict(vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
IMAGE = dict(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    image_size=32,
    patch_size=8,
    num_labels=CLASSES,
)
SOUND = dict(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    conv_dim=(16, 16),
    conv_stride=(4, 2),
    conv_kernel=(8, 4),
    num_feat_extract_layers=2,
    num_conv_pos_embeddings=8,
    num_conv_pos_embedding_groups=2,
    num_labels=CLASSES,
    classifier_proj_size=16,
    apply_spec_augment=False,
    layerdrop=0.0,
)
SOUND_DRY = dict(
    hidden_dropout=0.0,
    attention_dropout=0.0,
    activation_dropout=0.0,
    feat_proj_dropout=0.0,
    final_dropout=0.0,
)
GPT2 = dict(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=64)
GPT2_IDS = dict(bos_token_id=None, eos_token_id=None)
GPT2_DRY = dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
TOWER = dict(eos_token_id=2, projection_size=32, **TEXT)
PICTURES = {key: value for key, value in IMAGE.items() if key != "num_labels"}
MODERN = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)


@dataclasses.dataclass(frozen=True)
class Case:
    architecture: str  # of transformers, or a class of zoo_modules
    config: str = None  # of transformers
    settings: dict = dataclasses.field(default_factory=dict)
    dry: dict = dataclasses.field(default_factory=dict)  # no dropout, where there is by default
    kind: str = None  # None: by the task of the class
    # Batch norms, and losses that compare samples: ranks would compute by their own.
    alone: bool = False


def hf(architecture, config, settings, dry=None, **more):
    return Case(architecture, config, settings, dry or {}, **more)


# fmt: off
ARCHITECTURES = {
    "Llama 3.1": hf("LlamaForCausalLM", "LlamaConfig", dict(
        rope_parameters=dict(rope_type="llama3", rope_theta=500000.0, factor=8.0,
                             low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=32), **GROUPED)),
    "Qwen2": hf("Qwen2ForCausalLM", "Qwen2Config", GROUPED),
    "Qwen3": hf("Qwen3ForCausalLM", "Qwen3Config", HEADS),
    "Mistral": hf("MistralForCausalLM", "MistralConfig", dict(sliding_window=8, **GROUPED)),
    "Gemma 2": hf("Gemma2ForCausalLM", "Gemma2Config",
                  dict(query_pre_attn_scalar=8, sliding_window=8, **HEADS)),
    "Gemma 3": hf("Gemma3ForCausalLM", "Gemma3TextConfig",
                  dict(query_pre_attn_scalar=8, sliding_window=8, **HEADS)),
    "GPT-OSS": hf("GptOssForCausalLM", "GptOssConfig", dict(
        num_local_experts=4, num_experts_per_tok=2, sliding_window=8, **HEADS)),
    "Command R": hf("CohereForCausalLM", "CohereConfig",
                    dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, **TEXT)),
    "Granite": hf("GraniteForCausalLM", "GraniteConfig",
                  dict(logits_scaling=8.0, attention_multiplier=0.25, **GROUPED)),
    "Phi-3": hf("Phi3ForCausalLM", "Phi3Config", dict(pad_token_id=0, **GROUPED)),
    "GPT-2": hf("GPT2LMHeadModel", "GPT2Config", dict(**GPT2, **GPT2_IDS), GPT2_DRY),
    "GPT-NeoX": hf("GPTNeoXForCausalLM", "GPTNeoXConfig", TEXT,
                   dict(hidden_dropout=0.0, attention_dropout=0.0)),
    "GPT-J": hf("GPTJForCausalLM", "GPTJConfig",
                dict(rotary_dim=4, **GPT2, **GPT2_IDS), GPT2_DRY),
    "OPT": hf("OPTForCausalLM", "OPTConfig", dict(
        vocab_size=VOCABULARY, hidden_size=32, ffn_dim=48, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=64, word_embed_proj_dim=32),
        dict(dropout=0.0, attention_dropout=0.0)),
    "BLOOM": hf("BloomForCausalLM", "BloomConfig",
                dict(vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4),
                dict(hidden_dropout=0.0, attention_dropout=0.0)),
    "Falcon": hf("FalconForCausalLM", "FalconConfig", dict(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4),
        dict(hidden_dropout=0.0, attention_dropout=0.0)),
    "MPT": hf("MptForCausalLM", "MptConfig",
              dict(vocab_size=VOCABULARY, d_model=32, n_layers=2, n_heads=4, max_seq_len=64)),
    "Mixtral": hf("MixtralForCausalLM", "MixtralConfig", dict(num_local_experts=4, **GROUPED)),
    "Mixtral with auxiliary loss": hf("MixtralForCausalLM", "MixtralConfig", dict(
        num_local_experts=4, output_router_logits=True, router_aux_loss_coef=0.1, **GROUPED),
        kind="own loss"),
    "OLMoE": hf("OlmoeForCausalLM", "OlmoeConfig",
                dict(num_experts=4, num_experts_per_tok=2, **GROUPED)),
    "BERT": hf("BertForMaskedLM", "BertConfig", TEXT, DRY),
    "RoBERTa": hf("RobertaForSequenceClassification", "RobertaConfig",
                  dict(num_labels=CLASSES, **TEXT), DRY),
    "DistilBERT": hf("DistilBertForSequenceClassification", "DistilBertConfig", dict(
        vocab_size=VOCABULARY, dim=32, hidden_dim=48, n_layers=2, n_heads=4,
        max_position_embeddings=64, num_labels=CLASSES),
        dict(dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0)),
    "DeBERTa-v3": hf("DebertaV2ForSequenceClassification", "DebertaV2Config", dict(
        relative_attention=True, share_att_key=True, pos_att_type=["p2c", "c2p"],
        norm_rel_ebd="layer_norm", position_buckets=8, position_biased_input=False,
        type_vocab_size=0, num_labels=CLASSES, **TEXT), dict(pooler_dropout=0.0, **DRY)),
    "ALBERT": hf("AlbertForMaskedLM", "AlbertConfig", dict(embedding_size=16, **TEXT),
                 dict(classifier_dropout_prob=0.0, **DRY)),
    "ELECTRA": hf("ElectraForSequenceClassification", "ElectraConfig",
                  dict(embedding_size=16, num_labels=CLASSES, **TEXT), DRY),
    "ModernBERT": hf("ModernBertForMaskedLM", "ModernBertConfig",
                     dict(local_attention=8, **MODERN, **TEXT)),
    "FNet": hf("FNetForMaskedLM", "FNetConfig",
               {key: value for key, value in TEXT.items() if key != "num_attention_heads"},
               dict(hidden_dropout_prob=0.0)),
    "T5": hf("T5ForConditionalGeneration", "T5Config", T5, dict(dropout_rate=0.0)),
    "BART": hf("BartForConditionalGeneration", "BartConfig", SEQUENCES, SEQUENCES_DRY),
    "Marian": hf("MarianMTModel", "MarianConfig", SEQUENCES, SEQUENCES_DRY),
    "ViT": hf("ViTForImageClassification", "ViTConfig", IMAGE, DRY),
    "DeiT": hf("DeiTForImageClassification", "DeiTConfig", IMAGE, DRY),
    "Swin": hf("SwinForImageClassification", "SwinConfig", dict(
        image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 2],
        window_size=4, num_labels=CLASSES), dict(drop_path_rate=0.0, **DRY)),
    "ConvNeXt": hf("ConvNextForImageClassification", "ConvNextConfig", dict(
        hidden_sizes=[8, 16], depths=[1, 1], num_stages=2, image_size=32, num_labels=CLASSES)),
    "ResNet": hf("ResNetForImageClassification", "ResNetConfig", dict(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic",
        num_labels=CLASSES), alone=True),
    "EfficientNet": hf("EfficientNetForImageClassification", "EfficientNetConfig", dict(
        image_size=32, width_coefficient=0.25, depth_coefficient=0.25, hidden_dim=320,
        num_labels=CLASSES), dict(drop_connect_rate=0.0, dropout_rate=0.0), alone=True),
    # Of larger images: with one pixel left its norms are of four values, and its steps chaos.
    "MobileNet v2": hf("MobileNetV2ForImageClassification", "MobileNetV2Config", dict(
        image_size=64, depth_multiplier=0.25, num_labels=CLASSES),
        dict(classifier_dropout_prob=0.0), alone=True),
    "Whisper": hf("WhisperForConditionalGeneration", "WhisperConfig", dict(
        num_mel_bins=8, max_source_positions=16, max_target_positions=64,
        **{k: v for k, v in SEQUENCES.items() if k != "max_position_embeddings"}),
        SEQUENCES_DRY, kind="features"),
    "Wav2Vec2": hf("Wav2Vec2ForSequenceClassification", "Wav2Vec2Config", SOUND, SOUND_DRY,
                   kind="sound"),
    "HuBERT": hf("HubertForSequenceClassification", "HubertConfig", SOUND, SOUND_DRY,
                 kind="sound"),
    "CLIP": hf("CLIPModel", "CLIPConfig", dict(text_config=TOWER, vision_config=PICTURES,
                                               projection_dim=16), kind="pair", alone=True),
    "SigLIP": hf("SiglipModel", "SiglipConfig", dict(text_config=TOWER, vision_config=PICTURES),
                 kind="pair", alone=True),
    "Mamba": hf("MambaForCausalLM", "MambaConfig", dict(
        vocab_size=VOCABULARY, hidden_size=16, state_size=4, num_hidden_layers=1),
        kind="static"),
    "nanoGPT": Case("NanoGpt"),
    "LSTM language model": Case("LstmLanguageModel"),
    "nn.TransformerEncoder": Case("EncoderLanguageModel"),
    "nn.Transformer": Case("Translator", kind="two"),
    "U-Net": Case("UNet", kind="map"),
    "torchvision ResNet": Case("vision_resnet", kind="image", alone=True),
    "torchvision MobileNet v3": Case("vision_mobilenet", kind="image", alone=True),
    "torchvision ViT": Case("vision_transformer", kind="image"),
    "torchvision Swin": Case("vision_swin", kind="image"),
}
# fmt: on


def data_of(name, source, samples):
    """{input or labels: array} for so many samples, by the inputs that a source has."""
    draw = np.random.default_rng(7)
    data = {}
    for key, tensor in source.inputs.items():
        shape = (samples, *tensor.shape[1:])
        if key.endswith("mask"):
            data[key] = np.ones((samples, LENGTH), np.int64)
            data[key][1::2, LENGTH - 4 :] = 0
        elif key == "decoder_input_ids":
            data[key] = draw.integers(3, VOCABULARY, (samples, TARGET))
        elif not tensor.is_floating_point():
            data[key] = draw.integers(3, VOCABULARY, (samples, LENGTH))
        else:
            data[key] = draw.standard_normal(shape).astype(np.float32)
    case = ARCHITECTURES[name]
    is_class = "Classification" in case.architecture or case.kind == "image"
    if case.kind in ("pair", "own loss"):
        return data  # the loss is part of the model
    if case.kind == "map":
        data["labels"] = draw.standard_normal(data["x"].shape).astype(np.float32)
    elif is_class:
        data["labels"] = draw.integers(0, CLASSES, samples)
    else:
        length = TARGET if "decoder_input_ids" in data else LENGTH
        data["labels"] = draw.integers(3, VOCABULARY, (samples, length))
        data["labels"][::3, 2:5] = -100  # no label
    return data


def module_of(name, as_is=False):
    """The module, with dropout as its config has it or without."""
    import torch

    case = ARCHITECTURES[name]
    torch.manual_seed(1)
    if case.config is None:
        return getattr(zoo_modules, case.architecture)(dropout=0.1 if as_is else 0.0).train()
    import transformers

    settings = {**case.settings, **({} if as_is else case.dry)}
    config = getattr(transformers, case.config)(**settings)
    config.architectures = [case.architecture]
    return config
