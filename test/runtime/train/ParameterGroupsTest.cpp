// Which parameters --group and --no-decay get.
#include "runtime/train/ParameterGroups.h"

#include "runtime/base/Error.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;

namespace {

/// Two layers with a weight, a bias and a norm each, and an embedding; all of 4
/// elements. The first layer's weight is frozen.
plan::Plan layers() {
  plan::Plan plan;
  plan.mutable_optimizer()->set_kind("adamw");
  auto add = [&](const std::string &name, const char *role) {
    plan::Parameter *parameter = plan.add_parameters();
    parameter->set_name(name);
    parameter->set_role(role);
    parameter->set_trainable(name != "layers.0.weight");
    parameter->add_shape(4);
  };
  add("embed.weight", "embedding");
  for (const char *layer : {"layers.0", "layers.1"}) {
    add(std::string(layer) + ".weight", "weight");
    add(std::string(layer) + ".bias", "bias");
    add(std::string(layer) + ".norm.weight", "norm");
  }
  return plan;
}

std::string errorOf(const Options &options) {
  try {
    ParameterGroups::resolve(options, layers());
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST(ParameterGroups, AreOneWithoutFlags) {
  ParameterGroups groups = ParameterGroups::resolve({}, layers());
  ASSERT_EQ(groups.groups.size(), 1u);
  EXPECT_EQ(groups.groups[0].parameters, 6);
  EXPECT_EQ(groups.groups[0].elements, 24);
  EXPECT_EQ(groups.text(), "");
  // torch.optim.AdamW's own weight decay.
  for (const ParameterNumbers &numbers : groups.numbers)
    EXPECT_EQ(numbers, (ParameterNumbers{1, 0.01}));
}

TEST(ParameterGroups, TheFirstMatchWins) {
  Options options;
  options.weightDecay = 0.1;
  options.groups = {{"layers\\.1", 2, {}}, {"norm|embed", {}, 0.5}};
  options.noDecay = {"bias", "norm"};
  ParameterGroups groups = ParameterGroups::resolve(options, layers());
  EXPECT_EQ(groups.text(),
            "parameter groups:\n"
            "  match=layers\\.1                         lr x 2, weight decay "
            "0.1: 1 parameter, 4 elements\n"
            "  match=layers\\.1, no decay (bias, norm)  lr x 2, weight decay "
            "0: 2 parameters, 8 elements\n"
            "  match=norm|embed                        lr x 1, weight decay "
            "0.5: 2 parameters, 8 elements\n"
            "  no decay (bias, norm)                   lr x 1, weight decay 0: "
            "1 parameter, 4 elements\n");
  std::vector<ParameterNumbers> expected = {
      {1, 0.5}, {1, 0.1}, {1, 0}, {1, 0.5}, {2, 0.1}, {2, 0}, {2, 0}};
  EXPECT_EQ(groups.numbers, expected);
}

TEST(ParameterGroups, RefuseAGroupWithoutParameters) {
  Options options;
  options.groups = {{"layers\\.0\\.weight", 2, {}}};
  EXPECT_EQ(errorOf(options),
            "--group match=layers\\.0\\.weight is found in the name of no "
            "trained parameter; there are embed.weight, layers.*.bias, "
            "layers.*.norm.weight, layers.*.weight");
  options.groups = {{"layers", 2, {}}, {"bias", 3, {}}};
  EXPECT_EQ(errorOf(options),
            "--group match=bias gets no parameter: earlier groups have all "
            "that it matches (layers.*.bias), and the first match wins");
}

TEST(ParameterGroups, WholeMatricesAreApartAndScaledForTheirSize) {
  plan::Plan plan = layers();
  plan.mutable_optimizer()->set_kind("muon");
  for (plan::Parameter &parameter : *plan.mutable_parameters())
    if (parameter.role() == "weight")
      parameter.add_shape(9); // [4, 9]
    else
      parameter.set_optimizer("adamw");
  Options options;
  options.groups = {{"layers\\.1", 2, {}}};
  // A default of its own for each of the two.
  EXPECT_EQ(ParameterGroups::resolve(options, plan).text(),
            "parameter groups:\n"
            "  match=layers\\.1, muon   lr x 2, weight decay 0.1: 1 parameter, "
            "36 elements\n"
            "  match=layers\\.1, adamw  lr x 2, weight decay 0.01: 2 "
            "parameters, 8 elements\n"
            "  others, adamw           lr x 1, weight decay 0.01: 3 "
            "parameters, 12 elements\n");
  EXPECT_EQ(ParameterGroups::resolve(options, plan).numbers[4],
            (ParameterNumbers{2, 0.1, 1}));
  options.adjustRate = AdjustRate::MatchRmsAdamW;
  options.weightDecay = 0.3;
  std::vector<ParameterNumbers> numbers =
      ParameterGroups::resolve(options, plan).numbers;
  EXPECT_EQ(numbers[4], (ParameterNumbers{2, 0.3, 0.2 * 3}));
  EXPECT_EQ(numbers[0], (ParameterNumbers{1, 0.3}));
  // Tall ones.
  plan.mutable_parameters(4)->set_shape(0, 36);
  options.adjustRate = AdjustRate::Original;
  EXPECT_EQ(ParameterGroups::resolve(options, plan).numbers[4].matrixScale, 2);
}
