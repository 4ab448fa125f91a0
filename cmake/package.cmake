# cpack -G DEB: the package with what `cmake --install` installs, and the libraries that it needs by their packages.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dtrace-chain)
set(CPACK_PACKAGE_VENDOR "dtrace-chain")
set(CPACK_PACKAGE_CONTACT "dtrace-chain maintainers <maintainers@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "explains where the time of a request went, across threads and machines")
set(CPACK_PACKAGE_DESCRIPTION "Reads kernel traces (LTTng, CTF) and packet captures of several machines,
aligns their clocks, and follows one request through threads, locks, disks,
timers and wires.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/debian.cmake)
include(CPack)
