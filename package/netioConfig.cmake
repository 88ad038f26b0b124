# find_package(netio): the targets netio::netio (shared) and netio::netio_static. libfabric is none
# of their dependencies: netio loads it when the first address of a fabric is used.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/netioTargets.cmake)

# Projects in C alone have no compiler that could be asked for C++20, or links its library by itself.
get_property(netio_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if(CXX IN_LIST netio_languages)
  set_property(TARGET netio::netio netio::netio_static
    APPEND PROPERTY INTERFACE_COMPILE_FEATURES cxx_std_20)
else()
  set_property(TARGET netio::netio_static APPEND PROPERTY INTERFACE_LINK_LIBRARIES stdc++ m)
endif()
unset(netio_languages)
