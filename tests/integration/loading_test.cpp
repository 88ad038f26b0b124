// The shared library is loaded by a program that runs: after any other libraries, and before them.
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <string>

#include <gtest/gtest.h>

#include "support/in_a_child.hpp"
#include "support/paths.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

namespace fs = std::filesystem;

// More than fit: the room that glibc leaves to libraries that are loaded later is 1,664 bytes.
constexpr int copies_max = 100;

class Loading : public testing::Test {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "a sanitizer puts thread-local variables of its own in";
    std::string made = (fs::temp_directory_path() / "netio-loading-XXXXXX").string();
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    folder_ = made;
    const fs::path room = built() / "libstatic_tls_room.so";
    for (int i = 0; i < copies_max; ++i) fs::copy_file(room, copy(i));
    fit_ = in_a_child([this] { return fill(); });
    if (fit_ == 0) GTEST_SKIP() << "no room for static thread-local memory: it is not glibc's";
    ASSERT_LT(fit_, copies_max);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  static fs::path built() { return fs::path(netio_program()).parent_path(); }
  [[nodiscard]] fs::path copy(int number) const {
    return folder_ / ("room" + std::to_string(number) + ".so");
  }
  // How many copies are loaded until no more fit.
  [[nodiscard]] int fill() const {
    int loaded = 0;
    while (loaded < copies_max && ::dlopen(copy(loaded).c_str(), RTLD_NOW) != nullptr) ++loaded;
    return loaded;
  }
  static void* load_netio() {
    void* const library = ::dlopen((built() / "libnetio.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) (void)fail(::dlerror());
    return library;
  }
  // A variable of each thread is behind it.
  static bool works(void* library) {
    auto* const last_error =
        reinterpret_cast<const char* (*)()>(::dlsym(library, "netio_last_error"));
    return last_error != nullptr && std::string(last_error()).empty();
  }

  int fit_ = 0;

 private:
  fs::path folder_;
};

TEST_F(Loading, netio_goes_behind_all_libraries_that_fit) {
  EXPECT_EQ(in_a_child([this] {
              if (fill() != fit_) return 1;
              void* const library = load_netio();
              return library != nullptr && works(library) ? 0 : 2;
            }),
            0);
}

TEST_F(Loading, netio_leaves_the_room_to_libraries_that_come_later) {
  EXPECT_EQ(in_a_child([this] {
              void* const library = load_netio();
              return library != nullptr && works(library) ? fill() : copies_max;
            }),
            fit_);
}

// The loader looks at this flag: some refuse a library that has it, however few its bytes are.
TEST_F(Loading, netio_needs_no_static_thread_local_memory) {
  EXPECT_EQ(in_a_child([] {
              link_map* map = nullptr;
              void* const library = load_netio();
              if (library == nullptr || ::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return 1;
              for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
                if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_STATIC_TLS) != 0) return 2;
              }
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace netio::test
