# Installs headers, both libraries, the CMake package, the pkg-config file and the licences. All may be moved together.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${kvblock_archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(PROGRAMS ${kvblock_library} ${kvblock_links} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/../LICENSE-APACHE ${CMAKE_CURRENT_SOURCE_DIR}/../LICENSE-MIT
  DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/kvblock)

set(kvblock_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kvblock)
configure_package_config_file(cmake/kvblockConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/kvblockConfig.cmake
  INSTALL_DESTINATION ${kvblock_package_dir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
configure_file(cmake/kvblockConfigVersion.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/kvblockConfigVersion.cmake @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kvblockConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/kvblockConfigVersion.cmake
  DESTINATION ${kvblock_package_dir})

# From the file itself, so that it holds wherever all of it is moved to.
file(RELATIVE_PATH kvblock_pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH kvblock_pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH kvblock_pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/kvblock.pc.in ${CMAKE_CURRENT_BINARY_DIR}/kvblock.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kvblock.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
