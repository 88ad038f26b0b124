// Where the sources and the programs of this build are. Only one object knows: what is compiled
// from the tests is the same in every clone, and a compiler cache finds it.
#pragma once

#include <string>

namespace netio::test {

// The folder of CMakeLists.txt.
[[nodiscard]] const std::string& source_folder();
// The netio command.
[[nodiscard]] const std::string& netio_program();

}  // namespace netio::test
