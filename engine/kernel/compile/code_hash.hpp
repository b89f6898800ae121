#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace fa_tune::kernel {

// What makes two compiled kernels the same to a device, whatever they are called and however their
// source was written: SHA-256 of the kernel's instructions (.text.<kernel>), of the constants and
// initialized globals they read, and of the size of its static shared memory. Instructions alone
// would not do: two variants may differ in a table of constants only. An error is one line.
std::expected<std::string, std::string> cubin_code_hash(std::string_view cubin,
                                                        const std::string& kernel);

// SHA-256 of PTX without comments, blank lines and spaces at the ends of lines.
std::string ptx_code_hash(std::string_view ptx);

}  // namespace fa_tune::kernel
