#include "engine/search/analysis/main_effects.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

#include "engine/search/analysis/hypothesis_tests.hpp"
#include "engine/util/distributions.hpp"

namespace fa_tune::search {
namespace {

// A column of the model is 1 where a gene has a value; the first is 1 everywhere.
struct Column {
  std::size_t gene = 0;
  std::uint16_t value = 0;
  std::uint16_t usual = 0;
  int uses = 0;
  int usual_uses = 0;
};

std::vector<Column> columns_of(const std::vector<Codes>& configs) {
  std::vector<Column> columns;
  for (std::size_t gene = 0; gene < configs.front().size(); ++gene) {
    std::map<std::uint16_t, int> uses;
    for (const Codes& codes : configs) ++uses[codes[gene]];
    const auto usual = std::max_element(
        uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [value, count] : uses)
      if (value != usual->first)
        columns.push_back({gene, value, usual->first, count, usual->second});
  }
  return columns;
}

using Row = std::vector<std::size_t>;  // the columns that are 1

// Inverts X'X by Cholesky, column after column; one that earlier columns explain is left out.
class NormalEquations {
 public:
  NormalEquations(const std::vector<Row>& rows, std::size_t columns) : size_(columns) {
    std::vector<double> product(columns * columns, 0.0);
    for (const Row& row : rows)
      for (const std::size_t i : row)
        for (const std::size_t j : row) product[i * columns + j] += 1;
    factor(product);
  }

  bool has(std::size_t column) const { return kept_[column]; }
  std::size_t rank() const {
    return static_cast<std::size_t>(std::count(kept_.begin(), kept_.end(), true));
  }

  // (X'X)^-1 v, 0 for columns left out.
  std::vector<double> solve(std::vector<double> v) const {
    for (std::size_t i = 0; i < size_; ++i) {
      if (!kept_[i]) {
        v[i] = 0;
        continue;
      }
      for (std::size_t j = 0; j < i; ++j) v[i] -= at(i, j) * v[j];
      v[i] /= at(i, i);
    }
    for (std::size_t i = size_; i-- > 0;) {
      if (!kept_[i]) continue;
      for (std::size_t j = i + 1; j < size_; ++j) v[i] -= at(j, i) * v[j];
      v[i] /= at(i, i);
    }
    return v;
  }

 private:
  double at(std::size_t row, std::size_t column) const { return lower_[row * size_ + column]; }

  void factor(const std::vector<double>& product) {
    // Counts are whole numbers: what is left of a dependent column is rounding.
    constexpr double kDependent = 1e-9;
    lower_.assign(size_ * size_, 0.0);
    kept_.assign(size_, false);
    for (std::size_t j = 0; j < size_; ++j) {
      double left = product[j * size_ + j];
      for (std::size_t k = 0; k < j; ++k) left -= at(j, k) * at(j, k);
      kept_[j] = left > kDependent * product[j * size_ + j];
      if (!kept_[j]) continue;
      lower_[j * size_ + j] = std::sqrt(left);
      for (std::size_t i = j + 1; i < size_; ++i) {
        double sum = product[i * size_ + j];
        for (std::size_t k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
        lower_[i * size_ + j] = sum / at(j, j);
      }
    }
    for (std::size_t i = 0; i < size_; ++i)
      if (!kept_[i])
        for (std::size_t k = 0; k < size_; ++k) lower_[i * size_ + k] = 0;
  }

  std::size_t size_;
  std::vector<double> lower_;
  std::vector<bool> kept_;
};

std::vector<Row> rows_of(const std::vector<Codes>& configs, const std::vector<Column>& columns) {
  std::map<std::pair<std::size_t, std::uint16_t>, std::size_t> place;
  for (std::size_t i = 0; i < columns.size(); ++i)
    place[{columns[i].gene, columns[i].value}] = i + 1;
  std::vector<Row> rows;
  for (const Codes& codes : configs) {
    Row row = {0};
    for (std::size_t gene = 0; gene < codes.size(); ++gene)
      if (const auto found = place.find({gene, codes[gene]}); found != place.end())
        row.push_back(found->second);
    rows.push_back(std::move(row));
  }
  return rows;
}

// The variances of the fitted amounts by HC3: sum over configs of (c x / (1 - leverage))^2 e^2.
std::vector<double> variances(const NormalEquations& equations, const std::vector<Row>& rows,
                              const std::vector<double>& errors, std::size_t columns) {
  std::vector<double> variance(columns, 0.0);
  for (std::size_t n = 0; n < rows.size(); ++n) {
    std::vector<double> x(columns, 0.0);
    for (const std::size_t i : rows[n]) x[i] = 1;
    const auto weights = equations.solve(x);
    double leverage = 0;
    for (const std::size_t i : rows[n]) leverage += weights[i];
    // A config that alone decides an amount leaves no error to learn that amount's spread from.
    if (leverage > 1 - 1e-9) {
      for (std::size_t i = 0; i < columns; ++i)
        if (std::abs(weights[i]) > 1e-9) variance[i] = std::numeric_limits<double>::infinity();
      continue;
    }
    const double error = errors[n] / (1 - leverage);
    for (std::size_t i = 0; i < columns; ++i)
      variance[i] += weights[i] * weights[i] * error * error;
  }
  return variance;
}

}  // namespace

std::vector<MainEffect> main_effects(const std::vector<Codes>& configs,
                                     const std::vector<double>& figures) {
  if (configs.empty()) return {};
  const auto columns = columns_of(configs);
  const auto rows = rows_of(configs, columns);
  const std::size_t width = columns.size() + 1;
  const NormalEquations equations(rows, width);
  const int spare = static_cast<int>(configs.size()) - static_cast<int>(equations.rank());
  if (spare < kSpareConfigs) return {};

  std::vector<double> sums(width, 0.0);
  for (std::size_t n = 0; n < rows.size(); ++n)
    for (const std::size_t i : rows[n]) sums[i] += figures[n];
  const auto amounts = equations.solve(sums);
  std::vector<double> errors = figures;
  for (std::size_t n = 0; n < rows.size(); ++n)
    for (const std::size_t i : rows[n]) errors[n] -= amounts[i];
  const auto variance = variances(equations, rows, errors, width);
  const double reach = student_t(spare, 1 - kLevel);

  std::vector<MainEffect> effects;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    const bool few = std::min(column.uses, column.usual_uses) < kFewestUses;
    const bool absent = column.value == kAbsent || column.usual == kAbsent;
    if (few || absent || !equations.has(i + 1)) continue;
    if (std::isinf(variance[i + 1])) continue;
    const double deviation = std::sqrt(variance[i + 1]);
    const double amount = amounts[i + 1];
    // Without any error at all, any amount that is not rounding is certain.
    const bool certain = deviation < 1e-12;
    const double p =
        certain ? (std::abs(amount) > 1e-9 ? 0.0 : 1.0) : student_p(amount / deviation, spare);
    effects.push_back({{column.gene, column.usual, column.value},
                       amount,
                       amount - reach * deviation,
                       amount + reach * deviation,
                       p,
                       column.uses + column.usual_uses});
  }
  return effects;
}

}  // namespace fa_tune::search
