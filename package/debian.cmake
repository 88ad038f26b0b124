# Debian packages of the components: `cmake --workflow --preset deb`, or `cpack -G DEB` in a build
# with the prefix /usr. (With another, libraries are not in the folder of their architecture.)
include(debian/notices.cmake)
if(missing)
  message(STATUS "No Debian packages: no notice of a library that is in them, in ${missing}")
  return()
endif()
configure_file(debian/copyright.in debian/copyright @ONLY)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development tools benchmarks)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each has one of its own
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})  # one library needs the other
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/debian/no_ldconfig.cmake)

# Whose packages they are, as Debian's other tools are told.
set(CPACK_PACKAGE_CONTACT "netio developers <netio@localhost>")
if(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()

set(netio_debian_about
"netio moves messages between the processes of a data-acquisition system: over
TCP, RDMA fabrics (through libfabric) and shared memory, with push/pull, pair
and publish/subscribe, back-pressure without blocking, and exact books of what
was delivered.")
string(TIMESTAMP netio_debian_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(debian/changelog.in debian/changelog @ONLY)
file(ARCHIVE_CREATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/debian/changelog.gz
  PATHS ${CMAKE_CURRENT_BINARY_DIR}/debian/changelog
  FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)

# netio_debian_package(COMPONENT NAME SUMMARY TEXT [FIELD VALUE]...)
function(netio_debian_package component name summary text)
  string(TOUPPER ${component} upper)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION
    "messages for data acquisition (${summary})\n${netio_debian_about}\n\n${text}" PARENT_SCOPE)
  set(fields NAME ${name} ${ARGN})
  while(fields)
    list(POP_FRONT fields field value)
    set(CPACK_DEBIAN_${upper}_PACKAGE_${field} "${value}" PARENT_SCOPE)
  endwhile()
  # Only in packages: a plain `cmake --install` leaves them out.
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/debian/copyright
    ${CMAKE_CURRENT_BINARY_DIR}/debian/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

set(netio_debian_fabric RECOMMENDS "libfabric1 (>= 1.17)")  # loaded, and not linked
netio_debian_package(runtime libnetio${NETIO_ABI} library
  "This package contains the shared library."
  SECTION libs ${netio_debian_fabric} CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/triggers)
netio_debian_package(development libnetio-dev development
  "This package contains the headers for C++20 and C, the static library,\ndocumentation and examples."
  SECTION libdevel DEPENDS "libnetio${NETIO_ABI} (= ${PROJECT_VERSION})" SUGGESTS libasio-dev)
netio_debian_package(tools netio command
  "This package contains the command netio: files, pipes and generated load\nover all of these."
  SECTION net ${netio_debian_fabric} SUGGESTS netio-bench)
netio_debian_package(benchmarks netio-bench benchmarks
  "This package contains the programs that netio bench measures."
  SECTION net DEPENDS "netio (= ${PROJECT_VERSION})" RECOMMENDS iperf3)

include(CPack)
