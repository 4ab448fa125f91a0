# dtc_stage(NAME DIR [USES stage...] [LIBS lib...] [EXCLUDES path...]): one library per stage, of what is in its
# folder and below but those paths, in pipeline order.
# A link to a stage that is not yet declared would run against the flow of data: configuring stops there.
set_property(GLOBAL PROPERTY DTC_STAGES "")
set(DTC_STAGE_TYPE STATIC CACHE STRING "SHARED: after a change, one stage is linked and not every test")

function(dtc_stage name dir)
	cmake_parse_arguments(ARG "" "" "USES;LIBS;EXCLUDES" ${ARGN})
	get_property(stages GLOBAL PROPERTY DTC_STAGES)
	foreach(used IN LISTS ARG_USES)
		if(NOT used IN_LIST stages)
			message(FATAL_ERROR "stage '${name}' uses '${used}', which comes later in the pipeline (or does not exist)")
		endif()
	endforeach()
	file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${dir}/*.c)
	list(FILTER sources EXCLUDE REGEX "/main\\.c$")
	foreach(excluded IN LISTS ARG_EXCLUDES)
		list(FILTER sources EXCLUDE REGEX "/${excluded}")
	endforeach()
	list(TRANSFORM ARG_USES PREPEND dtc_)
	add_library(dtc_${name} ${DTC_STAGE_TYPE} ${sources})
	target_link_libraries(dtc_${name} PUBLIC ${ARG_USES} ${ARG_LIBS} PkgConfig::GLIB Threads::Threads)
	set_property(GLOBAL APPEND PROPERTY DTC_STAGES ${name})
endfunction()
