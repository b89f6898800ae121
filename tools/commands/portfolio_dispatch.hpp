#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/tuner/portfolio/dispatch.hpp"

namespace fa_tune::commands {

// What `portfolio --dispatch` says of what it learned, and which kernels it would ask at these shapes
// (PortfolioField::Wishes::shapes).
nlohmann::ordered_json dispatch_report_json(const tuner::PortfolioField& field,
                                            const tuner::DispatchLearner& dispatch,
                                            const std::vector<std::string>& choose_at);
std::string dispatch_report_text(const tuner::PortfolioField& field,
                                 const tuner::DispatchLearner& dispatch,
                                 const std::vector<std::string>& choose_at);

// Writes the kernels and what chooses among them as a header or a module for PyTorch.
void export_dispatch(const tuner::DispatchLearner& dispatch, const std::string& db,
                     const std::string& form, const std::string& out);

}  // namespace fa_tune::commands
