#pragma once

#include <string>
#include <string_view>

namespace fa_tune {

// Text from anywhere as the content of an element or a quoted attribute: whoever wrote it, it stays
// text. Control characters and bytes that are no UTF-8 become '?'.
std::string escaped(std::string_view text);

// <name>content</name>, with a class if there is one; `content` is markup already.
std::string element(std::string_view name, std::string_view content, std::string_view css = {});

// The same around text that is escaped first.
std::string text_element(std::string_view name, std::string_view text, std::string_view css = {});

}  // namespace fa_tune
