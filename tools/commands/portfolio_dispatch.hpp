#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "engine/tuner/portfolio/dispatch.hpp"

namespace fa_tune::commands {

// What `portfolio --dispatch` says of what it learned.
nlohmann::ordered_json dispatch_report_json(const tuner::PortfolioField& field,
                                            const tuner::Dispatch& dispatch);
std::string dispatch_report_text(const tuner::PortfolioField& field,
                                 const tuner::Dispatch& dispatch);

// Writes the kernels and what chooses among them as a header or a module for PyTorch.
void export_dispatch(const tuner::Dispatch& dispatch, const std::string& db,
                     const std::string& form, const std::string& out);

}  // namespace fa_tune::commands
