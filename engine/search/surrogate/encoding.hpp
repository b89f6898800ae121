#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/space/space.hpp"

namespace fa_tune::search {

// A genome as the surrogate sees it: a coordinate a dimension of the Encoding.
using Point = std::vector<float>;

// Turns genomes into points. There is a dimension for every gene that can differ, from 0 for its
// first value to 1 for its last, in the order of the space (sizes and depths are listed in order);
// and one for the product of every two numeric genes, on a log scale, because it is products that
// become threads, tiles and bytes.
class Encoding {
 public:
  struct Dimension {
    std::string name;
    std::size_t gene = 0;
    std::size_t other = 0;  // the second gene of a product
    bool product = false;
    bool ordered = true;  // near values are alike: numbers, not names; and more than two of them
  };

  explicit Encoding(const space::Space& space);

  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  Point encode(const space::Genome& genome) const;

 private:
  struct Scale {
    double low = 0;
    double width = 1;
  };

  void add_products(const space::SpaceParts& parts);

  std::vector<Dimension> dimensions_;
  std::vector<Scale> scales_;              // of products
  std::vector<std::vector<double>> logs_;  // of a gene's values, empty if they have none
  std::vector<std::size_t> sizes_;         // a gene's number of values
};

}  // namespace fa_tune::search
