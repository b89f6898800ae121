#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace fa_tune::test {

// Makes a small sound database: two runs with trials of every outcome, finals, insights, a
// proposer's words.
void make_sound_database(const std::filesystem::path& path);

// Does with a file that may be anything what the program does with a database: reads all of it,
// checks it, copies it, goes on with its newest run. Returns what came of it in a line; never
// crashes, never throws for what is wrong with the file. Throws std::logic_error if one of the
// reading steps, or a writing one that was refused at once, has changed a byte of the file.
std::string try_database(const std::filesystem::path& path);

// `sound` with edits, each of four bytes: three of a place (modulo the size, little endian) and one
// that is put there. An edit at a place divisible by 4096 with the byte 0 cuts the file there.
std::string edited(const std::string& sound, std::string_view edits);

}  // namespace fa_tune::test
