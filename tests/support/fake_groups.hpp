// A root folder with the files in which the system tells about control groups.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace netio::test {

inline constexpr std::size_t mib = std::size_t{1} << 20U;

class FakeGroups {
 public:
  FakeGroups() {
    std::array<char, 32> name = {"/tmp/netio-groups-XXXXXX"};
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name.data();
  }
  ~FakeGroups() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  FakeGroups(const FakeGroups&) = delete;
  FakeGroups& operator=(const FakeGroups&) = delete;

  // One group, /g, of version 2, with this limit.
  explicit FakeGroups(std::uint64_t limit_bytes) : FakeGroups() {
    write("/proc/self/cgroup", "0::/g\n");
    write("/proc/self/mountinfo", "1 1 0:1 / /cg rw - cgroup2 cgroup2 rw\n");
    limit(limit_bytes);
    use(0);
  }
  void limit(std::uint64_t bytes) const { write("/cg/g/memory.max", std::to_string(bytes) + "\n"); }
  void use(std::uint64_t bytes) const {
    write("/cg/g/memory.current", std::to_string(bytes) + "\n");
  }

  [[nodiscard]] const std::string& root() const noexcept { return root_; }
  void write(std::string_view path, std::string_view text) const {
    const std::filesystem::path file = root_ + std::string(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::trunc) << text;
  }

 private:
  std::string root_;
};

}  // namespace netio::test
