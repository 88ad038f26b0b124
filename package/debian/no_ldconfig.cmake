# Run by CPack behind the packages: those of libraries have scripts of CPack's that call ldconfig,
# which Debian forbids, and which the trigger (debian/triggers) does in their place. Archives of
# other kinds (`cpack -G TGZ`) have none.
foreach(package ${CPACK_PACKAGE_FILES})
  if(NOT package MATCHES "\\.deb$")
    continue()
  endif()
  set(folder ${CPACK_TEMPORARY_DIRECTORY}/unpacked)
  set(scripts ${folder}/DEBIAN/postinst ${folder}/DEBIAN/postrm)
  execute_process(COMMAND dpkg-deb --ctrl-tarfile ${package} COMMAND tar -t
    OUTPUT_VARIABLE control COMMAND_ERROR_IS_FATAL ANY)
  if(control MATCHES "postinst")
    execute_process(COMMAND dpkg-deb --raw-extract ${package} ${folder} COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE ${scripts})
    execute_process(
      COMMAND dpkg-deb --root-owner-group -Z${CPACK_DEBIAN_COMPRESSION_TYPE} --build ${folder} ${package}
      OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE_RECURSE ${folder})
  endif()
endforeach()
