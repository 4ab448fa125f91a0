# cmake --preset static: dtrace-collect in one file, for nodes where nothing can be installed. Only the stages that it
# is made of are built, with the archives of the same Debian packages. What pkg-config adds for a static link is more
# than what is used (libpcap: D-Bus and systemd, of which Debian has no archive), so it is told here.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
add_link_options(-static)
set(DTC_STAGE_TYPE STATIC)

# dtc_link_statically(TARGET NAME...): what the archive of an imported target needs besides
function(dtc_link_statically target)
	foreach(name IN LISTS ARGN)
		find_library(DTC_ARCHIVE_${name} ${name} REQUIRED)
		target_link_libraries(${target} INTERFACE ${DTC_ARCHIVE_${name}})
	endforeach()
endfunction()
