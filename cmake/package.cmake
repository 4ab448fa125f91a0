# cpack -G DEB: packages with what `cmake --install` installs, and the libraries that they need by their packages.
# dtrace-chain reads recordings, on the machine of who asks; dtrace-collect makes them, on nodes, and needs little.
# dtrace-chain-mpi is dtrace-chain as many processes (docs/scale.md), and the only one that needs MPI.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dtrace-chain)
set(CPACK_PACKAGE_VENDOR "dtrace-chain")
set(CPACK_PACKAGE_CONTACT "dtrace-chain maintainers <maintainers@users.noreply.github.com>")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL chain collect)
set(CPACK_DEBIAN_CHAIN_PACKAGE_NAME dtrace-chain)
set(CPACK_DEBIAN_CHAIN_PACKAGE_SECTION devel)
set(CPACK_COMPONENT_CHAIN_DESCRIPTION "explains where the time of a request went, across threads and machines
Reads kernel traces (LTTng, CTF) and packet captures of several machines,
aligns their clocks, and follows one request through threads, locks, disks,
timers and wires.")
set(CPACK_DEBIAN_COLLECT_PACKAGE_NAME dtrace-collect)
set(CPACK_DEBIAN_COLLECT_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_COLLECT_PACKAGE_SUGGESTS "lttng-tools, lttng-modules-dkms")
set(CPACK_COMPONENT_COLLECT_DESCRIPTION "records what a Linux machine does, for dtrace-chain
Records kernel events through tracefs, which every Linux has, or through LTTng
where its modules are loaded, and packets in all network namespaces, into a
node of a bundle. Other readers of CTF and pcap understand it, too.")
if(TARGET dtrace-chain-mpi)
	list(APPEND CPACK_COMPONENTS_ALL mpi)
	set(CPACK_DEBIAN_MPI_PACKAGE_NAME dtrace-chain-mpi)
	set(CPACK_DEBIAN_MPI_PACKAGE_SECTION devel)
	set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS "openmpi-bin")
	set(CPACK_COMPONENT_MPI_DESCRIPTION "explains requests of clusters whose recordings are on many machines
The same commands and answers as dtrace-chain, by many processes that mpirun
starts: each reads the recordings that it can see, and what a question touches
of them is sent.")
endif()
foreach(component CHAIN COLLECT MPI)
	set(CPACK_DEBIAN_${component}_FILE_NAME DEB-DEFAULT)
	set(CPACK_DEBIAN_${component}_PACKAGE_SHLIBDEPS ON)
endforeach()
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/debian.cmake)
include(CPack)
