// dlopen, and the five functions.
#include "fabric/library.hpp"

#include <dlfcn.h>
#include <string>

#include <netio/status.hpp>

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

FabricLibrary load() {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
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
