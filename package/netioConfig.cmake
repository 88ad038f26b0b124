# find_package(netio): the targets netio::netio (shared) and netio::netio_static, and beside them
# netio::channels and netio::channels_static where they were built. libfabric is none of their
# dependencies: netio loads it when the first address of a fabric is used.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/netioTargets.cmake)

# What projects in C alone do not link by themselves.
get_property(netio_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if(NOT CXX IN_LIST netio_languages)
  set_property(TARGET netio::netio_static APPEND PROPERTY INTERFACE_LINK_LIBRARIES stdc++ m)
endif()
unset(netio_languages)
