// manifest.json: writing, and reading what may be damaged.
#include "runtime/checkpoint/Manifest.h"

#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"
#include "runtime/base/JsonNumber.h"

#include <nlohmann/json.hpp>

namespace shardc::runtime {

using Json = nlohmann::ordered_json;

/// Behind everything that is hashed.
static constexpr const char *hashKey = ",\n \"xxh3\": \"";
static constexpr const char *ending = "\"\n}\n";

std::string Manifest::text() const {
  Json json;
  json["format"] = "shardc checkpoint";
  json["version"] = version;
  json["step"] = progress.step;
  json["updates"] = progress.updates;
  json["epoch"] = progress.cursor.epoch;
  json["position"] = progress.cursor.position;
  json["global_batch"] = progress.globalBatch;
  if (progress.learningRate)
    json["learning_rate"] = *progress.learningRate;
  json["loss_scaler"] = {{"scale", progress.lossScale},
                         {"finite_steps", progress.finiteSteps},
                         {"hysteresis_left", progress.hysteresisLeft},
                         {"skipped_steps", progress.skippedSteps},
                         {"skipped_at_minimum", progress.skippedAtMinimum}};
  if (progress.best)
    json["best"] = {{"metric", progress.best->metric},
                    {"value", progress.best->value},
                    {"step", progress.best->step},
                    {"evaluations_since", progress.evaluationsSinceBest}};
  if (const std::optional<PlateauState> &plateau = progress.plateau) {
    json["plateau"] = {{"reduced", plateau->reduced},
                       {"evaluations_since", plateau->sinceBest},
                       {"cooldown", plateau->cooldown}};
    if (plateau->best)
      json["plateau"]["best"] = *plateau->best;
  }
  if (progress.evaluatedStep)
    json["evaluated_step"] = *progress.evaluatedStep;
  json["samples"] = samples;
  json["shuffle"] = order.shuffle;
  json["seed"] = order.seed;
  json["sampler"] = order.sampler == Sampler::Torch ? "torch" : "global";
  json["last_batch"] = order.padsLast ? "pad" : "drop";
  for (const MixturePart &part : mixture)
    json["mixture"].push_back(
        {{"samples", part.samples}, {"weight", part.weight}});
  if (!data.empty())
    json["data"] = data;
  json["mesh"] = mesh;
  json["strategy"] = strategy;
  json["precision"] = precision;
  json["optimizer"] = optimizer;
  json["model"] = model;
  json["model_xxh3"] = hashText(modelHash);
  json["initial_values"] = initialValues;
  for (const auto &[name, hash] : frozen)
    json["not_trained"][name] = hashText(hash);
  json["flags"] = flags;
  if (!launched.empty())
    json["launched"] = launched;
  if (!mlflowRun.empty())
    json["mlflow_run"] = mlflowRun;
  Json &list = json["files"] = Json::array();
  for (const CheckpointFile &file : files) {
    std::string blocks;
    for (uint64_t block : file.blocks)
      blocks += (blocks.empty() ? "" : " ") + hashText(block);
    list.push_back({{"path", file.path},
                    {"bytes", file.bytes},
                    {"xxh3_of_16_mib", blocks}});
  }
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  text.resize(text.rfind('\n')); // its last line is the closing brace
  std::string hash = hashText(hashOf(text.data(), text.size()));
  return text + hashKey + hash + ending;
}

/// The text that was hashed; throws where the hash is another one.
static std::string checked(const std::string &text, const std::string &path) {
  std::string tail = concat(hashKey, std::string(16, '0'), ending);
  if (text.size() <= tail.size())
    fail(path, " is damaged: it has ", text.size(), " bytes");
  std::string body = text.substr(0, text.size() - tail.size());
  if (text !=
      concat(body, hashKey, hashText(hashOf(body.data(), body.size())), ending))
    fail(path, " is damaged: its hash is not that of its text");
  return body + "\n}\n";
}

static std::vector<uint64_t> parseBlocks(const std::string &text) {
  std::vector<uint64_t> blocks;
  for (size_t at = 0; at < text.size(); at += 17)
    blocks.push_back(std::stoull(text.substr(at, 16), nullptr, 16));
  return blocks;
}

Manifest Manifest::parse(const std::string &text, const std::string &path) {
  std::string body = checked(text, path);
  // What has its hash was written so; another version may lack something.
  try {
    Json json = Json::parse(body);
    if (int of = wholeNumber<int>(json.at("version")); of != version)
      fail(path, " is of version ", of, ", and this program reads version ",
           version);
    Manifest manifest;
    Progress &progress = manifest.progress;
    readWhole(json.at("step"), progress.step);
    readWhole(json.at("updates"), progress.updates);
    readWhole(json.at("epoch"), progress.cursor.epoch);
    readWhole(json.at("position"), progress.cursor.position);
    readWhole(json.at("global_batch"), progress.globalBatch);
    if (auto rate = json.find("learning_rate"); rate != json.end())
      progress.learningRate = rate->get<double>();
    const Json &scaler = json.at("loss_scaler");
    scaler.at("scale").get_to(progress.lossScale);
    readWhole(scaler.at("finite_steps"), progress.finiteSteps);
    readWhole(scaler.at("hysteresis_left"), progress.hysteresisLeft);
    readWhole(scaler.at("skipped_steps"), progress.skippedSteps);
    readWhole(scaler.at("skipped_at_minimum"), progress.skippedAtMinimum);
    if (auto best = json.find("best"); best != json.end()) {
      progress.best = {best->at("metric").get<std::string>(),
                       best->at("value").get<double>(),
                       wholeNumber<int64_t>(best->at("step"))};
      readWhole(best->at("evaluations_since"), progress.evaluationsSinceBest);
    }
    if (auto plateau = json.find("plateau"); plateau != json.end()) {
      PlateauState &state = progress.plateau.emplace();
      plateau->at("reduced").get_to(state.reduced);
      readWhole(plateau->at("evaluations_since"), state.sinceBest);
      readWhole(plateau->at("cooldown"), state.cooldown);
      if (auto best = plateau->find("best"); best != plateau->end())
        state.best = best->get<double>();
    }
    if (auto step = json.find("evaluated_step"); step != json.end())
      progress.evaluatedStep = wholeNumber<int64_t>(*step);
    readWhole(json.at("samples"), manifest.samples);
    json.at("shuffle").get_to(manifest.order.shuffle);
    readWhole(json.at("seed"), manifest.order.seed);
    // Older ones do not have these.
    if (json.value("sampler", "global") == "torch")
      manifest.order.sampler = Sampler::Torch;
    manifest.order.padsLast = json.value("last_batch", "drop") == "pad";
    if (auto mixture = json.find("mixture"); mixture != json.end())
      for (const Json &part : *mixture)
        manifest.mixture.push_back({wholeNumber<int64_t>(part.at("samples")),
                                    part.at("weight").get<double>()});
    if (auto data = json.find("data"); data != json.end())
      data->get_to(manifest.data);
    json.at("mesh").get_to(manifest.mesh);
    json.at("strategy").get_to(manifest.strategy);
    json.at("precision").get_to(manifest.precision);
    json.at("optimizer").get_to(manifest.optimizer);
    json.at("model").get_to(manifest.model);
    manifest.modelHash =
        std::stoull(json.at("model_xxh3").get<std::string>(), nullptr, 16);
    json.at("initial_values").get_to(manifest.initialValues);
    if (auto hashes = json.find("not_trained"); hashes != json.end())
      for (const auto &[name, hash] : hashes->items())
        manifest.frozen[name] =
            std::stoull(hash.get<std::string>(), nullptr, 16);
    json.at("flags").get_to(manifest.flags);
    manifest.launched = json.value("launched", "");
    manifest.mlflowRun = json.value("mlflow_run", "");
    for (const Json &file : json.at("files"))
      manifest.files.push_back(
          {file.at("path").get<std::string>(),
           wholeNumber<uint64_t>(file.at("bytes")),
           parseBlocks(file.at("xxh3_of_16_mib").get<std::string>())});
    return manifest;
  } catch (const Json::exception &error) {
    fail(path, " is no manifest of a checkpoint: ", error.what());
  } catch (const std::logic_error &) { // of stoull
    fail(path, " is no manifest of a checkpoint: a hash is none");
  }
}

} // namespace shardc::runtime
