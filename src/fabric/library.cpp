// dlopen, and the five functions.
#include "fabric/library.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

#include <netio/status.hpp>

#include "base/helper_thread.hpp"
#include "loop/posix_signals.hpp"

namespace netio::detail {

namespace {

constexpr const char* file = "libfabric.so.1";
constexpr std::uint32_t built_with = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);

[[noreturn]] void refuse(const std::string& cause) {
  throw Error("load libfabric", cause,
              "install libfabric " + std::to_string(FI_MAJOR_VERSION) + "." +
                  std::to_string(FI_MINOR_VERSION) + " or newer (package libfabric1)");
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) refuse(std::string(file) + " has no " + name);
}

// Libraries of providers (psm) take signals as they load, and end the process when one comes: what
// the program had arranged stays. No signal is delivered to this thread meanwhile.
class SignalsKept {
 public:
  SignalsKept() noexcept {
    for (int signal = 1; signal < NSIG; ++signal) {
      known_[at(signal)] = sigaction(signal, nullptr, &actions_[at(signal)]) == 0;
    }
  }
  ~SignalsKept() {
    for (int signal = 1; signal < NSIG; ++signal) {
      // Another thread may have begun to take the signal meanwhile.
      if (!known_[at(signal)] || taken_by_posix_signals(signal)) continue;
      sigaction(signal, &actions_[at(signal)], nullptr);
    }
  }
  SignalsKept(const SignalsKept&) = delete;
  SignalsKept& operator=(const SignalsKept&) = delete;

 private:
  static std::size_t at(int signal) noexcept { return static_cast<std::size_t>(signal); }
  NoSignals no_signals_;  // gone after the actions are back
  std::array<struct sigaction, NSIG> actions_{};
  std::array<bool, NSIG> known_{};
};

// To keep registrations of memory, libfabric patches the code of mmap, munmap and madvise when a
// domain of verbs is opened, and again when the last one is closed: a thread that is inside one of
// them then crashes (libfabric's issues 7569 and 10943). Registrations are kept here, so it does
// without. What the user has chosen stays. It is read once in a process, at the first use.
void leave_the_c_library_alone() noexcept { setenv("FI_MR_CACHE_MONITOR", "disabled", 0); }

void* open_library() {
  leave_the_c_library_alone();
  const HelpersStart helpers;
  const SignalsKept signals;
  return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

FabricLibrary load() {
  void* const library = open_library();
  if (library == nullptr) refuse(dlerror());
  // What newer versions append to structures does not trouble us; what older ones lack would.
  decltype(&fi_version) version = nullptr;
  find(library, "fi_version", version);
  if (const std::uint32_t found = version(); FI_VERSION_LT(found, built_with)) {
    refuse(std::string(file) + " is version " + std::to_string(FI_MAJOR(found)) + "." +
           std::to_string(FI_MINOR(found)));
  }
  FabricLibrary functions{};
  find(library, "fi_getinfo", functions.getinfo);
  find(library, "fi_dupinfo", functions.dupinfo);
  find(library, "fi_freeinfo", functions.freeinfo);
  find(library, "fi_fabric", functions.fabric);
  find(library, "fi_strerror", functions.strerror);
  return functions;
}

}  // namespace

const FabricLibrary& fabric_library() {
  static const FabricLibrary library = load();
  return library;
}

}  // namespace netio::detail
