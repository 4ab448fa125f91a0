# What Debian wants otherwise than `cmake --install` leaves it: CPack runs this on the staged files of both packages
# before it packs them.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH, if that is set
find_program(GZIP gzip REQUIRED)

# dtc_finish_package(COMPONENT NAME)
function(dtc_finish_package component name)
	set(share ${CPACK_TEMPORARY_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
	set(doc ${share}/doc/${name})
	file(REMOVE ${doc}/LICENSE) # every Debian system has it
	file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ${CPACK_PACKAGE_NAME}

Files: *
Copyright: 2026 the ${CPACK_PACKAGE_NAME} contributors
License: GPL-3+
 This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public
 License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later
 version. On Debian systems its text is in /usr/share/common-licenses/GPL-3.
")
	file(WRITE ${doc}/changelog "${name} (${CPACK_PACKAGE_VERSION}) unstable; urgency=low

  * See NEWS.md${ARGN}.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
	file(GLOB pages ${share}/man/man*/*.[0-9])
	execute_process(COMMAND ${GZIP} -9n ${pages} ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
	file(CHMOD ${doc}/copyright ${doc}/changelog.gz PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

dtc_finish_package(chain dtrace-chain)
dtc_finish_package(collect dtrace-collect " of dtrace-chain")
if(EXISTS ${CPACK_TEMPORARY_DIRECTORY}/mpi)
	dtc_finish_package(mpi dtrace-chain-mpi " of dtrace-chain")
endif()
