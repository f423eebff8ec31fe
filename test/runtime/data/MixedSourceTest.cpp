// Several files for one input: one behind the other, and mixed by weights.
#include "runtime/data/MixedSource.h"

#include "test/runtime/data/SourceTest.h"

#include <cmath>
#include <set>

using namespace shardc;
using namespace shardc::runtime;

namespace {

class MixedSourceTest : public SourceTest {
protected:
  /// A file of `samples` samples, whose ids are `first` and what follows it.
  NamedFile part(const std::string &path, int64_t samples, uint16_t first,
                 std::optional<double> weight = {}) {
    std::vector<uint16_t> ids(samples * 4);
    for (size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<uint16_t>(first + i / 4);
    folder.write(path, array(ids));
    SourceKeys keys = raw();
    keys.given = {"dtype"};
    keys.weight = weight;
    if (weight)
      keys.given.push_back("weight");
    return file(path, keys);
  }
  /// The first id of each sample.
  Ids firstIds(const std::vector<NamedFile> &given, int input = 0) {
    Dataset data(plan, given, "--data");
    Ids all = valuesOf(data, plan, input), first;
    for (size_t i = 0; i < all.size(); i += 4)
      first.push_back(all[i]);
    return first;
  }

  plan::Plan plan = planWith();
};

/// Megatron's rule, plainly: parts by place.
std::vector<size_t> blend(std::vector<double> weights, int64_t places) {
  std::vector<double> taken(weights.size());
  std::vector<size_t> parts;
  for (int64_t place = 0; place < places; ++place) {
    size_t chosen = 0;
    for (size_t part = 1; part < weights.size(); ++part)
      if (weights[part] * std::max<double>(place, 1) - taken[part] >
          weights[chosen] * std::max<double>(place, 1) - taken[chosen])
        chosen = part;
    ++taken[chosen];
    parts.push_back(chosen);
  }
  return parts;
}

} // namespace

TEST_F(MixedSourceTest, WithoutWeightsOneFileComesBehindTheOther) {
  EXPECT_EQ(firstIds({part("a.bin", 3, 0), part("b.bin", 2, 50)}),
            (Ids{0, 1, 2, 50, 51}));
}

TEST_F(MixedSourceTest, AnEpochGoesThroughEveryPart) {
  // 0.75 and 0.25, and a part of which there is too little.
  std::vector<NamedFile> given = {part("a.bin", 2, 0, 3),
                                  part("b.bin", 2, 50, 1)};
  EXPECT_EQ(firstIds(given), (Ids{0, 50, 1, 0, 1, 51}));
  // The labels of what is mixed.
  plan = planWith(
      R"(inputs { name: "labels" tensor { dtype: INT64 shape: 2 shape: 4 } })");
  given.push_back({"labels", "@ids"});
  EXPECT_EQ(firstIds(given, 1), (Ids{0, 50, 1, 0, 1, 51}));
}

TEST_F(MixedSourceTest, PlacesAreThoseOfMegatron) {
  for (const auto &[weights, sizes] :
       {std::pair{std::vector<double>{0.7, 0.3}, std::vector<int64_t>{90, 70}},
        {{0.5, 0.2, 0.3}, {1000, 7, 2000}},
        {{1, 1, 1, 1}, {5, 6, 7, 8}}}) {
    Mixture mixture("ids", sizes, weights);
    ASSERT_LE(mixture.samples(), Mixture::period);
    double sum = 0;
    for (double weight : weights)
      sum += weight;
    std::vector<double> shares = weights;
    for (double &share : shares)
      share /= sum;
    std::vector<int64_t> taken(sizes.size());
    std::vector<size_t> parts = blend(shares, mixture.samples());
    for (int64_t place = 0; place < mixture.samples(); ++place) {
      auto [part, sample] = mixture.at(place);
      EXPECT_EQ(part, parts[place]) << place;
      EXPECT_EQ(sample, taken[part]++ % sizes[part]) << place;
    }
    // Every part is gone through, and the last place is what did it.
    int64_t whole = 0, exact = 0;
    for (size_t part = 0; part < sizes.size(); ++part) {
      whole += taken[part] >= sizes[part];
      exact += taken[part] == sizes[part] &&
               mixture.at(mixture.samples() - 1).first == part;
    }
    EXPECT_EQ(whole, std::ssize(sizes));
    EXPECT_EQ(exact, 1);
  }
}

TEST_F(MixedSourceTest, PeriodsGoOnWhereTheyEnded) {
  Mixture mixture("ids", {100'000, 200'000, 3}, {0.3, 0.6, 0.1});
  std::vector<std::vector<int64_t>> seen = {std::vector<int64_t>(100'000),
                                            std::vector<int64_t>(200'000),
                                            std::vector<int64_t>(3)};
  for (int64_t place = 0; place < mixture.samples(); ++place) {
    auto [part, sample] = mixture.at(place);
    ++seen[part][sample];
  }
  EXPECT_NEAR(mixture.samples(), 333'333, 40);
  for (size_t part : {0, 1})
    for (int64_t count : seen[part]) {
      EXPECT_GE(count, 1);
      EXPECT_LE(count, 2);
    }
  for (int64_t count : seen[2])
    EXPECT_NEAR(count, 11'111, 10);
}

TEST_F(MixedSourceTest, RefusesWhatIsNoMixture) {
  EXPECT_EQ(errorOf(plan, {part("a.bin", 2, 0, 1), part("b.bin", 2, 50)}),
            "input ids is given 2 times, and 1 of these have a weight; give "
            "all of them one");
  EXPECT_NE(errorOf(plan, {part("a.bin", 2, 0, 1)}).find("has no effect"),
            std::string::npos);
  EXPECT_EQ(errorOf(plan, {part("a.bin", 2, 0, 1), part("b.bin", 2, 50, 1e-6)}),
            "part 2 of the mixture of ids has a weight of 9.99999e-07 of all; "
            "expects at least 1.52588e-05");
  EXPECT_EQ(errorOf(plan, {part("a.bin", 2, 0, 1), part("b.bin", 0, 50, 1)}),
            "part 2 of the mixture of ids has no samples");
  NamedFile same = part("a.bin", 2, 0);
  EXPECT_NE(errorOf(plan, {same, same}).find("ids is given twice"),
            std::string::npos);
  plan = planWith(R"(inputs { name: "labels" tensor { dtype: INT64 shape: 2
                                                     shape: 4 } })");
  std::vector<NamedFile> given = {part("a.bin", 2, 0, 1),
                                  part("b.bin", 2, 50, 1)};
  for (NamedFile each : std::vector(given)) {
    each.name = "labels";
    given.push_back(each);
  }
  EXPECT_EQ(errorOf(plan, given), "");
  given.back().keys.weight = 2;
  EXPECT_EQ(errorOf(plan, given),
            "--data labels is a mixture, and ids is not of as many parts with "
            "the same weights and numbers of samples; give it so, or as "
            "@labels");
}
